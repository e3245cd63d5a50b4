//! Vectors: made for what was stored, after its text is indexed, and for what is asked.

use std::{
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::{Duration, Instant},
};

use async_lock::Mutex;

use super::{chunk, notice::Notice};
use crate::{
    Error, Result, Tvix,
    embed::{self, BuiltIn, Embedder, Role, Vector},
    storage::{Change, Document, Embedded, PassageVector, Seq},
};

/// How many changes are embedded before their vectors are stored.
const STEP: usize = 64;
/// A text that every model takes.
const PROBE: &str = "a short text";
/// How long a model that failed is left alone by queries.
const REST: Duration = Duration::from_secs(30);

/// The model in use, and how far the documents are embedded.
#[derive(Debug)]
pub(crate) struct Meaning {
    embedder: Option<Arc<dyn Embedder>>,
    /// Compares the best hits with the query word by word.
    built_in: Option<BuiltIn>,
    /// The last change whose vectors the index has; `None` until it was asked.
    reached: Mutex<Option<Seq>>,
    /// When the model failed last.
    failed: StdMutex<Option<Instant>>,
    #[cfg(feature = "local")]
    worker: super::worker::Worker,
}

impl Meaning {
    pub(crate) fn new(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            built_in: embedder.is_some().then(BuiltIn::default),
            embedder,
            reached: Mutex::default(),
            failed: StdMutex::default(),
            #[cfg(feature = "local")]
            worker: super::worker::Worker::default(),
        }
    }

    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    pub(super) fn built_in(&self) -> Option<&BuiltIn> {
        self.built_in.as_ref()
    }

    /// Asks the index anew how far the documents are embedded.
    pub(crate) async fn forget(&self) {
        *self.reached.lock().await = None;
    }

    fn is_resting(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|at| at.elapsed() < REST)
    }

    fn note<T>(&self, outcome: &Result<T>) {
        let failed = outcome.is_err().then(Instant::now);
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
}

impl Tvix {
    /// Gives vectors to every document that has none, as far as that takes no time; else a thread of
    /// its own does. Failing is no error of the caller: it is tried again.
    pub(crate) async fn embed_new(&self) {
        if self.rebuilds().is_partial() {
            // The vectors of a document whose text is not there would be lost.
            return;
        }
        #[cfg(feature = "local")]
        if self.meaning().embedder().is_some_and(|embedder| !embedder.hints().instant) {
            return self.meaning().worker.wake(self);
        }
        if let Err(error) = self.embed_pending().await {
            tracing::warn!(%error, "documents could not be embedded yet");
        }
    }

    /// Gives vectors to every document that has none.
    ///
    /// # Errors
    /// What model, store or index report; what was embedded by then stays.
    pub async fn embed_pending(&self) -> Result<()> {
        let Some(embedder) = self.meaning().embedder() else { return Ok(()) };
        loop {
            let changes = self.not_embedded().await?;
            if changes.is_empty() {
                return Ok(());
            }
            let vectors = embed_changes(embedder.as_ref(), &changes).await;
            self.take_vectors(vectors, &changes).await?;
        }
    }

    /// The next changes whose vectors the index lacks.
    pub(crate) async fn not_embedded(&self) -> Result<Vec<Change>> {
        let Some(embedder) = self.meaning().embedder() else { return Ok(Vec::new()) };
        if embedder.model().dimension == 0 {
            // It is known from the first answer on.
            one_vector(embedder.as_ref(), PROBE).await?;
        }
        let mut reached = self.meaning().reached.lock().await;
        let seen = match *reached {
            Some(seen) => seen,
            None => self.index().vector_cursor(embedder.model()).await?,
        };
        *reached = Some(seen);
        self.store().changes(seen, STEP).await
    }

    /// Hands the vectors of `changes` to the index.
    pub(super) async fn take_vectors(
        &self,
        embedded: Result<Vec<Embedded>>,
        changes: &[Change],
    ) -> Result<()> {
        self.meaning().note(&embedded);
        let last = changes.last().map_or(Seq::ZERO, |last| last.seq);
        self.index().apply_vectors(&embedded?, last).await?;
        let mut seen = self.meaning().reached.lock().await;
        *seen = seen.map(|seen| seen.max(last));
        Ok(())
    }

    /// Whether documents are still to be embedded.
    pub(super) async fn is_behind(&self) -> Result<bool> {
        let Some(seen) = *self.meaning().reached.lock().await else { return Ok(true) };
        Ok(!self.store().changes(seen, 1).await?.is_empty())
    }

