//! Wiki: reference documents in Markdown.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Error, Result, Tvix,
    search::{Notice, Recent},
    secrets,
    storage::{
        Condition, DocKey, Document, Filter, Fingerprint, Kind, Operation, Page, Scope, Seq,
        Written,
    },
    tvix::{Committed, read_receipt},
    types::{
        BASIC, EventTime, Id, Metadata, Patch, ProjectName, Source, Timestamp, Title, WikiText,
        same_text_form,
    },
};

/// How many documents of the same title an answer names.
const SAME_TITLE_MAX: usize = 10;

/// The attribute that holds a document's free-form fields.
const METADATA: &str = "metadata";

/// Adds and edits wiki documents.
#[async_trait]
pub trait Wiki: Send + Sync {
    /// Stores a document. Without a Project it goes to Basic; nothing is guessed. A title that is
    /// already there in the same Project is no error: both are kept and the answer names the others.
    ///
    /// # Errors
    /// [`Error::QuotaExceeded`] at the configured number of documents; [`Error::InvalidInput`] for
    /// text that holds a credential. Nothing is stored then.
    async fn add(&self, document: NewDocument) -> Result<DocumentAdded>;

    /// Changes what `edit` names and keeps the rest; an edit that changes nothing writes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown id; [`Error::InvalidInput`] for text that holds a
    /// credential.
    async fn update(&self, id: Id, edit: DocumentEdit) -> Result<DocumentUpdated>;

    /// Removes the document `id` for good and returns what it was.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    async fn delete(&self, id: Id) -> Result<WikiRecord>;

    /// The document `id`.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    async fn get(&self, id: Id) -> Result<WikiRecord>;

    /// Documents that pass `filter`, the last edited first.
    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<WikiRecord>>;
}

/// A wiki document to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDocument {
    /// Its title.
    pub title: Title,
    /// Its Markdown.
    pub content: WikiText,
    /// Its Project; `None`: Basic.
    pub project: Option<ProjectName>,
    /// Free-form fields.
    pub metadata: Metadata,
}

impl NewDocument {
    /// A document in Basic.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when title or content are blank or too long.
    pub fn new(title: impl Into<String>, content: impl Into<String>) -> Result<Self> {
        let (title, content) = (Title::new(title)?, WikiText::new(content)?);
        Ok(Self { title, content, project: None, metadata: Metadata::default() })
    }

    /// Files it under the Project `name`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when `name` is blank or longer than 200 characters.
    pub fn in_project(mut self, name: &str) -> Result<Self> {
        self.project = Some(ProjectName::new(name)?);
        Ok(self)
    }
}

/// What an edit changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentEdit {
    /// The new title.
    pub title: Option<Title>,
    /// The new Markdown, whole.
    pub content: Option<WikiText>,
    /// The new Project; [`Patch::Clear`] moves it to Basic.
    pub project: Patch<ProjectName>,
}

/// A stored wiki document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WikiRecord {
    /// Its identifier.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// Its Markdown.
    pub content: String,
    /// Its Project; `None`: Basic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Who stored it.
    pub source: Source,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When it was last edited.
    pub updated_at: Timestamp,
    /// Free-form fields.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The answer to [`Wiki::add`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentAdded {
    /// The document.
    pub document: WikiRecord,
    /// Other documents of the same title in the same Project, at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_title: Vec<Id>,
    /// What else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

/// The answer to [`Wiki::update`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentUpdated {
    /// The document as it is now.
    pub document: WikiRecord,
    /// Whether anything was different.
    pub changed: bool,
    /// Whether it stands in another Project than before.
    pub moved: bool,
    /// What else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

impl WikiRecord {
    /// The name of its Project, or Basic.
    pub fn project_name(&self) -> &str {
        self.project.as_deref().unwrap_or(BASIC)
    }

    /// Where it stands, in words: `Project: Docs` or `Basic`.
    pub fn destination(&self) -> String {
        self.project.as_ref().map_or_else(|| BASIC.to_owned(), |name| format!("Project: {name}"))
    }

