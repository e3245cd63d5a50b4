//! What the owner of a store may set.

use serde::{Deserialize, Serialize};

/// Settings of one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What happens to text that plainly holds a credential.
    pub secrets: SecretPolicy,
    /// The greatest size of a tool's answer, in characters: for its text, and again for its
    /// structure.
    pub reply_budget: usize,
    /// How many wiki documents may be stored; `None`: any number.
    pub wiki_quota: Option<u64>,
}

impl Settings {
    /// The default of [`Settings::reply_budget`].
    pub const REPLY_BUDGET: usize = 20_000;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            secrets: SecretPolicy::default(),
            reply_budget: Self::REPLY_BUDGET,
            wiki_quota: None,
        }
    }
}

/// What happens to text that plainly holds a credential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretPolicy {
    /// It is refused: the kind of secret is named, nothing is stored or logged.
    #[default]
    Refuse,
    /// The credential is replaced by `[redacted:kind]`, the rest is stored.
    Redact,
    /// It is stored as it came.
    Allow,
}
