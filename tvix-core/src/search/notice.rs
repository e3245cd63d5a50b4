//! Things a caller should know beside the answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    storage::{FacetCount, Kind},
    types::{Source, SourceKey},
};

/// How many known names a notice lists.
const KNOWN_SHOWN: usize = 20;
/// How many of the sources asked for it repeats.
const ASKED_SHOWN: usize = 5;

/// Something a caller should know beside the answer. Its `Display` is a sentence for people and
/// models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum Notice {
    /// Only words were compared.
    MeaningNotUsed,
    /// The latest changes are not yet found by meaning.
    MeaningBehind,
    /// The index could not take the latest changes; they may be missing from results.
    IndexBehind,
    /// The index is being rebuilt, and the answer comes from the part that is there.
    IndexRebuilding {
        /// Documents that are in it.
        done: u64,
        /// Documents in all.
        total: u64,
    },
    /// Spans marked private were not stored.
    PrivateRemoved,
    /// A credential was replaced.
    Redacted {
        /// The sort of credential.
        kind: String,
    },
    /// Anything else, in words.
    Other(String),
}

impl Notice {
    pub(crate) fn unknown_project(kind: Kind, asked: &str, known: Vec<FacetCount>) -> Self {
        let noun = if kind == Kind::Wiki { "Project" } else { "project" };
        Self::Other(format!("no {noun} \"{asked}\"; known: {}", names(known)))
    }

    pub(crate) fn unknown_source(asked: &[SourceKey], known: Vec<FacetCount>) -> Self {
        let shown = asked.iter().take(ASKED_SHOWN).map(|key| Source::named(key.as_str()));
        let mut shown: Vec<String> = shown.map(|source| source.as_str().to_owned()).collect();
        if asked.len() > ASKED_SHOWN {
            shown.push(format!("and {} more", asked.len() - ASKED_SHOWN));
        }
        Self::Other(format!("nothing from {}; known sources: {}", shown.join(", "), names(known)))
    }
}

fn names(known: Vec<FacetCount>) -> String {
    let more = known.len().saturating_sub(KNOWN_SHOWN);
    let mut shown: Vec<String> =
        known.into_iter().take(KNOWN_SHOWN).map(|facet| facet.name).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    if shown.is_empty() { "none yet".to_owned() } else { shown.join(", ") }
}

/// Adds `notice` unless it is there: one word about a thing is enough.
pub(crate) fn add(notices: &mut Vec<Notice>, notice: Notice) {
    if !notices.contains(&notice) {
        notices.push(notice);
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MeaningNotUsed => f.write_str("found by word only: meaning was not used"),
            Self::MeaningBehind => f.write_str("the latest changes are found by word only so far"),
            Self::IndexBehind => {
                f.write_str("the search index is behind; the latest changes may be missing")
            }
            Self::IndexRebuilding { done, total } => write!(
                f,
                "the search index is being rebuilt ({done} of {total} documents): results may be \
                 incomplete"
            ),
            Self::PrivateRemoved => f.write_str("what was marked private was not stored"),
            Self::Redacted { kind } => write!(f, "redacted before storing: {kind}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<Notice> for String {
    fn from(notice: Notice) -> Self {
        notice.to_string()
    }
}

impl From<String> for Notice {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}
