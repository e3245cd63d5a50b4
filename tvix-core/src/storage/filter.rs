//! Which documents a scan or search may return.

use serde::{Deserialize, Serialize};

use super::Document;
use crate::{
    Error, Result,
    types::{EventTime, SourceKey, TimeRange},
};

/// Conditions on a document, all of which must hold. The default lets every document pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Condition on the scope.
    #[serde(default)]
    pub scope: ScopeFilter,
    /// The source is one of these; empty: any.
    #[serde(default)]
    pub sources: Vec<SourceKey>,
    /// The time lies inside.
    #[serde(default)]
    pub time: Option<TimeRange>,
}

/// Condition on the scope of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeFilter {
    /// Any scope, or none.
    #[default]
    Any,
    /// No scope.
    Unscoped,
    /// The scope with this key.
    Only(String),
}

impl Filter {
    /// Whether every document passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `document` passes.
    pub fn accepts(&self, document: &Document) -> bool {
        let scope = document.scope.as_ref().map(|scope| scope.key.as_str());
        self.accepts_parts(scope, document.source.key().as_str(), document.time)
    }

    /// Whether a document with this scope key, source key and time passes: for backends that keep
    /// these three beside the key and need not read the document.
    pub fn accepts_parts(&self, scope: Option<&str>, source: &str, time: EventTime) -> bool {
        let scope_passes = match &self.scope {
            ScopeFilter::Any => true,
            ScopeFilter::Unscoped => scope.is_none(),
            ScopeFilter::Only(key) => scope == Some(key.as_str()),
        };
        scope_passes
            && (self.sources.is_empty() || self.sources.iter().any(|key| key.as_str() == source))
            && self.time.is_none_or(|range| range.contains(time))
    }
}

/// A slice of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// How many to skip.
    pub offset: usize,
    /// How many to return at most.
    pub limit: usize,
}

impl Page {
    /// The greatest [`limit`](Self::limit) that [`checked`](Self::checked) lets through.
    pub const LIMIT_MAX: usize = 1_000;
    /// The greatest [`offset`](Self::offset) that it lets through.
    pub const OFFSET_MAX: usize = 1_000_000_000;

    /// The slice that a caller asks for in numbers of any size.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `limit` or `offset`, with what to send.
    pub fn checked(offset: i64, limit: i64) -> Result<Self> {
        let number = |field, number: i64, least: usize, most: usize| {
            let fits = usize::try_from(number).ok().filter(|n| (least..=most).contains(n));
            fits.ok_or_else(|| {
                Error::invalid(field, format_args!("got {number}, send {least}-{most}"))
            })
        };
        Ok(Self {
            offset: number("offset", offset, 0, Self::OFFSET_MAX)?,
            limit: number("limit", limit, 1, Self::LIMIT_MAX)?,
        })
    }

    /// The first `limit`.
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_out_of_range_is_refused_by_the_name_of_the_number() {
        assert_eq!(Page::checked(0, 1_000).ok(), Some(Page::first(Page::LIMIT_MAX)));
        for (offset, limit, field) in
            [(-1, 1, "offset"), (0, 0, "limit"), (0, 1_001, "limit"), (i64::MAX, 1, "offset")]
        {
            let error = Page::checked(offset, limit).expect_err(field).to_string();
            assert!(error.starts_with(field) && error.contains("send "), "{error}");
        }
    }
}
