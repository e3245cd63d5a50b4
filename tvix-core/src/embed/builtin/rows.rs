//! The rows of the built-in model: signed bytes with one scale a row.

use std::sync::OnceLock;

use super::wordpiece::Piece;
use crate::storage::index::kernel;

/// One row a piece.
#[derive(Debug)]
pub(super) struct Rows {
    dimension: usize,
    scales: Vec<f32>,
    codes: Vec<i8>,
    /// Lengths of the rows before scaling; only late interaction needs them.
    lengths: OnceLock<Vec<f32>>,
}

impl Rows {
    /// `None` unless `codes` holds one row for each of the `scales`.
    pub(super) fn new(dimension: usize, scales: &[u8], codes: &[u8]) -> Option<Self> {
        let (scales, rest) = scales.as_chunks();
        let scales: Vec<f32> = scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let whole = rest.is_empty() && codes.len() == scales.len().checked_mul(dimension)?;
        let codes = codes.iter().map(|code| code.cast_signed()).collect();
        whole.then_some(Self { dimension, scales, codes, lengths: OnceLock::new() })
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    fn codes(&self, piece: Piece) -> &[i8] {
        let start = piece as usize * self.dimension;
        self.codes.get(start..start + self.dimension).unwrap_or_default()
    }

    /// Adds the row of `piece` to `sum`.
    pub(super) fn add(&self, piece: Piece, sum: &mut [f32]) {
        let scale = self.scales.get(piece as usize).copied().unwrap_or_default();
        kernel::add(self.codes(piece), scale, sum);
    }

    /// The length of the row of `piece`.
    pub(super) fn norm(&self, piece: Piece) -> f32 {
        self.length(piece) * self.scales.get(piece as usize).copied().unwrap_or_default()
    }

    /// The cosine of two rows.
    pub(super) fn cosine(&self, one: Piece, other: Piece) -> f32 {
        let lengths = self.length(one) * self.length(other);
        if lengths == 0.0 {
            return 0.0;
        }
        kernel::dot(self.codes(one), self.codes(other)) as f32 / lengths
    }

    fn length(&self, piece: Piece) -> f32 {
        let length = |codes: &[i8]| (kernel::dot(codes, codes) as f32).sqrt();
        let lengths = self
            .lengths
            .get_or_init(|| self.codes.chunks_exact(self.dimension).map(length).collect());
        lengths.get(piece as usize).copied().unwrap_or_default()
    }
}
