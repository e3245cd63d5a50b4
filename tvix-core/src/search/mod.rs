//! Hybrid search over any backend.

pub mod analyze;
