//! Reading the whole store in the order of its log.

use super::{LOG_STEP, PAGE_BYTES, Record, RecordPage};
use crate::{
    Error, Result, Tvix,
    storage::{Change, Document, Facet, Kind, Seq},
};

/// What a document takes in a message beside its texts and attributes, in bytes, rounded up.
const ENVELOPE: usize = 1024;

/// A slice of the change log.
pub(super) struct LogPage {
    pub(super) changes: Vec<Change>,
    pub(super) next: Option<Seq>,
}

impl Tvix {
    /// The changes after `after` that are `wanted`, until there are `limit` or their texts are large.
    ///
    /// The log holds each document once, under its last change, so reading it from begin to end
    /// gives every document. That also holds while others write: a change takes its document from
    /// its place to the end, which is still to come. Lists by time or id have no such order; there
    /// a reader of pages may miss what moves between two of them.
    pub(super) async fn log(
        &self,
        after: Seq,
        limit: usize,
        wanted: impl Fn(&Change) -> bool + Send,
    ) -> Result<LogPage> {
        if limit == 0 {
            return Err(Error::invalid("limit", "got 0, send at least 1"));
        }
        let (mut changes, mut seen, mut bytes) = (Vec::new(), after, 0);
        loop {
            let step = self.store().changes(seen, LOG_STEP).await?;
            let is_last = step.len() < LOG_STEP;
            for change in step {
                if changes.len() == limit || bytes >= PAGE_BYTES {
                    return Ok(LogPage { changes, next: Some(seen) });
                }
                seen = change.seq;
                if wanted(&change) {
                    bytes += change.document.as_ref().map_or(0, size);
                    changes.push(change);
                }
            }
            if is_last {
                return Ok(LogPage { changes, next: None });
            }
        }
    }

    pub(super) async fn export_page(&self, after: Seq, limit: usize) -> Result<RecordPage> {
        let page = self.log(after, limit, |change| change.document.is_some()).await?;
        let documents = page.changes.into_iter().filter_map(|change| change.document);
        let records = documents.map(Record::from_document).collect::<Result<_>>()?;
        Ok(RecordPage { records, next: page.next, total: self.live_total().await? })
    }

    /// How many documents of `kind` live: each has exactly one source.
    pub(super) async fn live(&self, kind: Kind) -> Result<u64> {
        let sources = self.store().facets(kind, Facet::Source).await?;
        Ok(sources.iter().map(|source| source.count).sum())
    }

    pub(super) async fn live_total(&self) -> Result<u64> {
        let mut total = 0;
        for kind in Kind::ALL {
            total += self.live(kind).await?;
        }
        Ok(total)
    }
}

fn size(document: &Document) -> usize {
    let attributes = serde_json::to_string(&document.attrs).map_or(0, |json| json.len());
    document.text.len() + document.title.len() + attributes + ENVELOPE
}
