//! Memory: personal context that an agent keeps about its user.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Error, Result, Tvix,
    search::{Notice, Recent},
    secrets,
    storage::{
        Condition, DocKey, Document, Filter, Fingerprint, Kind, Operation, Page, Scope, Written,
    },
    tvix::{Committed, read_receipt},
    types::{EventTime, Id, MemoryText, Metadata, ProjectSlug, Source, Timestamp, same_text_form},
};

/// How many memories [`Memory::add_many`] writes in one transaction.
const BULK: usize = 256;
/// How often an addition is tried again when its twin vanished in between.
const ADD_ATTEMPTS: usize = 4;

/// Adds and manages memories.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Stores a memory. On return it survives a power cut and the next search finds it.
    ///
    /// The same text (ignoring case and white space) in the same project is not stored again: the
    /// answer is then [`AddStatus::Duplicate`] with the first one's record.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for text that holds a credential (see
    /// [`Settings::secrets`](crate::Settings::secrets)), is blank without its private spans, or for
    /// an `event_time` in the metadata that is no date. Nothing is stored then.
    async fn add(&self, memory: NewMemory) -> Result<Added>;

    /// Stores many memories with few syncs: for importers. One result for each, in order.
    ///
    /// # Errors
    /// The outer error is a failure of the store; what came before it may be stored.
    async fn add_many(&self, memories: Vec<NewMemory>) -> Result<Vec<Result<Added>>>;

    /// Memories that pass `filter`, the most recent first: by event time where there is one, else by
    /// the time they were captured. An event still to come counts by when it was captured, or a
    /// planned trip would stay on top for a year.
    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<MemoryRecord>>;

    /// The memory `id`.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    async fn get(&self, id: Id) -> Result<MemoryRecord>;

    /// Moves the memory `id` to another project, or out of any.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none; [`Error::Conflict`] when the project already holds
    /// the same text.
    async fn move_to(&self, id: Id, project: Option<ProjectSlug>) -> Result<MemoryRecord>;

    /// Removes the memory `id` for good and returns what it was.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    async fn delete(&self, id: Id) -> Result<MemoryRecord>;
}

/// A memory to be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewMemory {
    /// What to remember.
    pub content: MemoryText,
    /// The project to file it under.
    pub project: Option<ProjectSlug>,
    /// Free-form fields. A date or date and time in `event_time` says when it happened.
    pub metadata: Metadata,
    /// Where it comes from; `None`: the source the handle speaks for.
    pub source: Option<Source>,
}

impl NewMemory {
    /// A memory of `content`, in no project.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when it is blank or longer than 50,000 characters.
    pub fn new(content: impl Into<String>) -> Result<Self> {
        let content = MemoryText::new(content)?;
        Ok(Self { content, project: None, metadata: Metadata::default(), source: None })
    }

    /// Files it under the project `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the slug of `name` is empty or longer than 60 characters.
    pub fn in_project(mut self, name: &str) -> Result<Self> {
        self.project = Some(ProjectSlug::new(name)?);
        Ok(self)
    }

    /// Says when it happened: a date, or a date and time, as `metadata.event_time` does. It is read
    /// when the memory is stored, since one without offset is in the user's time zone.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the metadata says another time, or has no room left.
    pub fn happened(mut self, event_time: &str) -> Result<Self> {
        let mut fields = self.metadata.into_fields();
        let before = fields.insert("event_time".to_owned(), event_time.into());
        if before.is_some_and(|before| before != event_time) {
            let reason = "got one here and another in metadata.event_time, send one of them";
            return Err(Error::invalid("event_time", reason));
        }
        self.metadata = Metadata::new(fields)?;
        Ok(self)
    }
}

/// A stored memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryRecord {
    /// Its identifier.
    pub id: Id,
    /// What was remembered.
    pub content: String,
    /// Its project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// When it was stored.
    pub captured_at: Timestamp,
    /// When it happened, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_time: Option<EventTime>,
    /// Free-form fields.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Whether [`Memory::add`] stored something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddStatus {
    /// The memory is new.
    Stored,
    /// The same text was there before; nothing new was stored.
    Duplicate,
}

