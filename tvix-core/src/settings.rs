//! What the owner of a store may set.

mod embed;
mod search;

use serde::{Deserialize, Serialize};

pub use embed::{EmbedSettings, Endpoint, KeyVariable, ModelName};
pub use search::{Dense, FusionKind, SearchMode, SearchSettings};

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
    /// Which document store a new data folder gets; `None`: [`StoreKind::default`]. A folder that is
    /// there keeps the one it has, and naming another is an error.
    pub store: Option<StoreKind>,
    /// How search fuses words and meaning.
    #[serde(default)]
    pub search: SearchSettings,
    /// Which model turns texts into vectors.
    #[serde(default)]
    pub embed: EmbedSettings,
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
            store: None,
            search: SearchSettings::default(),
            embed: EmbedSettings::default(),
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

/// The document stores that a data folder can have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoreKind {
    /// One file by redb: the default, and what survives a power cut best.
    #[default]
    Redb,
    /// A folder by sled. Needs the feature `sled`.
    Sled,
}

impl StoreKind {
    /// Its name in `config.toml` and `format.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Redb => "redb",
            Self::Sled => "sled",
        }
    }

    /// The store of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Redb, Self::Sled].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether this build can open it.
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Redb => cfg!(feature = "local"),
            Self::Sled => cfg!(feature = "sled"),
        }
    }
}

impl std::fmt::Display for StoreKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
