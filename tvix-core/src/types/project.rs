//! Names of projects: slugs for memories, display names for the wiki. The two never meet.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::{case_folded, one_line};
use crate::{Error, Result, storage::Scope};

/// The home of wiki documents without a Project. It cannot be created.
pub const BASIC: &str = "Basic";

fn refuse(field: &str, length: usize, max: usize) -> Error {
    Error::invalid(field, format_args!("got {length} characters, send 1-{max}"))
}

/// The project of a memory: a slug of 1-60 characters.
///
/// Trimmed, NFC, lower case, runs of white space become `-`; the same function runs on write and on
/// search, so "Acme Rewrite" and `acme-rewrite` are one project.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectSlug(String);

impl ProjectSlug {
    /// The greatest length, in characters.
    pub const MAX: usize = 60;

    /// The slug of `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `project` when the slug is empty or too long.
    pub fn new(name: &str) -> Result<Self> {
        let words: Vec<String> = one_line(name)
            .split_whitespace()
            .map(|word| word.nfc().collect::<String>().to_lowercase())
            .collect();
        let slug = words.join("-");
        let length = slug.chars().count();
        if !(1..=Self::MAX).contains(&length) {
            return Err(refuse("project", length, Self::MAX));
        }
        Ok(Self(slug))
    }

    /// The slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The scope of the documents of this project.
    pub fn scope(&self) -> Scope {
        Scope { key: self.0.clone(), name: self.0.clone() }
    }
}

impl TryFrom<String> for ProjectSlug {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(&name)
    }
}

impl From<ProjectSlug> for String {
    fn from(slug: ProjectSlug) -> Self {
        slug.0
    }
}

/// The Project of a wiki document: a display name of 1-200 characters, trimmed, NFC. Two names that
/// differ only in case are one Project; the spelling of its first document is the one shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ProjectName(String);

impl ProjectName {
    /// The greatest length, in characters.
    pub const MAX: usize = 200;

    /// Checks `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `project` when it is blank or too long.
    pub fn new(name: &str) -> Result<Self> {
        let name: String = one_line(name).trim().nfc().collect();
        let length = name.chars().count();
        if !(1..=Self::MAX).contains(&length) {
            return Err(refuse("project", length, Self::MAX));
        }
        Ok(Self(name))
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this names the home of documents without a Project, in any case.
    pub fn is_basic(&self) -> bool {
        self.key() == BASIC.to_lowercase()
    }

    /// The scope of the documents of this Project; `None` for [`BASIC`].
    pub fn scope(&self) -> Option<Scope> {
        (!self.is_basic()).then(|| Scope { key: self.key(), name: self.0.clone() })
    }

    fn key(&self) -> String {
        case_folded(&self.0)
    }
}

impl TryFrom<String> for ProjectName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::new(&name)
    }
}

impl From<ProjectName> for String {
    fn from(name: ProjectName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_project_meet_in_one_slug() {
        for name in ["Acme Rewrite", "acme-rewrite", "  ACME \t REWRITE ", "acme-Rewrite"] {
            assert_eq!(
                ProjectSlug::new(name).map(String::from).ok().as_deref(),
                Some("acme-rewrite")
            );
        }
        let (composed, decomposed) =
            (ProjectSlug::new("caf\u{e9}"), ProjectSlug::new("cafe\u{301}"));
        assert_eq!(composed.ok(), decomposed.ok());
    }

    #[test]
    fn slugs_are_1_to_60_characters() {
        assert!(ProjectSlug::new(&"é".repeat(60)).is_ok());
        for name in [String::new(), "  ".into(), "é".repeat(61)] {
            let error = ProjectSlug::new(&name).expect_err(&name);
            assert!(error.to_string().contains("send 1-60"), "{error}");
        }
    }

    #[test]
    fn names_of_the_wiki_differ_in_more_than_case() {
        let scope = |name: &str| ProjectName::new(name).ok().and_then(|name| name.scope());
        assert_eq!(scope("Field Notes").map(|s| s.key), scope(" field notes").map(|s| s.key));
        assert_eq!(scope("Field Notes").map(|s| s.name).as_deref(), Some("Field Notes"));
        assert_eq!(scope("BASIC"), None);
    }
}
