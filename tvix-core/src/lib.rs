//! Memory and Wiki for AI agents: storage-agnostic traits, hybrid search, and the tools agents call.
#![forbid(unsafe_code)]

pub mod embed;
mod error;
pub mod search;
pub mod storage;
pub mod types;

pub use error::{Error, ErrorKind, ErrorReport, Result};
