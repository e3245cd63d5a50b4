//! Memory and Wiki for AI agents: storage-agnostic traits, search, and the tools agents call.
//!
//! # Reading order
//!
//! 1. `types`: texts, identifiers, times and names; every limit stands there once.
//! 2. `memory`, `wiki`, `project`, `search`: the traits that an agent's calls end in, with their one
//!    implementation.
//! 3. `tvix`: the handle, and the order in which a write happens.
//! 4. `storage`: the two traits that a backend implements, and the backends of this crate.
//! 5. `tools`: what an agent is offered, free of any transport; `mcp` puts it on MCP.
//! 6. `shared`: one data folder, many processes. `admin`, `import`: the care of a store.
//!
//! One memory flows through five files: `mcp.rs`, `tools/memory.rs`, `memory.rs`, `tvix.rs` and the
//! store.
//!
//! # Two rules
//!
//! Documents are the truth, all else is derived: indexes may be deleted at any time and come back from
//! the change log. An index is a cursor over that log: indexing, recovery after a crash and a full
//! rebuild are one loop.
#![deny(unsafe_code)]

pub mod admin;
#[cfg(feature = "local")]
pub mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod embed;
mod error;
mod files;
#[cfg(feature = "local")]
mod folder;
#[cfg(feature = "local")]
mod format;
pub mod import;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod memory;
#[cfg(feature = "local")]
mod migrate;
pub mod profile;
pub mod project;
mod rebuild;
pub mod search;
mod secrets;
pub mod settings;
#[cfg(feature = "shared")]
pub mod shared;
pub mod storage;
pub mod tools;
mod tvix;
pub mod types;
pub mod wiki;

pub use admin::Admin;
pub use error::{Error, ErrorKind, ErrorReport, Result};
pub use memory::Memory;
pub use project::Project;
pub use search::Search;
pub use settings::Settings;
pub use tvix::{Builder, Tvix};
pub use wiki::Wiki;
