//! Memory and Wiki for AI agents: storage-agnostic traits, hybrid search, and the tools agents call.
#![forbid(unsafe_code)]

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
