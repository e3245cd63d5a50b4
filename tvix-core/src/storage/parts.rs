//! Small questions about the plain types that every store asks.

use std::cmp::Reverse;

use super::{
    Condition, DocKey, Document, Facet, FacetCount, Fingerprint, Operation, RECEIPT_LIFETIME_MS,
    Seq,
};
use crate::types::Timestamp;

impl Operation {
    /// The key it changes.
    pub(super) fn key(&self) -> DocKey {
        match self {
            Self::Put { document, .. } => document.key,
            Self::Delete { key, .. } => *key,
        }
    }

    /// What must hold before it.
    pub(super) fn conditions(&self) -> &[Condition] {
        match self {
            Self::Put { conditions, .. } | Self::Delete { conditions, .. } => conditions,
        }
    }

    /// The fingerprint of the document it brings.
    pub(super) fn fingerprint(&self) -> Option<Fingerprint> {
        match self {
            Self::Put { document, .. } => Some(document.fingerprint),
            Self::Delete { .. } => None,
        }
    }
}

impl Document {
    /// What it is counted under: facet, key, name.
    pub(super) fn facets(&self) -> impl Iterator<Item = (Facet, String, String)> {
        let scope = self.scope.as_ref();
        let scope = scope.map(|scope| (Facet::Scope, scope.key.clone(), scope.name.clone()));
        let source = self.source.key().as_str().to_owned();
        let source = (Facet::Source, source, self.source.as_str().to_owned());
        scope.into_iter().chain([source])
    }
}

impl FacetCount {
    /// Its place among others: last changed first. A document that moves changes two scopes at
    /// once; these stand by key.
    pub(super) fn order(&self) -> (Reverse<Seq>, String) {
        (Reverse(self.last_change), self.key.clone())
    }
}

/// Whether a call made at `at` is too old to matter to one made at `now`.
pub(super) fn is_forgotten(at: Timestamp, now: Timestamp) -> bool {
    now.as_millis().saturating_sub(at.as_millis()) > RECEIPT_LIFETIME_MS
}
