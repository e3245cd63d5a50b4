//! Search: what an agent asks, what it is answered, and how the answer is found.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    Result, Tvix,
    storage::{DocKey, Document, Facet, Filter, Kind, Page, ScopeFilter},
    types::{Id, QueryText},
};

pub mod analyze;
pub mod chunk;
mod criteria;
mod fusion;
mod hybrid;
mod meaning;
pub(crate) mod notice;
mod recent;
mod related;
mod score;
#[cfg(feature = "local")]
mod worker;

pub use criteria::Criteria;
pub use fusion::Fusion;
pub(crate) use meaning::Meaning;
pub use notice::Notice;
pub use recent::Recent;
pub use related::{Related, Relation};
pub(crate) use score::LEAST_SHOWN;

/// Finds memories and documents.
#[async_trait]
pub trait Search: Send + Sync {
    /// The documents that answer `query`, best first.
    ///
    /// A blank text asks for the most recent ones, without scores. The identifier of a record as the
    /// whole text returns that record. A filter by an unknown project or source finds nothing and
    /// says which are known.
    ///
    /// # Errors
    /// What the store reports. A failing index is no error: the answer says so.
    async fn search(&self, query: &Query) -> Result<Answer>;

    /// The passages that answer `query`, best first, however many of one document: to fill a budget
    /// of text with what fits best. A blank text finds none.
    ///
    /// # Errors
    /// As [`Search::search`].
    async fn passages(&self, query: &Query) -> Result<Vec<PassageHit>>;
}

/// What to search for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Query {
    /// Memories or wiki documents.
    pub kind: Kind,
    /// The words, as a person would write them; never parsed as a query language, but
    /// `"quoted phrases"` must match as phrases.
    pub text: QueryText,
    /// Applied before the best are chosen.
    pub filter: Filter,
    /// Which slice of the ranked list to return.
    pub page: Page,
}

/// The answer to a [`Query`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What was found, best first.
    pub hits: Vec<Hit>,
    /// Whether more follow after these.
    pub has_more: bool,
    /// Whether the query was the identifier of the one hit, which is then wanted whole.
    pub by_id: bool,
    /// Which lists were asked; none without a query.
    pub legs: Legs,
    /// How the two lists became one, if both were asked.
    pub fusion: Option<Fusion>,
    /// What else the caller should know.
    pub notices: Vec<Notice>,
}

/// The lists that an answer was made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Legs {
    /// Hits by word.
    pub keyword: bool,
    /// Hits by meaning.
    pub meaning: bool,
}

/// One passage that answers a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassageHit {
    /// Its document.
    pub key: DocKey,
    /// Bytes of the document's text.
    pub range: std::ops::Range<usize>,
    /// As [`Hit::score`].
    pub score: f32,
}

impl From<Hit> for PassageHit {
    fn from(hit: Hit) -> Self {
        Self { key: hit.document.key, range: hit.passage, score: hit.score.unwrap_or_default() }
    }
}

/// One document of an [`Answer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The document.
    pub document: Document,
    /// How well it fits, 0 to 1 on one scale for every query: the share of the query's words that
    /// stand in the best passage or how near its meaning is, whichever is more; 1 for the title
    /// itself. Never rises down the list. Absent without a query.
    pub score: Option<f32>,
    /// The best passage: bytes of the document's text.
    pub passage: std::ops::Range<usize>,
    /// At most three memories beside it.
    pub related: Vec<Related>,
}

impl Hit {
    fn unscored(document: Document) -> Self {
        Self { document, score: None, passage: 0..0, related: Vec::new() }
    }
}

impl Tvix {
    /// The notice for a filter that names something nothing is filed under.
    async fn unknown_filter(&self, kind: Kind, filter: &Filter) -> Result<Option<Notice>> {
        if let ScopeFilter::Only(asked) = &filter.scope {
            let known = self.store().facets(kind, Facet::Scope).await?;
            if !known.iter().any(|facet| facet.key == *asked) {
                return Ok(Some(Notice::unknown_project(kind, asked, known)));
            }
        }
        if !filter.sources.is_empty() {
            let known = self.store().facets(kind, Facet::Source).await?;
            let is_known = |key: &str| known.iter().any(|facet| facet.key == key);
            if !filter.sources.iter().any(|source| is_known(source.as_str())) {
                return Ok(Some(Notice::unknown_source(&filter.sources, known)));
            }
        }
        Ok(None)
    }

    async fn by_id(&self, query: &Query, id: Id) -> Result<Answer> {
        let found = self.document(DocKey::new(query.kind, id)).await?;
        let wanted = found.filter(|document| query.filter.accepts(document));
        let hits = wanted.into_iter().skip(query.page.offset).map(Hit::unscored).collect();
        Ok(Answer { hits, by_id: true, ..Answer::default() })
    }

    async fn by_time(&self, query: &Query) -> Result<Answer> {
        let Recent { records, has_more } =
            self.recent_documents(query.kind, &query.filter, query.page).await?;
        let hits = records.into_iter().map(Hit::unscored).collect();
        Ok(Answer { hits, has_more, ..Answer::default() })
    }
}

#[async_trait]
impl Search for Tvix {
    async fn passages(&self, query: &Query) -> Result<Vec<PassageHit>> {
        self.passages_by_text(query).await
    }

    async fn search(&self, query: &Query) -> Result<Answer> {
        if let Some(notice) = self.unknown_filter(query.kind, &query.filter).await? {
            return Ok(Answer { notices: vec![notice], ..Answer::default() });
        }
        if query.text.is_blank() {
            return self.by_time(query).await;
        }
        match query.text.as_str().parse() {
            Ok(id) => self.by_id(query, id).await,
            Err(()) => self.by_text(query).await,
        }
    }
}
