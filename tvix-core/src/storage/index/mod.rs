//! Search indexes.
//!
//! [`MemoryIndex`] is the reference: no engine, nothing on disk. `LocalIndex` (feature `local`) keeps
//! what is committed in tantivy and searches what is not yet committed from memory, with the same
//! code as the reference.

mod bm25;
#[cfg(feature = "local")]
mod columns;
mod documents;
mod entry;
#[cfg(feature = "local")]
mod folder;
#[cfg(feature = "hnsw")]
mod graph;
pub mod kernel;
#[cfg(feature = "local")]
mod local;
mod memory;
mod nearest;
mod postings;
mod rank;
#[cfg(feature = "local")]
mod rows;
#[cfg(feature = "local")]
mod schema;
#[cfg(feature = "local")]
mod text;
mod vectors;
#[cfg(feature = "local")]
mod view;
#[cfg(feature = "local")]
mod writer;

#[cfg(feature = "local")]
pub(crate) use folder::IndexFolder;
#[cfg(feature = "local")]
pub use local::LocalIndex;
pub use memory::MemoryIndex;

use crate::{search::analyze::Field, storage::Kind};

/// Tables with one row for each field of each kind have so many.
const TABLES: usize = Kind::ALL.len() * Field::ALL.len();

/// The row of such a table.
fn table(kind: Kind, field: Field) -> usize {
    usize::from(kind.code() - 1) * Field::ALL.len() + field.index()
}

#[cfg(test)]
mod tests;
