//! Text to vectors: what search by meaning needs.

mod builtin;
#[cfg(feature = "embed-candle")]
mod candle;
#[cfg(any(feature = "embed-candle", feature = "embed-http"))]
mod family;
#[cfg(feature = "embed-http")]
mod http;
mod open;
mod vector;
#[cfg(any(feature = "embed-candle", feature = "embed-http"))]
mod worker;

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;

pub use builtin::{BuiltIn, LateInteraction, Pieces};
#[cfg(feature = "embed-candle")]
pub use candle::CandleEmbedder;
#[cfg(feature = "embed-http")]
pub use http::{HttpEmbedder, Patience};
pub use open::open;
pub(crate) use vector::normalise;

/// A point in the space of an embedding model; of length 1, or all zero when the model knows nothing
/// of the text.
pub type Vector = Vec<f32>;

/// Names a space of vectors: vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// The model's name and version.
    pub name: String,
    /// The length of its vectors; 0 while it is not known, which is until an endpoint's first answer.
    pub dimension: usize,
}

/// What a text is to the search: some models want a prefix that tells the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// What is searched for.
    Query,
    /// What is searched.
    Passage,
}

/// How search should use a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hints {
    /// Whether a text takes microseconds, so that a write can wait for its vector.
    pub instant: bool,
    /// The share of meaning, 0 to 1, when words and meaning are fused
    /// (convex fusion).
    pub dense: f32,
    /// The cosine at which two texts have hardly anything in common.
    pub unrelated: f32,
}

impl Hints {
    /// For a transformer of which nothing else is known.
    pub const TRANSFORMER: Self = Self { instant: false, dense: 0.5, unrelated: 0.2 };

    /// For a transformer of a caller's own.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) naming `dense` or `unrelated` when it is not
    /// from 0 to 1.
    pub fn checked(dense: f32, unrelated: f32) -> Result<Self> {
        for (field, number) in [("dense", dense), ("unrelated", unrelated)] {
            if !(0.0..=1.0).contains(&number) {
                let reason = format!("got {number}, send a number from 0 to 1");
                return Err(crate::Error::invalid(field, reason));
            }
        }
        Ok(Self { dense, unrelated, ..Self::TRANSFORMER })
    }
}

/// Turns texts into vectors whose cosine is great when the texts mean the same.
#[async_trait]
pub trait Embedder: Debug + Send + Sync {
    /// The model in use. Ask again after the first [`embed`](Embedder::embed) when the dimension is 0.
    fn model(&self) -> &Model;

    /// How search should use it.
    fn hints(&self) -> Hints;

    /// One vector of length 1 and of the model's dimension for each text, in order.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) when the model cannot be reached; the caller goes on
    /// without vectors.
    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>>;
}