    /// The envelope a backend stores.
    pub fn into_document(self) -> Document {
        let named = self.project.as_deref().and_then(|name| ProjectName::new(name).ok());
        let scope = named.and_then(|name| name.scope());
        Document {
            key: DocKey::new(Kind::Wiki, self.id),
            fingerprint: fingerprint(scope.as_ref(), &self.title),
            scope,
            source: self.source,
            title: self.title,
            text: self.content,
            tags: Vec::new(),
            refs: Vec::new(),
            time: EventTime::At(self.updated_at),
            created_at: self.created_at,
            attrs: attributes(self.metadata),
            seq: Seq::ZERO,
        }
    }

    /// The wiki document inside `document`.
    pub fn from_document(mut document: Document) -> Self {
        let metadata = match document.attrs.remove(METADATA) {
            Some(Value::Object(fields)) => Metadata::new(fields).unwrap_or_default(),
            _ => Metadata::default(),
        };
        Self {
            id: document.key.id,
            title: document.title,
            content: document.text,
            project: document.scope.map(|scope| scope.name),
            source: document.source,
            created_at: document.created_at,
            updated_at: document.time.order(),
            metadata,
        }
    }
}

/// Documents without metadata, as all are that an agent stores, have no attributes at all.
fn attributes(metadata: Metadata) -> Map<String, Value> {
    let fields = metadata.into_fields();
    let kept = (!fields.is_empty()).then(|| (METADATA.to_owned(), Value::Object(fields)));
    kept.into_iter().collect()
}

/// Equal for documents of one Project with the same title.
fn fingerprint(scope: Option<&Scope>, title: &str) -> Fingerprint {
    let project = scope.map_or("", |scope| scope.key.as_str());
    Fingerprint::of(&["wiki", project, &same_text_form(title)])
}

impl Tvix {
    fn screened_title(&self, title: &Title, notices: &mut Vec<Notice>) -> Result<Title> {
        Title::new(self.screened(Title::FIELD, title.as_str(), notices)?)
    }

    fn screened_text(&self, text: &WikiText, notices: &mut Vec<Notice>) -> Result<WikiText> {
        WikiText::new(self.screened(WikiText::FIELD, text.as_str(), notices)?)
    }

    fn screened(&self, field: &str, text: &str, notices: &mut Vec<Notice>) -> Result<String> {
        let visible = secrets::without_private(field, text, notices)?;
        Ok(secrets::screen(field, &visible, self.settings().secrets, notices)?.into_owned())
    }

    /// Takes secrets and private spans out and dates the document: what is left is ready to store.
    pub(crate) fn prepare_document(
        &self,
        document: &NewDocument,
    ) -> Result<(WikiRecord, Vec<Notice>)> {
        let (mut notices, now) = (Vec::new(), self.clock().now());
        if let Some(name) = &document.project {
            secrets::screen_project(name.as_str(), self.settings().secrets)?;
        }
        let mut fields = document.metadata.fields().clone();
        secrets::screen_fields(&mut fields, self.settings().secrets, &mut notices)?;
        let record = WikiRecord {
            id: Id::new(),
            title: self.screened_title(&document.title, &mut notices)?.into_string(),
            content: self.screened_text(&document.content, &mut notices)?.into_string(),
            project: document.project.clone().map(String::from),
            source: self.source().clone(),
            created_at: now,
            updated_at: now,
            metadata: Metadata::new(fields)?,
        };
        Ok((record, notices))
    }

    async fn same_title(&self, key: DocKey, fingerprint: &Fingerprint) -> Result<Vec<Id>> {
        let found = self.store().find(Kind::Wiki, fingerprint).await?;
        let others = found.into_iter().map(|found| found.id).filter(|id| *id != key.id);
        Ok(others.take(SAME_TITLE_MAX).collect())
    }

    /// The record of `document` as stored, with its Project in the spelling that is kept.
    async fn stored(&self, key: DocKey) -> Result<WikiRecord> {
        Ok(WikiRecord::from_document(self.require(key).await?))
    }
}

pub(crate) fn quota(settings: &crate::Settings) -> Vec<Condition> {
    settings.wiki_quota.map(Condition::FewerThan).into_iter().collect()
}

