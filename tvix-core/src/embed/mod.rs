//! Text to vectors: what search by meaning needs.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;

/// A point in the space of an embedding model; of length 1.
pub type Vector = Vec<f32>;

/// Names a space of vectors: vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// The model's name and version.
    pub name: String,
    /// The length of its vectors.
    pub dimension: usize,
}

/// Turns texts into vectors whose cosine is great when the texts mean the same.
#[async_trait]
pub trait Embedder: Debug + Send + Sync {
    /// The model in use.
    fn model(&self) -> &Model;

    /// One vector of length 1 and of the model's dimension for each text, in order.
    ///
    /// # Errors
    /// [`Error::Backend`](crate::Error::Backend) when the model cannot be reached; the caller goes on
    /// without vectors.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>>;
}
