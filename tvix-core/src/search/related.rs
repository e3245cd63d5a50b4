//! Bundles: the few memories that stand beside a hit.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Hit;
use crate::{
    Result, Tvix,
    embed::{BuiltIn, Pieces, Vector},
    storage::{DocKey, Document, Kind, Neighbours},
    types::Id,
};

/// How many related memories a hit carries at most.
const RELATED_MAX: usize = 3;
/// The greatest length of what is shown of one, in characters.
const TEXT_MAX: usize = 180;
/// The least cosine of memories that are similar, by the built-in model.
const SIMILAR: f32 = 0.6;

/// The passages that were read already.
pub(super) type Readings = HashMap<DocKey, Pieces>;

/// A memory that stands beside a hit and is no hit of the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// Its identifier.
    pub id: Id,
    /// What it is to the hit.
    pub why: Relation,
    /// Its beginning, at most 180 characters.
    pub text: String,
}

/// What a related memory is to a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It was captured before or after it, by the same source and project, within 30 minutes.
    Nearby,
    /// It says something alike.
    Similar,
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nearby => "nearby",
            Self::Similar => "similar",
        })
    }
}

impl Tvix {
    /// Gives each memory of `page` what stands beside it: its neighbours in time, then those of
    /// `others`, which were found as well but are not shown, that are similar.
    pub(super) async fn relate(
        &self,
        page: &mut [Hit],
        others: &[Document],
        readings: &Readings,
    ) -> Result<()> {
        let shown: Vec<DocKey> = page.iter().map(|hit| hit.document.key).collect();
        if shown.first().is_none_or(|key| key.kind != Kind::Memory) {
            return Ok(());
        }
        let neighbours = self.index().neighbours(&shown).await?;
        let keys = neighbours.iter().flat_map(|n: &Neighbours| [n.before, n.after]).flatten();
        let mut keys: Vec<DocKey> = keys.filter(|key| !shown.contains(key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let nearby: Vec<Document> = self.store().get(&keys).await?.into_iter().flatten().collect();
        let similar = Similar::of(self.meaning().built_in(), others, readings)?;
        for (hit, beside) in page.iter_mut().zip(&neighbours) {
            let is_beside =
                |other: &&Document| [beside.before, beside.after].contains(&Some(other.key));
            hit.related =
                nearby.iter().filter(is_beside).map(|d| related(d, Relation::Nearby)).collect();
            similar.add_to(hit)?;
        }
        Ok(())
    }
}

/// Documents with their vectors.
struct Similar<'a> {
    model: Option<&'a BuiltIn>,
    readings: &'a Readings,
    documents: Vec<(&'a Document, Vector)>,
}

impl<'a> Similar<'a> {
    fn of(
        model: Option<&'a BuiltIn>,
        documents: &'a [Document],
        readings: &'a Readings,
    ) -> Result<Self> {
        let mut similar = Self { model, readings, documents: Vec::new() };
        for document in documents {
            if let Some(vector) = similar.vector(document)? {
                similar.documents.push((document, vector));
            }
        }
        Ok(similar)
    }

    /// The vector of `document`; `None` without a model.
    fn vector(&self, document: &Document) -> Result<Option<Vector>> {
        let Some(model) = self.model else { return Ok(None) };
        match self.readings.get(&document.key) {
            Some(pieces) => model.vector_of(pieces).map(Some),
            None => model.vector(&document.text).map(Some),
        }
    }

    /// Adds the most similar ones to `hit`, as far as there is room.
    fn add_to(&self, hit: &mut Hit) -> Result<()> {
        let room = RELATED_MAX.saturating_sub(hit.related.len());
        if room == 0 || self.documents.is_empty() {
            return Ok(());
        }
        let Some(vector) = self.vector(&hit.document)? else { return Ok(()) };
        let cosine = |other: &[f32]| vector.iter().zip(other).map(|(a, b)| a * b).sum::<f32>();
        let mut alike: Vec<(f32, &Document)> =
            self.documents.iter().map(|(document, other)| (cosine(other), *document)).collect();
        alike.retain(|(cosine, other)| {
            *cosine >= SIMILAR && hit.related.iter().all(|known| known.id != other.key.id)
        });
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.key.cmp(&b.1.key)));
        hit.related.extend(alike.iter().take(room).map(|(_, d)| related(d, Relation::Similar)));
        Ok(())
    }
}

fn related(document: &Document, why: Relation) -> Related {
    let mut text: String = document.text.chars().take(TEXT_MAX).collect();
    if text.len() < document.text.len() {
        text.pop();
        text.push('…');
    }
    Related { id: document.key.id, why, text }
}
