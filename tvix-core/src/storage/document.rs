//! The one envelope that carries every kind of record to a backend.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{
    Error, Result,
    types::{EventTime, Id, Source, Timestamp},
};

/// The kinds of record. The number is part of every key on disk and never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// A memory.
    Memory = 1,
    /// A wiki document.
    Wiki = 2,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 2] = [Self::Memory, Self::Wiki];

    /// The number on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind that an argument `field` names: `memory` or `wiki`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `field` for another name.
    pub fn named(field: &str, name: &str) -> Result<Self> {
        match name {
            "memory" => Ok(Self::Memory),
            "wiki" => Ok(Self::Wiki),
            _ => {
                let shown: String = name.chars().take(60).collect();
                Err(Error::invalid(field, format_args!("got {shown:?}, send memory or wiki")))
            }
        }
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// Kind and identifier: what a document is stored under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocKey {
    /// The kind.
    pub kind: Kind,
    /// The identifier, unique within the kind.
    pub id: Id,
}

/// Place in the change log. The first change is 1.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// Before every change.
    pub const ZERO: Self = Self(0);
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A project as a backend sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// What filters compare, byte for byte.
    pub key: String,
    /// What people see.
    pub name: String,
}

/// A pointer from one document to another, by identifier or by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// What the target is to this document, such as `parent` or `links_to`.
    pub role: String,
    /// The target's identifier, or its name while no such document exists.
    pub target: String,
}

/// Sixteen bytes that are equal for documents that say the same thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint of `parts`: the first half of the SHA-256 of their lengths and bytes.
    pub fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let mut half = [0; 16];
        half.copy_from_slice(&hash.finalize()[..16]);
        Self(half)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A record of any kind, as a backend stores it. Domain records convert to and from it in their own
/// modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// What it is stored under.
    pub key: DocKey,
    /// The project it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Who wrote it.
    pub source: Source,
    /// Its title; empty for kinds without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its text.
    pub text: String,
    /// Labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Pointers to other documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<Reference>,
    /// The time by which it is listed and filtered.
    pub time: EventTime,
    /// When it was stored first.
    pub created_at: Timestamp,
    /// Fields of its kind.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub attrs: Map<String, Value>,
    /// Equal for documents that say the same thing.
    pub fingerprint: Fingerprint,
    /// Its last change. Set by the store.
    #[serde(default)]
    pub seq: Seq,
}

impl Document {
    /// When what a memory tells happened, if that was said.
    pub fn event_time(&self) -> Option<EventTime> {
        let told = self.time != EventTime::At(self.created_at);
        Some(self.time).filter(|_| told && self.key.kind == Kind::Memory)
    }
}