    /// The vector of a query; `None` when it says nothing the model knows.
    ///
    /// # Errors
    /// That meaning is not used, when there is no model or it does not answer.
    pub(super) async fn query_vector(&self, text: &str) -> Result<Option<Vector>, Notice> {
        let meaning = self.meaning();
        let Some(embedder) = meaning.embedder() else { return Err(Notice::MeaningNotUsed) };
        if !text.contains(char::is_alphanumeric) {
            return Ok(None);
        }
        if meaning.is_resting() {
            return Err(Notice::MeaningNotUsed);
        }
        let vector = query_vector(embedder, text).await;
        meaning.note(&vector);
        let vector = vector.map_err(|error| {
            tracing::warn!(%error, "the query could not be embedded");
            Notice::MeaningNotUsed
        })?;
        Ok(Some(vector).filter(|vector| vector.iter().any(|number| *number != 0.0)))
    }
}

async fn query_vector(embedder: &Arc<dyn Embedder>, text: &str) -> Result<Vector> {
    #[cfg(feature = "local")]
    if !embedder.hints().instant {
        return super::worker::within_deadline(Arc::clone(embedder), text.to_owned()).await;
    }
    one_vector(embedder.as_ref(), text).await
}

/// The vector of the query `text`.
pub(super) async fn one_vector(embedder: &dyn Embedder, text: &str) -> Result<Vector> {
    let vectors = checked(embedder, &[text], Role::Query).await?;
    vectors.into_iter().next().ok_or_else(|| wrong("it gave no vector"))
}

pub(super) async fn embed_changes(
    embedder: &dyn Embedder,
    changes: &[Change],
) -> Result<Vec<Embedded>> {
    let pieces: Vec<Vec<(std::ops::Range<usize>, String)>> = changes
        .iter()
        .map(|change| change.document.as_ref().map(pieces).unwrap_or_default())
        .collect();
    let texts: Vec<&str> = pieces.iter().flatten().map(|(_, text)| text.as_str()).collect();
    let mut vectors = checked(embedder, &texts, Role::Passage).await?.into_iter();
    let rows_of = changes.iter().zip(&pieces).map(|(change, pieces)| {
        let rows = pieces.iter().zip(vectors.by_ref());
        let rows =
            rows.map(|((passage, _), vector)| PassageVector { passage: passage.clone(), vector });
        let known = |row: &PassageVector| row.vector.iter().any(|number| *number != 0.0);
        Embedded { key: change.key, seq: change.seq, vectors: rows.filter(known).collect() }
    });
    Ok(rows_of.collect())
}

/// What of a document is embedded: parts of its passages, each with title, headings and date.
fn pieces(document: &Document) -> Vec<(std::ops::Range<usize>, String)> {
    let mut pieces = Vec::new();
    for chunk in chunk::chunks(&document.text) {
        let text = &document.text[chunk.range.clone()];
        let about = about(document, &chunk.headings);
        for part in chunk::parts(text) {
            pieces.push((chunk.range.clone(), format!("{about}{}", &text[part])));
        }
    }
    pieces
}

/// What stands above a passage: title and headings, or the date of a memory.
pub(super) fn about(document: &Document, headings: &str) -> String {
    let date = document.event_time().map(crate::types::EventTime::words).unwrap_or_default();
    let lines = [document.title.as_str(), headings, &date];
    lines.iter().filter(|line| !line.is_empty()).fold(String::new(), |all, line| all + line + "\n")
}

/// The vectors of `texts`, of length 1 or zero.
async fn checked(embedder: &dyn Embedder, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let mut vectors = embedder.embed(texts, role).await?;
    if vectors.len() != texts.len() {
        return Err(wrong(format_args!("{} vectors for {} texts", vectors.len(), texts.len())));
    }
    let dimension = embedder.model().dimension;
    for vector in &mut vectors {
        if vector.len() != dimension {
            return Err(wrong(format_args!("{} numbers, not {dimension}", vector.len())));
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(wrong("a number that is none"));
        }
        embed::normalise(vector);
    }
    Ok(vectors)
}

fn wrong(what: impl std::fmt::Display) -> Error {
    Error::Backend {
        operation: "embedding".to_owned(),
        reason: format!("the model answered with {what}"),
        source: None,
    }
}
