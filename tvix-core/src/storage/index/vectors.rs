//! Vectors in memory: one byte a number, scanned as a whole, and a second byte for exact scores.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{
    documents::{Documents, NONE, PassageId},
    kernel,
};
use crate::storage::{DocKey, Embedded, Kind, PassageVector};

/// One unit of a first byte is so many of a second one.
const FINER: f32 = 254.0;

/// The vectors of all documents, in a table for each kind.
#[derive(Debug, Default)]
pub(super) struct Vectors {
    dimension: usize,
    tables: [Table; Kind::ALL.len()],
}

/// Vectors as signed bytes with one scale a row: what is scanned, and what rounding to it left.
///
/// Both together are a vector to one part in 64,000 of its greatest number, so that exact scores need
/// no vector from the disk.
#[derive(Debug, Default)]
struct Table {
    codes: Vec<i8>,
    residues: Vec<i8>,
    scales: Vec<f32>,
    /// The passage of each row; [`NONE`] for rows that were replaced. Rows of one passage stand
    /// together.
    passages: Vec<PassageId>,
    /// The first row of each passage; [`NONE`] for those without.
    first: Vec<u32>,
    rows: FxHashMap<DocKey, Range<usize>>,
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
        let known = embedded.vectors.iter().filter_map(|PassageVector { passage, vector }| {
            let passage = documents.numbered(embedded.key, passage)?;
            (vector.len() == dimension && dimension > 0).then_some((passage, vector))
        });
        let mut known: Vec<_> = known.collect();
        known.sort_by_key(|(passage, _)| *passage);
        let first = table.passages.len();
        for (passage, vector) in known {
            table.push(vector, passage);
        }
        if table.passages.len() > first {
            table.rows.insert(embedded.key, first..table.passages.len());
        }
        table.shrink(dimension);
    }

    /// The greatest cosine of each passage of `kind` with `vector`, about: by number of the passage,
    /// and negative infinity for passages without vectors.
    pub(super) fn cosines(&self, kind: Kind, vector: &Quantised, passages: usize) -> Vec<f32> {
        let mut cosines = vec![f32::NEG_INFINITY; passages];
        let table = &self.tables[slot(kind)];
        if vector.codes.len() != self.dimension {
            return cosines;
        }
        let mut sums = vec![0; table.passages.len()];
        kernel::dots(&vector.codes, &table.codes, &mut sums);
        for ((sum, scale), passage) in sums.iter().zip(&table.scales).zip(&table.passages) {
            if let Some(best) = cosines.get_mut(*passage as usize) {
                *best = best.max(*sum as f32 * vector.scale * scale);
            }
        }
        cosines
    }

    /// The greatest cosine of a passage of `kind` with `vector`, if it has vectors.
    pub(super) fn cosine(&self, kind: Kind, vector: &Quantised, passage: PassageId) -> Option<f32> {
        let table = &self.tables[slot(kind)];
        let first = table.first.get(passage as usize).filter(|row| **row != NONE);
        let first = *first.filter(|_| vector.codes.len() == self.dimension)? as usize;
        let rows = (first..table.passages.len()).take_while(|row| table.passages[*row] == passage);
        rows.map(|row| table.dot(row, vector)).reduce(f32::max)
    }
}

/// A vector as signed bytes, twice: rounded, and what rounding left.
#[derive(Debug)]
pub(super) struct Quantised {
    codes: Vec<i8>,
    residues: Vec<i8>,
    /// What one unit of the codes is worth.
    scale: f32,
}

impl Quantised {
    pub(super) fn of(vector: &[f32]) -> Self {
        let greatest = vector.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
        let scale = if greatest > 0.0 { greatest / 127.0 } else { 1.0 };
        let code = |x: &f32| (x / scale).round();
        let left = |x: &f32| ((x / scale - code(x)) * FINER).round() as i8;
        Self {
            codes: vector.iter().map(|x| code(x) as i8).collect(),
            residues: vector.iter().map(left).collect(),
            scale,
        }
    }
}

impl Table {
    fn push(&mut self, vector: &[f32], passage: PassageId) {
        let Quantised { codes, residues, scale } = Quantised::of(vector);
        self.codes.extend(codes);
        self.residues.extend(residues);
        self.scales.push(scale);
        self.number(passage);
    }

    /// Says that the next row is one of `passage`.
    fn number(&mut self, passage: PassageId) {
        let row = u32::try_from(self.passages.len()).unwrap_or(NONE);
        self.passages.push(passage);
        if self.first.len() <= passage as usize {
            self.first.resize(passage as usize + 1, NONE);
        }
        let first = &mut self.first[passage as usize];
        *first = row.min(*first);
    }

    /// The dot product of a row with `vector`, which is as long.
    fn dot(&self, row: usize, vector: &Quantised) -> f32 {
        let bytes = row * vector.codes.len()..(row + 1) * vector.codes.len();
        let (codes, residues) = (&self.codes[bytes.clone()], &self.residues[bytes]);
        let whole = kernel::dot(codes, &vector.codes) as f32;
        let mixed = kernel::dot(codes, &vector.residues) + kernel::dot(residues, &vector.codes);
        let fine = kernel::dot(residues, &vector.residues) as f32;
        self.scales[row] * vector.scale * (whole + (mixed as f32 + fine / FINER) / FINER)
    }

    fn forget(&mut self, key: DocKey) {
        for row in self.rows.remove(&key).unwrap_or_default() {
            self.first[self.passages[row] as usize] = NONE;
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
            let bytes = rows.start * dimension..rows.end * dimension;
            whole.codes.extend(&self.codes[bytes.clone()]);
            whole.residues.extend(&self.residues[bytes]);
            whole.scales.extend(&self.scales[rows.clone()]);
            self.passages[rows].iter().for_each(|passage| whole.number(*passage));
            whole.rows.insert(key, first..whole.passages.len());
        }
        *self = whole;
    }
}

fn slot(kind: Kind) -> usize {
    usize::from(kind.code() - 1)
}
