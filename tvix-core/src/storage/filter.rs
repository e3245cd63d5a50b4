//! Which documents a scan or search may return.

use serde::{Deserialize, Serialize};

use super::Document;
use crate::types::{EventTime, SourceKey, TimeRange};

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
    /// The first `limit`.
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }
}
