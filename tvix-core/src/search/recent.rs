//! The order of recent things.

use serde::{Deserialize, Serialize};

use crate::{
    Result, Tvix,
    storage::{Document, Filter, Kind, Page},
};

/// How many documents that lie ahead are read at a time.
const STEP: usize = 256;

/// A slice of a list by time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent<T> {
    /// The most recent first.
    pub records: Vec<T>,
    /// Whether more follow after these.
    pub has_more: bool,
}

impl<T> Recent<T> {
    pub(crate) fn map<U>(self, convert: impl FnMut(T) -> Result<U>) -> Result<Recent<U>> {
        let records = self.records.into_iter().map(convert).collect::<Result<_>>()?;
        Ok(Recent { records, has_more: self.has_more })
    }
}

impl Tvix {
    /// The most recent documents first. One whose time is still to come counts by when it was stored.
    pub(crate) async fn recent_documents(
        &self,
        kind: Kind,
        filter: &Filter,
        page: Page,
    ) -> Result<Recent<Document>> {
        let wanted = page.offset.saturating_add(page.limit).saturating_add(1);
        let ahead = self.ahead(kind, filter).await?;
        let mut records = if ahead.is_empty() {
            let one_more = Page { offset: page.offset, limit: page.limit.saturating_add(1) };
            self.store().scan(kind, filter, one_more).await?
        } else {
            let behind = Page { offset: ahead.len(), limit: wanted };
            let behind = self.store().scan(kind, filter, behind).await?;
            merge(ahead, behind).into_iter().skip(page.offset).take(page.limit + 1).collect()
        };
        let has_more = records.len() > page.limit;
        records.truncate(page.limit);
        Ok(Recent { records, has_more })
    }

    /// The documents whose time is still to come, the last stored first. The store lists them before
    /// all others.
    async fn ahead(&self, kind: Kind, filter: &Filter) -> Result<Vec<Document>> {
        let now = self.clock().now();
        let mut ahead: Vec<Document> = Vec::new();
        let mut limit = 1;
        loop {
            let page = Page { offset: ahead.len(), limit };
            let found = self.store().scan(kind, filter, page).await?;
            let count = found.len();
            let before = ahead.len();
            ahead.extend(found.into_iter().take_while(|document| document.time.order() > now));
            if count < limit || ahead.len() < before + count {
                ahead.sort_by_key(|document| {
                    std::cmp::Reverse((document.created_at, document.key.id))
                });
                return Ok(ahead);
            }
            limit = STEP;
        }
    }
}

/// Puts what lies `ahead` (last stored first) among what lies `behind` (latest first), by when it was
/// stored. Events to come between which nothing else was stored stand latest event first.
fn merge(ahead: Vec<Document>, behind: Vec<Document>) -> Vec<Document> {
    let mut merged = Vec::with_capacity(ahead.len() + behind.len());
    let mut ahead = ahead.into_iter().peekable();
    let mut add_run = |merged: &mut Vec<Document>, until: Option<&Document>| {
        let start = merged.len();
        let later =
            |document: &Document| until.is_none_or(|next| document.created_at >= next.time.order());
        while let Some(document) = ahead.next_if(later) {
            merged.push(document);
        }
        merged[start..].sort_by_key(|document| {
            std::cmp::Reverse((document.time.order(), document.created_at, document.key.id))
        });
    };
    for document in behind {
        add_run(&mut merged, Some(&document));
        merged.push(document);
    }
    add_run(&mut merged, None);
    merged
}
