//! The one error type, and the table that takes it to every outer world.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// Result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, with the names a caller needs to mend it.
///
/// The caller's faults (`InvalidInput`, `NotFound`, `QuotaExceeded`, `Conflict`) and the engine's
/// (`Backend`, `Corrupt`) are never one variant. Texts name the field, what came and what to send.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is outside of its limits or of the wrong type. Nothing was changed.
    #[error("{field}: {reason}")]
    InvalidInput {
        /// Name of the argument, or of the file for settings kept in one.
        field: String,
        /// What came and what is expected.
        reason: String,
    },
    /// No record has this identifier.
    #[error("{what} not found: {identifier}")]
    NotFound {
        /// What was looked for, such as `memory` or `wiki document`.
        what: String,
        /// The identifier as it came.
        identifier: String,
    },
    /// A configured limit on the number of records is reached. Nothing was stored.
    #[error("quota exceeded: {reason}")]
    QuotaExceeded {
        /// Names the limit and its value.
        reason: String,
    },
    /// The record or folder is in a state that does not allow this call.
    #[error("{reason}")]
    Conflict {
        /// What stands in the way, and how to get past it.
        reason: String,
    },
    /// The storage or index failed. The same call may succeed later.
    #[error("{operation} failed: {reason}")]
    Backend {
        /// What was being done, in words.
        operation: String,
        /// The engine's own words.
        reason: String,
        /// The engine's own error, where it is at hand.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// Data on disk is not what was written. Retrying does not help.
    #[error("{what} is damaged: {reason}")]
    Corrupt {
        /// File or record.
        what: String,
        /// How that was noticed.
        reason: String,
    },
}

/// The kind of an [`Error`]: the key of every table that maps errors to an outer world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// See [`Error::InvalidInput`].
    InvalidInput,
    /// See [`Error::NotFound`].
    NotFound,
    /// See [`Error::QuotaExceeded`].
    QuotaExceeded,
    /// See [`Error::Conflict`].
    Conflict,
    /// See [`Error::Backend`]: the only kind that is worth a retry.
    Backend,
    /// See [`Error::Corrupt`].
    Corrupt,
}

/// An error as it crosses a process or language border: `_meta["tvix/error"]` over MCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// The kind, in snake case.
    pub kind: ErrorKind,
    /// The argument at fault, for invalid input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What was wrong and what to send instead.
    pub reason: String,
    /// The identifier that was not found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
}

impl Error {
    /// Invalid input in `field`; `reason` says what came and what to send.
    pub fn invalid(field: impl Into<String>, reason: impl Display) -> Self {
        Self::InvalidInput { field: field.into(), reason: reason.to_string() }
    }

    /// No `what` is known by `identifier`.
    pub fn not_found(what: impl Into<String>, identifier: impl Display) -> Self {
        Self::NotFound { what: what.into(), identifier: identifier.to_string() }
    }

    /// Something stands in the way of this call.
    pub fn conflict(reason: impl Display) -> Self {
        Self::Conflict { reason: reason.to_string() }
    }

    /// The engine failed with `source` while doing `operation`.
    pub fn backend(
        operation: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let source = source.into();
        Self::Backend {
            operation: operation.into(),
            reason: source.to_string(),
            source: Some(source),
        }
    }

    /// `what` on disk is not what was written.
    pub fn corrupt(what: impl Into<String>, reason: impl Display) -> Self {
        Self::Corrupt { what: what.into(), reason: reason.to_string() }
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidInput { .. } => ErrorKind::InvalidInput,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::QuotaExceeded { .. } => ErrorKind::QuotaExceeded,
            Self::Conflict { .. } => ErrorKind::Conflict,
            Self::Backend { .. } => ErrorKind::Backend,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }

    /// This error for another process or language; [`Error::from`] takes it back.
    pub fn report(&self) -> ErrorReport {
        let (field, reason, identifier) = match self {
            Self::InvalidInput { field, reason } => (Some(field), reason, None),
            Self::NotFound { what, identifier } => (None, what, Some(identifier)),
            Self::QuotaExceeded { reason } | Self::Conflict { reason } => (None, reason, None),
            Self::Backend { operation, reason, .. } => (Some(operation), reason, None),
            Self::Corrupt { what, reason } => (Some(what), reason, None),
        };
        ErrorReport {
            kind: self.kind(),
            field: field.cloned(),
            reason: reason.clone(),
            identifier: identifier.cloned(),
        }
    }
}

impl From<ErrorReport> for Error {
    fn from(report: ErrorReport) -> Self {
        let ErrorReport { kind, field, reason, identifier } = report;
        let field = field.unwrap_or_default();
        match kind {
            ErrorKind::InvalidInput => Self::InvalidInput { field, reason },
            ErrorKind::NotFound => {
                Self::NotFound { what: reason, identifier: identifier.unwrap_or_default() }
            }
            ErrorKind::QuotaExceeded => Self::QuotaExceeded { reason },
            ErrorKind::Conflict => Self::Conflict { reason },
            ErrorKind::Backend => Self::Backend { operation: field, reason, source: None },
            ErrorKind::Corrupt => Self::Corrupt { what: field, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_survives_the_border() {
        let errors = [
            Error::invalid("limit", "got 31, send 1-30"),
            Error::not_found("memory", "0190b6f2"),
            Error::QuotaExceeded { reason: "wiki_quota is 3".into() },
            Error::conflict("in use"),
            Error::backend("write", "disk full"),
            Error::corrupt("store", "checksum"),
        ];
        for error in errors {
            let text = error.to_string();
            let back = Error::from(error.report());
            assert_eq!((back.kind(), back.to_string()), (error.kind(), text));
        }
    }
}
