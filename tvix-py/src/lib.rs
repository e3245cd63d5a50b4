//! Tvix from Python: the extension module `tvix._tvix`.
//!
//! It holds no logic: a method reads its arguments into the types of `tvix-core`, calls one trait and
//! converts the answer. `session` says how a call waits (blocking, or as an awaitable of asyncio) and
//! what becomes of it after a fork; every other file is one domain. What Python sees is `python/tvix/`.
//!
//! The doc comments of classes and methods are their docstrings in Python, so they are written for that.
#![allow(clippy::doc_markdown, clippy::doc_link_with_quotes)]

use pyo3::pymodule;

mod asyncio;
mod command;
mod convert;
mod embed;
mod error;
mod memory;
mod profile;
mod project;
mod repr;
mod search;
mod session;
mod slice;
#[cfg(feature = "testing")]
mod testing;
mod tools;
mod tvix;
mod wiki;

/// Holds what `tvix` is made of; import that.
#[pymodule(gil_used = true)]
mod _tvix {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::run;
    #[pymodule_export]
    use crate::embed::Embedder;
    #[pymodule_export]
    use crate::memory::{Added, Memory, MemoryPage, MemoryPages, MemoryRecord};
    #[pymodule_export]
    use crate::profile::{Profile, ProfileFile};
    #[pymodule_export]
    use crate::project::{Moved, ProjectSummary, Projects};
    #[pymodule_export]
    use crate::search::{Answer, Hit, Related};
    #[cfg(feature = "testing")]
    #[pymodule_export]
    use crate::testing::{rust_adds, rust_answers, rust_searches, seed};
    #[pymodule_export]
    use crate::tools::{Reply, tools};
    #[pymodule_export]
    use crate::tvix::{Tvix, open};
    #[pymodule_export]
    use crate::wiki::{DocumentAdded, DocumentUpdated, Wiki, WikiPage, WikiPages, WikiRecord};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