/// The answer to [`Memory::add`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Whether something was stored.
    pub status: AddStatus,
    /// The memory; for a duplicate, the first one.
    pub memory: MemoryRecord,
    /// What else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

#[derive(Serialize, Deserialize)]
struct Attributes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_time: Option<EventTime>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
}

impl MemoryRecord {
    /// The envelope a backend stores.
    pub fn into_document(self) -> Document {
        let scope = self.project.map(|slug| Scope { key: slug.clone(), name: slug });
        let time = self.event_time.unwrap_or(EventTime::At(self.captured_at));
        let attributes = Attributes { event_time: self.event_time, metadata: self.metadata };
        let attrs = match serde_json::to_value(attributes) {
            Ok(Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let fingerprint = fingerprint(scope.as_ref(), &self.content);
        Document {
            key: DocKey::new(Kind::Memory, self.id),
            scope,
            source: self.source,
            title: String::new(),
            text: self.content,
            tags: Vec::new(),
            refs: Vec::new(),
            time,
            created_at: self.captured_at,
            attrs,
            fingerprint,
            seq: crate::storage::Seq::ZERO,
        }
    }

    /// The memory inside `document`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when its fields are not those of a memory.
    pub fn from_document(document: Document) -> Result<Self> {
        let id = document.key.id;
        let attributes: Attributes = serde_json::from_value(Value::Object(document.attrs))
            .map_err(|error| Error::corrupt(format!("memory {id}"), error))?;
        Ok(Self {
            id,
            content: document.text,
            project: document.scope.map(|scope| scope.name),
            source: document.source,
            captured_at: document.created_at,
            event_time: attributes.event_time,
            metadata: attributes.metadata,
        })
    }
}

/// Equal for memories of one project that say the same.
fn fingerprint(scope: Option<&Scope>, content: &str) -> Fingerprint {
    let project = scope.map_or("", |scope| scope.key.as_str());
    Fingerprint::of(&["memory", project, &same_text_form(content)])
}

fn put_new(document: Document) -> Operation {
    Operation::Put { document: Box::new(document), conditions: vec![Condition::NoTwin] }
}

impl Tvix {
    /// Takes secrets and private spans out and dates the memory: what is left is ready to store.
    pub(crate) fn prepare(&self, memory: NewMemory) -> Result<(MemoryRecord, Vec<Notice>)> {
        let NewMemory { content, project, metadata, source } = memory;
        let policy = self.settings().secrets;
        let mut notices = Vec::new();
        let visible = secrets::without_private(MemoryText::FIELD, content.as_str(), &mut notices)?;
        if let Some(slug) = &project {
            secrets::screen_project(slug.as_str(), policy)?;
        }
        let clean = secrets::screen(MemoryText::FIELD, &visible, policy, &mut notices)?;
        let mut fields = metadata.fields().clone();
        secrets::screen_fields(&mut fields, policy, &mut notices)?;
        let event_time = self.event_time(fields.get("event_time"))?;
        let record = MemoryRecord {
            id: Id::new(),
            content: MemoryText::new(clean)?.into_string(),
            project: project.map(String::from),
            source: source.unwrap_or_else(|| self.source().clone()),
            captured_at: self.clock().now(),
            event_time,
            metadata: Metadata::new(fields)?,
        };
        Ok((record, notices))
    }

    fn event_time(&self, value: Option<&Value>) -> Result<Option<EventTime>> {
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => {
                EventTime::parse("metadata.event_time", text, &self.zone()?).map(Some)
            }
            Some(other) => {
                let reason = format!("got {other}, send an ISO 8601 date or date and time as text");
                Err(Error::invalid("metadata.event_time", reason))
            }
        }
    }

    async fn twin(&self, existing: Option<DocKey>) -> Result<Option<MemoryRecord>> {
        let Some(key) = existing else { return Ok(None) };
        self.document(key).await?.map(MemoryRecord::from_document).transpose()
    }

    async fn add_once(&self, record: &MemoryRecord, notices: &[Notice]) -> Result<Option<Added>> {
        let mut added =
            Added { status: AddStatus::Stored, memory: record.clone(), notices: notices.to_vec() };
        let operations = vec![put_new(record.clone().into_document())];
        let Committed { written, notice } = self.commit(operations, &added).await?;
        added.notices.extend(notice);
        match written {
            Written::Done { .. } => Ok(Some(added)),
            Written::Repeated { receipt } => read_receipt(&receipt).map(Some),
            Written::Refused { existing, .. } => {
                let twin = self.twin(existing).await?;
                Ok(twin.map(|memory| Added { status: AddStatus::Duplicate, memory, ..added }))
            }
        }
    }

    /// Writes one group; those whose text is there already come back as duplicates.
    async fn add_group(&self, group: &mut [Result<Added>]) -> Result<()> {
        loop {
            let new: Vec<usize> = (0..group.len()).filter(|&at| is_new(&group[at])).collect();
            let records = new.iter().filter_map(|&at| record_of(&group[at]));
            let operations = records.map(|record| put_new(record.into_document())).collect();
            let Committed { written, .. } = self.commit(operations, &()).await?;
            let Written::Refused { operation, existing, .. } = written else { return Ok(()) };
            let at = new[operation];
            let twin = self.twin(existing).await?.or_else(|| twin_in_group(group, existing));
            if let (Ok(added), Some(twin)) = (&mut group[at], twin) {
                *added = Added { status: AddStatus::Duplicate, memory: twin, notices: Vec::new() };
            }
        }
    }
}

fn is_new(entry: &Result<Added>) -> bool {
    matches!(entry, Ok(added) if added.status == AddStatus::Stored)
}

fn record_of(entry: &Result<Added>) -> Option<MemoryRecord> {
    entry.as_ref().ok().map(|added| added.memory.clone())
}

fn twin_in_group(group: &[Result<Added>], key: Option<DocKey>) -> Option<MemoryRecord> {
    let id = key?.id;
    group.iter().filter_map(record_of).find(|record| record.id == id)
}

#[async_trait]
impl Memory for Tvix {
    async fn add(&self, memory: NewMemory) -> Result<Added> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        let (record, notices) = self.prepare(memory)?;
        for _ in 0..ADD_ATTEMPTS {
            if let Some(added) = self.add_once(&record, &notices).await? {
                return Ok(added);
            }
        }
        Err(Error::conflict("the same text keeps coming and going; try again"))
    }

