//! Vectors in memory: one byte a number, scanned as a whole, and a second byte for exact scores.

use std::ops::Range;

use rustc_hash::FxHashMap;

#[cfg(feature = "hnsw")]
use super::graph::{self, Graph};
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
    /// Answers queries without conditions once the table is large.
    #[cfg(feature = "hnsw")]
    graph: Option<Graph>,
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
    /// and negative infinity for passages without vectors. When `enough` is given, those of about so
    /// many of the nearest passages may be all.
    pub(super) fn cosines(
        &self,
        kind: Kind,
        vector: &Quantised,
        passages: usize,
        enough: Option<usize>,
    ) -> Vec<f32> {
        let mut cosines = vec![f32::NEG_INFINITY; passages];
        let table = &self.tables[slot(kind)];
        if vector.codes.len() != self.dimension {
            return cosines;
        }
        let proposed = enough.and_then(|count| table.propose(vector, count));
        let (proposed, rest) = proposed.unwrap_or_default();
        for row in proposed {
            let code = row * self.dimension..(row + 1) * self.dimension;
            table.take(row, kernel::dot(&vector.codes, &table.codes[code]), vector, &mut cosines);
        }
        let mut sums = vec![0; table.passages.len() - rest];
        kernel::dots(&vector.codes, &table.codes[rest * self.dimension..], &mut sums);
        for (row, sum) in (rest..).zip(sums) {
            table.take(row, sum, vector, &mut cosines);
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

#[cfg(feature = "hnsw")]
impl Vectors {
    /// Begins graphs of the tables that are large.
    pub(super) fn link(&mut self) {
        self.link_from(graph::LEAST_ROWS);
    }

    /// Whether the graph of `kind` answers.
    #[cfg(test)]
    pub(super) fn is_linked(&self, kind: Kind) -> bool {
        self.tables[slot(kind)].graph.as_ref().is_some_and(Graph::is_ready)
    }

    /// As [`Vectors::link`], for tables of at least `least` rows.
    pub(super) fn link_from(&mut self, least: usize) {
        let dimension = self.dimension;
        self.tables.iter_mut().for_each(|table| table.link(dimension, least));
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
    /// Rows that are about the nearest to `vector`, and from which row on none was looked at.
    #[cfg(feature = "hnsw")]
    fn propose(&self, vector: &Quantised, count: usize) -> Option<(Vec<usize>, usize)> {
        let graph = self.graph.as_ref()?;
        let rows = graph.nearest(&graph::in_units(&vector.codes, vector.scale), count)?;
        Some((rows, graph.rows()))
    }

    #[cfg(not(feature = "hnsw"))]
    #[expect(clippy::unused_self, reason = "the table has no graph in this build")]
    fn propose(&self, _: &Quantised, _: usize) -> Option<(Vec<usize>, usize)> {
        None
    }

    /// Counts the dot product of a row for its passage.
    fn take(&self, row: usize, sum: i32, vector: &Quantised, cosines: &mut [f32]) {
        if let Some(best) = cosines.get_mut(self.passages[row] as usize) {
            *best = best.max(sum as f32 * vector.scale * self.scales[row]);
        }
    }

    /// Begins a graph when there are at least `least` rows and none, or one that is outdated.
    #[cfg(feature = "hnsw")]
    fn link(&mut self, dimension: usize, least: usize) {
        let (rows, replaced) = (self.passages.len(), self.replaced);
        let outdated = |graph: &Graph| graph.is_outdated(rows, replaced);
        if rows < least || dimension == 0 || !self.graph.as_ref().is_none_or(outdated) {
            return;
        }
        let living = self.codes.chunks_exact(dimension).zip(&self.scales).zip(&self.passages);
        let living = living.enumerate().filter(|(_, (_, passage))| **passage != NONE);
        let vectors =
            living.map(|(row, ((codes, scale), _))| (row, graph::in_units(codes, *scale)));
        self.graph = Some(Graph::begin(vectors.collect(), rows, replaced));
    }

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