#[async_trait]
impl Wiki for Tvix {
    async fn add(&self, document: NewDocument) -> Result<DocumentAdded> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        let (record, notices) = self.prepare_document(&document)?;
        let document = record.clone().into_document();
        let mut added = DocumentAdded { document: record, same_title: Vec::new(), notices };
        let (key, fingerprint) = (document.key, document.fingerprint);
        let put =
            Operation::Put { document: Box::new(document), conditions: quota(self.settings()) };
        let Committed { written, notice } = self.commit(vec![put], &added).await?;
        match written {
            Written::Repeated { receipt } => return read_receipt(&receipt),
            Written::Refused { .. } => return Err(self.quota_exceeded()),
            Written::Done { .. } => added.notices.extend(notice),
        }
        // Looked up after the write, so that of two additions at the same time at least one is told.
        added.same_title = self.same_title(key, &fingerprint).await?;
        added.document = self.stored(key).await?;
        Ok(added)
    }

    async fn update(&self, id: Id, edit: DocumentEdit) -> Result<DocumentUpdated> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        let mut notices = Vec::new();
        if let Patch::Set(name) = &edit.project {
            secrets::screen_project(name.as_str(), self.settings().secrets)?;
        }
        let edit = DocumentEdit {
            title: edit.title.map(|title| self.screened_title(&title, &mut notices)).transpose()?,
            content: edit
                .content
                .map(|text| self.screened_text(&text, &mut notices))
                .transpose()?,
            project: edit.project,
        };
        let key = DocKey::new(Kind::Wiki, id);
        let apply = |document| Ok(self.edited(document, &edit, notices.clone()));
        let (Committed { written, notice }, mut updated) = self.edit(key, apply).await?;
        if let Written::Repeated { receipt } = written {
            return read_receipt(&receipt);
        }
        updated.notices.extend(notice);
        if updated.moved {
            updated.document = self.stored(key).await?;
        }
        Ok(updated)
    }

    async fn delete(&self, id: Id) -> Result<WikiRecord> {
        let document = self.delete_document(DocKey::new(Kind::Wiki, id)).await?;
        Ok(WikiRecord::from_document(document))
    }

    async fn get(&self, id: Id) -> Result<WikiRecord> {
        self.stored(DocKey::new(Kind::Wiki, id)).await
    }

    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<WikiRecord>> {
        let documents = self.recent_documents(Kind::Wiki, filter, page).await?;
        documents.map(|document| Ok(WikiRecord::from_document(document)))
    }
}

impl Tvix {
    fn edited(
        &self,
        document: Document,
        edit: &DocumentEdit,
        notices: Vec<Notice>,
    ) -> (Vec<Operation>, DocumentUpdated) {
        let (seq, scope) = (document.seq, document.scope.clone());
        let before = WikiRecord::from_document(document);
        let mut after = before.clone();
        if let Some(title) = &edit.title {
            title.as_str().clone_into(&mut after.title);
        }
        if let Some(content) = &edit.content {
            content.as_str().clone_into(&mut after.content);
        }
        let target = edit.project.scope(scope.as_ref());
        let moved =
            target.as_ref().map(|scope| &scope.key) != scope.as_ref().map(|scope| &scope.key);
        if moved {
            after.project = target.map(|scope| scope.name);
        }
        let changed = after != before;
        if changed {
            after.updated_at = self.clock().now();
        }
        let operations = changed.then(|| Operation::Put {
            document: Box::new(after.clone().into_document()),
            conditions: vec![Condition::Unchanged(seq)],
        });
        let updated = DocumentUpdated { document: after, changed, moved, notices };
        (operations.into_iter().collect(), updated)
    }

    pub(crate) fn quota_exceeded(&self) -> Error {
        let limit = self.settings().wiki_quota.unwrap_or_default();
        let advice = "delete a document or raise wiki_quota in config.toml";
        Error::QuotaExceeded {
            reason: format!("the wiki holds its limit of {limit} documents; {advice}"),
        }
    }
}

impl Patch<ProjectName> {
    /// The scope after this edit of a document that stands in `current`.
    fn scope(&self, current: Option<&Scope>) -> Option<Scope> {
        match self {
            Self::Keep => current.cloned(),
            Self::Clear => None,
            Self::Set(name) => name.scope(),
        }
    }
}