    async fn add_many(&self, memories: Vec<NewMemory>) -> Result<Vec<Result<Added>>> {
        let prepared = memories.into_iter().map(|memory| {
            self.prepare(memory).map(|(memory, notices)| Added {
                status: AddStatus::Stored,
                memory,
                notices,
            })
        });
        let mut results: Vec<Result<Added>> = prepared.collect();
        for group in results.chunks_mut(BULK) {
            self.add_group(group).await?;
        }
        Ok(results)
    }

    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<MemoryRecord>> {
        self.recent_documents(Kind::Memory, filter, page).await?.map(MemoryRecord::from_document)
    }

    async fn get(&self, id: Id) -> Result<MemoryRecord> {
        MemoryRecord::from_document(self.require(DocKey::new(Kind::Memory, id)).await?)
    }

    async fn move_to(&self, id: Id, project: Option<ProjectSlug>) -> Result<MemoryRecord> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        let (committed, record) = self
            .edit(DocKey::new(Kind::Memory, id), |document| {
                let seq = document.seq;
                let mut record = MemoryRecord::from_document(document)?;
                record.project = project.clone().map(String::from);
                let document = Box::new(record.clone().into_document());
                let conditions = vec![Condition::Unchanged(seq), Condition::NoTwin];
                Ok((vec![Operation::Put { document, conditions }], record))
            })
            .await?;
        match committed.written {
            Written::Done { .. } => Ok(record),
            Written::Repeated { receipt } => read_receipt(&receipt),
            Written::Refused { existing, .. } => {
                let twin = existing.map_or_else(String::new, |key| format!(" as {}", key.id));
                Err(Error::conflict(format_args!("that project already holds the same text{twin}")))
            }
        }
    }

    async fn delete(&self, id: Id) -> Result<MemoryRecord> {
        let document = self.delete_document(DocKey::new(Kind::Memory, id)).await?;
        MemoryRecord::from_document(document)
    }
}
