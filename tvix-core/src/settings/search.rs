//! How search fuses words and meaning.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How search finds. What is `None` is chosen by what suits the embedder; the last three are for
/// measurements and not in `config.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchSettings {
    /// How the hits by word and the hits by meaning become one list.
    pub fusion: Option<FusionKind>,
    /// The share of meaning.
    pub dense: Option<Dense>,
    /// Which lists are asked.
    pub mode: SearchMode,
    /// Whether memories are also judged by their neighbours in time.
    pub context: bool,
    /// Whether the best are compared with short queries word by word.
    pub rerank: bool,
}

impl Default for SearchSettings {
    fn default() -> Self {
        let mode = SearchMode::default();
        Self { fusion: None, dense: None, mode, context: true, rerank: true }
    }
}

/// Which lists a search asks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// Both, fused.
    #[default]
    Hybrid,
    /// By word alone.
    Keyword,
    /// By meaning alone.
    Vector,
}

/// A way of fusing two lists of hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FusionKind {
    /// The weighted sum of the scores, each divided by the best of its list.
    Convex,
    /// Reciprocal rank fusion, weighted: only the places in the lists count.
    Rrf,
}

impl FusionKind {
    /// Its name in `config.toml`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Convex => "convex",
            Self::Rrf => "rrf",
        }
    }

    /// The way of this name.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `fusion` and the ways there are.
    pub fn named(name: &str) -> Result<Self> {
        let known = [Self::Convex, Self::Rrf].into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| {
            Error::invalid("fusion", format_args!("got {name:?}, send \"convex\" or \"rrf\""))
        })
    }
}

/// The share of meaning in a fused score, 0 (words alone) to 1 (meaning alone).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Dense(f32);

/// Never NaN, which is the one number that does not equal itself.
impl Eq for Dense {}

impl Dense {
    /// The share `share`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `dense` when it is not within 0 to 1.
    pub fn new(share: f32) -> Result<Self> {
        if (0.0..=1.0).contains(&share) {
            return Ok(Self(share));
        }
        Err(Error::invalid("dense", format_args!("got {share}, send a number from 0.0 to 1.0")))
    }

    /// The share as a number.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl TryFrom<f32> for Dense {
    type Error = Error;

    fn try_from(share: f32) -> Result<Self> {
        Self::new(share)
    }
}

impl From<Dense> for f32 {
    fn from(share: Dense) -> Self {
        share.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_within_its_limits() {
        for share in [0.0, 0.3, 1.0] {
            assert_eq!(Dense::new(share).map(Dense::get).ok(), Some(share));
        }
        for share in [-0.1, 1.01, f32::NAN, f32::INFINITY] {
            let error = Dense::new(share).expect_err("out of range").to_string();
            assert!(error.starts_with("dense: got "), "{error}");
        }
    }
}
