//! Text to terms, queries to weighted terms and phrases.

/// An analysed query.
#[derive(Debug, Clone, Default)]
pub struct TextQuery {}
