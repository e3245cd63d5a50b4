//! Vectors in memory: one byte a number, scanned as a whole.

use std::{collections::HashMap, ops::Range};

use super::{
    documents::{Documents, NONE, PassageId},
    kernel,
};
use crate::storage::{DocKey, Embedded, Kind, PassageVector};

/// The vectors of all documents, in a table for each kind.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    dimension: usize,
    tables: [Table; Kind::ALL.len()],
}

/// Vectors as signed bytes with one scale a row.
#[derive(Debug, Default)]
struct Table {
    codes: Vec<i8>,
    scales: Vec<f32>,
    /// The passage of each row; [`NONE`] for rows that were replaced.
    passages: Vec<PassageId>,
    rows: HashMap<DocKey, Range<usize>>,
    replaced: usize,
}

impl Vectors {
    /// An empty table for vectors of `dimension` numbers.
    pub(super) fn of(dimension: usize) -> Self {
        Self { dimension, ..Self::default() }
    }

    /// How many documents have vectors.
    pub(super) fn len(&self) -> u64 {
        self.tables.iter().map(|table| table.rows.len() as u64).sum()
    }

    /// Puts the vectors of a document in place of those its key had. Vectors of another dimension, of
    /// a change that `documents` does not hold, or of a passage that it does not know are left out.
    pub(super) fn insert(&mut self, embedded: &Embedded, documents: &Documents) {
        let dimension = self.dimension;
        let table = &mut self.tables[slot(embedded.key.kind)];
        let seq = documents.seq(embedded.key);
        if seq > Some(embedded.seq) {
            return;
        }
        table.forget(embedded.key);
        if seq != Some(embedded.seq) {
            return;
        }
        let first = table.passages.len();
        for PassageVector { passage, vector } in &embedded.vectors {
            let passage = documents.numbered(embedded.key, passage);
            if let Some(passage) = passage.filter(|_| vector.len() == dimension && dimension > 0) {
                table.push(vector, passage);
            }
        }
        if table.passages.len() > first {
            table.rows.insert(embedded.key, first..table.passages.len());
        }
        table.shrink(dimension);
    }

    /// The greatest cosine of each passage of `kind` with `vector`, about: by number of the passage,
    /// and negative infinity for passages without vectors.
    pub(super) fn cosines(&self, kind: Kind, vector: &[f32], passages: usize) -> Vec<f32> {
        let mut cosines = vec![f32::NEG_INFINITY; passages];
        let table = &self.tables[slot(kind)];
        if vector.len() != self.dimension {
            return cosines;
        }
        let (codes, scale) = quantised(vector);
        let mut sums = vec![0; table.passages.len()];
        kernel::dots(&codes, &table.codes, &mut sums);
        for ((sum, row_scale), passage) in sums.iter().zip(&table.scales).zip(&table.passages) {
            if let Some(best) = cosines.get_mut(*passage as usize) {
                *best = best.max(*sum as f32 * scale * row_scale);
            }
        }
        cosines
    }
}

impl Table {
    fn push(&mut self, vector: &[f32], passage: PassageId) {
        let (codes, scale) = quantised(vector);
        self.codes.extend(codes);
        self.scales.push(scale);
        self.passages.push(passage);
    }

    fn forget(&mut self, key: DocKey) {
        for row in self.rows.remove(&key).unwrap_or_default() {
            self.passages[row] = NONE;
            self.replaced += 1;
        }
    }

    /// Closes the gaps when they are more than half of the rows.
    fn shrink(&mut self, dimension: usize) {
        if self.replaced <= self.passages.len() / 2 {
            return;
        }
        let mut whole = Self::default();
        for (key, rows) in std::mem::take(&mut self.rows) {
            let first = whole.passages.len();
            whole.codes.extend(&self.codes[rows.start * dimension..rows.end * dimension]);
            whole.scales.extend(&self.scales[rows.clone()]);
            whole.passages.extend(&self.passages[rows]);
            whole.rows.insert(key, first..whole.passages.len());
        }
        *self = whole;
    }
}

fn slot(kind: Kind) -> usize {
    usize::from(kind.code() - 1)
}

/// `vector` as signed bytes, and what one unit of them is worth.
fn quantised(vector: &[f32]) -> (Vec<i8>, f32) {
    let greatest = vector.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
    let scale = if greatest > 0.0 { greatest / 127.0 } else { 1.0 };
    (vector.iter().map(|x| (x / scale).round() as i8).collect(), scale)
}
