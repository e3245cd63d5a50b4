//! How hits are found: by word and by meaning, fused, and the best compared with the query closely.

use std::collections::HashMap;

use super::{
    Answer, Fusion, Hit, Legs, Notice, PassageHit, Query, analyze::TextQuery, fusion, meaning,
    related::Readings, score,
};
use crate::{
    Result, Tvix,
    settings::SearchMode,
    storage::{DocKey, Document, IndexQuery, Ranked},
};

/// How long each list is at least: what one list lacks the other may have.
const DEPTH: usize = 100;
/// So many of the best are compared with the query word by word.
const RERANKED: usize = 40;
/// The weight of that comparison beside the fused score.
const RERANK: f32 = 0.5;
/// Longer queries, in words, are not compared that way: it hurts them.
const RERANK_WORDS: usize = 30;

/// One list, and what it was made of.
#[derive(Default)]
struct Found {
    ranked: Vec<Ranked>,
    legs: Legs,
    fusion: Option<Fusion>,
    notices: Vec<Notice>,
}

/// An entry of the list with its document.
struct Candidate {
    ranked: Ranked,
    document: Document,
}

impl Tvix {
    /// The documents that answer a query with words in it.
    pub(super) async fn by_text(&self, query: &Query) -> Result<Answer> {
        let text = TextQuery::parse(query.text.as_str());
        let wanted = query.page.offset.saturating_add(query.page.limit).saturating_add(1);
        let mut found = self.find(query, &text, wanted, false).await?;
        let mut candidates = self.candidates(&mut found, wanted).await?;
        let readings = self.rerank(&mut candidates, query.text.as_str())?;
        let rest = candidates.split_off(candidates.len().min(wanted));
        let mut hits = self.hits(candidates, &text);
        score::settle(&mut hits, query.text.as_str());
        let has_more = hits.len() == wanted;
        let mut page: Vec<Hit> =
            hits.into_iter().skip(query.page.offset).take(query.page.limit).collect();
        for hit in &mut page {
            score::narrow(hit, &text);
        }
        let others: Vec<Document> = rest.into_iter().map(|other| other.document).collect();
        self.relate(&mut page, &others, &readings).await?;
        let Found { legs, fusion, notices, .. } = found;
        Ok(Answer { hits: page, has_more, by_id: false, legs, fusion, notices })
    }

    /// The passages that answer `query`, best first, however many of one document.
    pub(super) async fn passages_by_text(&self, query: &Query) -> Result<Vec<PassageHit>> {
        let text = TextQuery::parse(query.text.as_str());
        let wanted = query.page.offset.saturating_add(query.page.limit);
        let mut found = self.find(query, &text, wanted, true).await?;
        let mut candidates = self.candidates(&mut found, wanted).await?;
        self.rerank(&mut candidates, query.text.as_str())?;
        let page = self.hits(candidates, &text).into_iter();
        let page = page.skip(query.page.offset).take(query.page.limit);
        Ok(page.map(PassageHit::from).collect())
    }

    /// Both lists, fused; what nothing speaks for is left out.
    async fn find(
        &self,
        query: &Query,
        text: &TextQuery,
        wanted: usize,
        each_passage: bool,
    ) -> Result<Found> {
        let mut found = Found::default();
        if let Err(error) = self.catch_up().await {
            tracing::warn!(%error, "the index is behind the store");
            found.notices.push(Notice::IndexBehind);
        }
        found.notices.extend(self.rebuilds().notice());
        let asked = IndexQuery {
            kind: query.kind,
            text: text.clone(),
            filter: query.filter.clone(),
            limit: wanted.next_multiple_of(DEPTH),
            context: self.settings().search.context,
            each_passage,
        };
        let mode = self.settings().search.mode;
        let mut keyword = Vec::new();
        if mode != SearchMode::Vector {
            keyword = self.index().keyword(&asked).await?;
            found.legs.keyword = true;
        }
        let nearest = match mode {
            SearchMode::Keyword => Vec::new(),
            // What was asked for to the letter is not found by its meaning.
            _ if text.requires_phrases() => Vec::new(),
            _ => self.nearest(query.text.as_str(), &asked, &mut found).await,
        };
        found.fuse(keyword, nearest, self.fusion(), each_passage);
        found.ranked.retain(|ranked| score::is_evident(ranked, self.unrelated()));
        Ok(found)
    }

