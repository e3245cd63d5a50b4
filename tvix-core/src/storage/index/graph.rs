//! A graph of near vectors for large tables: an approximate answer instead of a scan.
//!
//! Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
//! Navigable Small World graphs" (2016), by `hnsw_rs`. A graph takes minutes to build, knows no
//! deletion and is slow under a filter, so it only proposes candidates to queries without one, it is
//! made in the background from the rows of the table, and the scan answers until it is there.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    thread,
};

use hnsw_rs::prelude::{Distance, Hnsw};

use super::kernel;

/// Tables with fewer rows are scanned: up to here that takes a few milliseconds and is exact.
pub(super) const LEAST_ROWS: usize = 100_000;
/// A graph is made anew when more than one row in so many was added or replaced since.
const OUTDATED: usize = 5;
/// Links of a point on each layer.
const LINKS: usize = 16;
/// Layers at most.
const LAYERS: usize = 16;
/// Points looked at to link a new one.
const LOOKED_AT: usize = 200;
/// Points looked at for each one wanted.
const BREADTH: usize = 2;
/// What a unit vector's numbers are multiplied by. Greater ones than a half are rare and cut off.
const UNIT: f32 = 254.0;

/// The rows of a table that were there when the graph was begun, linked.
pub(super) struct Graph {
    /// The first so many rows of the table are in it.
    rows: usize,
    /// How many of the table's rows were replaced already then.
    replaced: usize,
    points: Arc<OnceLock<Points>>,
}

type Points = Hnsw<'static, i8, Cosine>;

/// One minus the cosine of vectors in units of [`UNIT`].
#[derive(Debug, Clone, Copy, Default)]
struct Cosine;

impl Distance<i8> for Cosine {
    fn eval(&self, one: &[i8], other: &[i8]) -> f32 {
        (1.0 - kernel::dot(one, other) as f32 / (UNIT * UNIT)).max(0.0)
    }
}

impl Graph {
    /// Begins a graph of `vectors`, which come with the numbers of their rows, on a thread of its own.
    /// `rows` is how many the table has, `replaced` how many of them are no more.
    pub(super) fn begin(vectors: Vec<(usize, Vec<i8>)>, rows: usize, replaced: usize) -> Self {
        let points = Arc::new(OnceLock::new());
        let finished = Arc::clone(&points);
        let thread = thread::Builder::new().name("tvix-graph".into());
        let begun = thread.spawn(move || {
            if let Some(points) = linked(&vectors, &finished) {
                let _ = finished.set(points);
            }
        });
        if let Err(error) = begun {
            tracing::warn!(%error, "no thread for the graph of vectors: they are scanned");
        }
        Self { rows, replaced, points }
    }

    /// The first so many rows of the table are in it.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it is built.
    pub(super) fn is_ready(&self) -> bool {
        self.points.get().is_some()
    }

    /// Whether a table of `rows` rows, `replaced` of them no more, has changed too much since.
    pub(super) fn is_outdated(&self, rows: usize, replaced: usize) -> bool {
        let (added, gone) = (rows - self.rows, replaced.saturating_sub(self.replaced));
        self.is_ready() && (added + gone) * OUTDATED > self.rows
    }

    /// About the `count` rows nearest to `vector`; `None` while the graph is being built.
    pub(super) fn nearest(&self, vector: &[i8], count: usize) -> Option<Vec<usize>> {
        let points = self.points.get()?;
        let found = points.search(vector, count, count.saturating_mul(BREADTH));
        Some(found.into_iter().map(|neighbour| neighbour.d_id).collect())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Graph");
        shown.field("rows", &self.rows).field("is_ready", &self.is_ready()).finish_non_exhaustive()
    }
}

/// A vector in the unit of the graph; `codes` are worth `scale` each.
pub(super) fn in_units(codes: &[i8], scale: f32) -> Vec<i8> {
    codes.iter().map(|code| (f32::from(*code) * scale * UNIT).round() as i8).collect()
}

/// The graph; `None` when nobody waits for it any more.
fn linked(vectors: &[(usize, Vec<i8>)], wanted: &Arc<OnceLock<Points>>) -> Option<Points> {
    let points = Hnsw::new(LINKS, vectors.len(), LAYERS, LOOKED_AT, Cosine);
    for (row, vector) in vectors {
        if Arc::strong_count(wanted) == 1 {
            return None;
        }
        points.insert_slice((vector, *row));
    }
    Some(points)
}
