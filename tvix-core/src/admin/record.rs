//! A record as it leaves and enters a store: one line of an export.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    memory::MemoryRecord,
    storage::{Document, Kind, Seq},
    types::{EventTime, Id, Metadata, Source, Timestamp},
    wiki::WikiRecord,
};

/// The version of the export's form.
pub const EXPORT_VERSION: u32 = 1;

/// The first line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportHead {
    /// [`EXPORT_VERSION`].
    pub tvix_export: u32,
    /// When it was made.
    pub at: Timestamp,
}

/// A memory or wiki document outside of a store. What an export writes has all that applies to its
/// kind; for a record of another program `kind` and `content` (and `title` for the wiki) are enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Memory or wiki document.
    pub kind: Kind,
    /// Its identifier; absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Its project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The title of a wiki document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text.
    pub content: String,
    /// Where it comes from; absent: the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// When it was stored first; absent: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_at: Option<Timestamp>,
    /// When the content of a memory happened, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_time: Option<EventTime>,
    /// When a wiki document was last edited; absent: when it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Free-form fields.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A slice of all records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPage {
    /// The records.
    pub records: Vec<Record>,
    /// Where the next page begins; absent: this was the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
    /// How many records there are in all.
    pub total: u64,
}

impl Record {
    /// A record of `kind` with `content` and nothing else.
    pub fn new(kind: Kind, content: impl Into<String>) -> Self {
        Self {
            kind,
            id: None,
            project: None,
            title: None,
            content: content.into(),
            source: None,
            captured_at: None,
            event_time: None,
            updated_at: None,
            metadata: Metadata::default(),
        }
    }

    /// The record that `document` holds.
    ///
    /// # Errors
    /// [`Error::Corrupt`](crate::Error::Corrupt) when its fields are not those of its kind.
    pub fn from_document(document: Document) -> Result<Self> {
        Ok(match document.key.kind {
            Kind::Memory => MemoryRecord::from_document(document)?.into(),
            Kind::Wiki => WikiRecord::from_document(document).into(),
        })
    }
}

impl From<MemoryRecord> for Record {
    fn from(memory: MemoryRecord) -> Self {
        Self {
            id: Some(memory.id),
            project: memory.project,
            source: Some(memory.source),
            captured_at: Some(memory.captured_at),
            event_time: memory.event_time,
            metadata: memory.metadata,
            ..Self::new(Kind::Memory, memory.content)
        }
    }
}

impl From<WikiRecord> for Record {
    fn from(document: WikiRecord) -> Self {
        Self {
            id: Some(document.id),
            project: document.project,
            title: Some(document.title),
            source: Some(document.source),
            captured_at: Some(document.created_at),
            updated_at: Some(document.updated_at),
            metadata: document.metadata,
            ..Self::new(Kind::Wiki, document.content)
        }
    }
}