    /// The list by meaning. When there is none the notices say so.
    async fn nearest(&self, text: &str, asked: &IndexQuery, found: &mut Found) -> Vec<Ranked> {
        let vector = match self.query_vector(text).await {
            Ok(Some(vector)) => vector,
            Ok(None) => return Vec::new(),
            Err(notice) => {
                found.notices.push(notice);
                return Vec::new();
            }
        };
        if self.is_behind().await.unwrap_or(true) {
            found.notices.push(Notice::MeaningBehind);
        }
        match self.index().nearest(asked, &vector).await {
            Ok(nearest) => {
                found.legs.meaning = true;
                nearest
            }
            Err(error) => {
                tracing::warn!(%error, "the vectors cannot be searched");
                found.notices.push(Notice::MeaningNotUsed);
                Vec::new()
            }
        }
    }

    fn fusion(&self) -> Fusion {
        let dense = self.meaning().embedder().map_or(0.0, |embedder| embedder.hints().dense);
        Fusion::new(&self.settings().search, dense)
    }

    /// The cosine of texts that have nothing in common.
    fn unrelated(&self) -> f32 {
        self.meaning().embedder().map_or(0.0, |embedder| embedder.hints().unrelated)
    }

    /// Reads the documents of the best; what is gone from the store meanwhile is dropped.
    async fn candidates(&self, found: &mut Found, wanted: usize) -> Result<Vec<Candidate>> {
        let mut ranked = std::mem::take(&mut found.ranked);
        ranked.truncate(wanted.max(RERANKED));
        let mut keys: Vec<DocKey> = ranked.iter().map(|entry| entry.key).collect();
        keys.sort_unstable();
        keys.dedup();
        let documents = self.store().get(&keys).await?;
        let documents: HashMap<DocKey, Document> =
            documents.into_iter().flatten().map(|document| (document.key, document)).collect();
        let candidates = ranked.into_iter().filter_map(|ranked| {
            let document = documents.get(&ranked.key)?.clone();
            Some(Candidate { ranked, document })
        });
        Ok(candidates.collect())
    }

    /// Compares the best candidates with a short query by the pieces of its words. What was read for
    /// that is returned.
    fn rerank(&self, candidates: &mut [Candidate], query: &str) -> Result<Readings> {
        let mut readings = Readings::new();
        let is_long = query.split_whitespace().nth(RERANK_WORDS).is_some();
        let Some(model) = self.meaning().built_in().filter(|_| !is_long) else {
            return Ok(readings);
        };
        if !self.settings().search.rerank || self.settings().search.mode == SearchMode::Keyword {
            return Ok(readings);
        }
        let query = model.late_interaction(query)?;
        for Candidate { ranked, document } in candidates.iter_mut().take(RERANKED) {
            let passage = document.text.get(ranked.passage.clone()).unwrap_or_default();
            let text = model.read(&format!("{}{passage}", meaning::about(document, "")))?;
            ranked.score += RERANK * query.score(&text).max(0.0);
            readings.insert(document.key, text);
        }
        candidates.sort_by(|a, b| fusion::order(&a.ranked, &b.ranked));
        Ok(readings)
    }

    fn hits(&self, candidates: Vec<Candidate>, text: &TextQuery) -> Vec<Hit> {
        let hits = candidates.into_iter().map(|Candidate { ranked, document }| {
            let score = score::evidence(&ranked, text, self.unrelated());
            Hit { document, score: Some(score), passage: ranked.passage, related: Vec::new() }
        });
        hits.collect()
    }
}

impl Found {
    /// One list alone keeps its own order.
    fn fuse(
        &mut self,
        keyword: Vec<Ranked>,
        nearest: Vec<Ranked>,
        fusion: Fusion,
        each_passage: bool,
    ) {
        self.fusion = Some(fusion).filter(|_| self.legs.keyword && self.legs.meaning);
        let fusion = match self.fusion {
            Some(fusion) => fusion,
            None if self.legs.meaning => Fusion::Convex { dense: 1.0 },
            None => Fusion::Convex { dense: 0.0 },
        };
        self.ranked = fusion.fuse(keyword, nearest, each_passage);
    }
}
