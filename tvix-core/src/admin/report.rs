//! What a check found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The answer to [`Admin::doctor`](super::Admin::doctor).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The version of the library that checked.
    pub version: String,
    /// How many memories are stored.
    pub memories: u64,
    /// How many wiki documents are stored.
    pub wiki_documents: u64,
    /// What was found, part by part; at least one finding for each part that was checked.
    pub findings: Vec<Finding>,
}

/// What was found about one part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The part.
    pub part: Part,
    /// How bad it is.
    pub severity: Severity,
    /// What is so, in words.
    pub what: String,
    /// What would mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// What came of the remedy, if it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired: Option<bool>,
}

/// A part of a data folder or of the store in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// The folder itself: who may read it, who has it open.
    Folder,
    /// The lock on the folder: which process owns it.
    Lock,
    /// The socket by which processes share the folder.
    Socket,
    /// The file system under it.
    FileSystem,
    /// `format.toml`.
    Format,
    /// `config.toml`.
    Config,
    /// `profile.toml`.
    Profile,
    /// The documents, their lists and their change log.
    Store,
    /// The text index.
    TextIndex,
    /// The vectors.
    Vectors,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing; it needs no care.
    Note,
    /// It works, and may not always.
    Warning,
    /// Something is wrong.
    Problem,
}

/// What mends a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// A repair does this.
    Automatic(String),
    /// A person has to do this.
    ByHand(String),
}

impl Report {
    /// The worst of all findings, without those that were repaired.
    pub fn worst(&self) -> Severity {
        let open = self.findings.iter().filter(|finding| finding.repaired != Some(true));
        open.map(|finding| finding.severity).max().unwrap_or(Severity::Good)
    }

    /// Whether nothing needs care.
    pub fn is_healthy(&self) -> bool {
        self.worst() <= Severity::Note
    }
}

impl Finding {
    /// A finding without a remedy.
    pub(crate) fn new(part: Part, severity: Severity, what: impl Into<String>) -> Self {
        Self { part, severity, what: what.into(), remedy: None, repaired: None }
    }

    pub(crate) fn good(part: Part, what: impl Into<String>) -> Self {
        Self::new(part, Severity::Good, what)
    }

    pub(crate) fn problem(part: Part, what: impl Into<String>) -> Self {
        Self::new(part, Severity::Problem, what)
    }

    /// Says what a repair does about it.
    pub(crate) fn mended_by(mut self, remedy: &str) -> Self {
        self.remedy = Some(Remedy::Automatic(remedy.to_owned()));
        self
    }

    /// Says what a person has to do about it.
    pub(crate) fn by_hand(mut self, remedy: &str) -> Self {
        self.remedy = Some(Remedy::ByHand(remedy.to_owned()));
        self
    }

    /// Notes what came of the remedy.
    pub(crate) fn tried(mut self, outcome: Result<(), impl fmt::Display>) -> Self {
        self.repaired = Some(outcome.is_ok());
        if let Err(error) = outcome {
            self.what.extend(["; the repair failed: ", &error.to_string()]);
        }
        self
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "folder",
            Self::Lock => "lock",
            Self::Socket => "socket",
            Self::FileSystem => "file system",
            Self::Format => "format",
            Self::Config => "config.toml",
            Self::Profile => "profile.toml",
            Self::Store => "store",
            Self::TextIndex => "text index",
            Self::Vectors => "vectors",
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.part, self.severity, self.what)?;
        match (&self.remedy, self.repaired) {
            (_, Some(true)) => f.write_str("; repaired"),
            (Some(Remedy::Automatic(remedy)), None) => write!(f, "; --repair {remedy}"),
            (Some(Remedy::ByHand(remedy)), None) => write!(f, "; {remedy}"),
            _ => Ok(()),
        }
    }
}
