//! Storing records that come from an export or another program.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Record;
use crate::{
    Error, ErrorReport, Result, Tvix,
    memory::NewMemory,
    search::Notice,
    storage::{Condition, DocKey, Document, Fingerprint, Kind, Operation, Written},
    tvix::{Committed, read_receipt},
    types::{Id, MemoryText, Metadata, ProjectName, ProjectSlug, Source, Title, WikiText},
    wiki::{self, NewDocument},
};

/// The most records that one call takes.
const RECORDS_MAX: usize = 1_000;

/// What became of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Whether it was stored.
    pub status: ImportStatus,
    /// The identifier under which it is there now; absent when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    /// What else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

/// Whether an imported record was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// It is new, or a later edition of the wiki document with its identifier.
    Stored,
    /// It is there, with the same content.
    Unchanged,
    /// The same text stands in the same project under another identifier; for wiki documents, under
    /// the same title.
    Duplicate,
    /// It breaks a limit or policy, or its identifier belongs to other content that is not older.
    Refused,
}

/// What a call is about to do.
#[derive(Default)]
struct Plan {
    results: Vec<Imported>,
    /// Which result each operation belongs to, and the document it stores.
    puts: Vec<(usize, Document, Vec<Condition>)>,
    by_key: HashMap<DocKey, usize>,
    by_print: HashMap<(Kind, Fingerprint), Vec<usize>>,
    /// How many wiki documents may still be added; `None`: any number.
    room: Option<u64>,
}

impl Imported {
    fn done(status: ImportStatus, id: Id) -> Self {
        Self { status, id: Some(id), error: None, notices: Vec::new() }
    }

    fn refused(error: &Error) -> Self {
        let error = Some(error.report());
        Self { status: ImportStatus::Refused, id: None, error, notices: Vec::new() }
    }
}

impl Plan {
    fn put(&mut self, document: Document, conditions: Vec<Condition>, notices: Vec<Notice>) {
        let at = self.puts.len();
        self.by_key.insert(document.key, at);
        self.by_print.entry((document.key.kind, document.fingerprint)).or_default().push(at);
        self.results
            .push(Imported { notices, ..Imported::done(ImportStatus::Stored, document.key.id) });
        self.puts.push((self.results.len() - 1, document, conditions));
    }

    fn operations(&self) -> Vec<Operation> {
        let puts = self.puts.iter().map(|(_, document, conditions)| Operation::Put {
            document: Box::new(document.clone()),
            conditions: conditions.clone(),
        });
        puts.collect()
    }

    /// Takes the operation out that the store refused: others wrote since it was planned.
    fn withdraw(&mut self, operation: usize, result: Imported) {
        if operation < self.puts.len() {
            let (at, ..) = self.puts.remove(operation);
            self.results[at] = result;
        }
    }
}

impl Tvix {
    pub(super) async fn import_records(
        &self,
        records: Vec<Record>,
        dry_run: bool,
    ) -> Result<Vec<Imported>> {
        if let Some(answer) = self.answered().await? {
            return Ok(answer);
        }
        if records.len() > RECORDS_MAX {
            let reason = format!("got {}, send at most {RECORDS_MAX} at a time", records.len());
            return Err(Error::invalid("records", reason));
        }
        let mut plan = Plan::default();
        if let Some(quota) = self.settings().wiki_quota {
            plan.room = Some(quota.saturating_sub(self.live(Kind::Wiki).await?));
        }
        for record in records {
            self.plan(&mut plan, record).await?;
        }
        if dry_run { Ok(plan.results) } else { self.carry_out(plan).await }
    }

    async fn plan(&self, plan: &mut Plan, record: Record) -> Result<()> {
        let (document, notices) = match self.document_of(record) {
            Ok(prepared) => prepared,
            Err(error) => {
                plan.results.push(Imported::refused(&error));
                return Ok(());
            }
        };
        let planned = plan.by_key.get(&document.key).map(|&at| plan.puts[at].1.clone());
        if let Some(planned) = planned {
            plan.results.push(beside(&planned, &document));
        } else if let Some(present) = self.document(document.key).await? {
            if is_later_edition(&present, &document) {
                plan.put(document, vec![Condition::Unchanged(present.seq)], notices);
            } else {
                plan.results.push(beside(&present, &document));
            }
        } else if let Some(twin) = self.twin_for(plan, &document).await? {
            plan.results.push(Imported::done(ImportStatus::Duplicate, twin));
        } else {
            self.plan_new(plan, document, notices);
        }
        Ok(())
    }

    fn plan_new(&self, plan: &mut Plan, document: Document, notices: Vec<Notice>) {
        let conditions = match document.key.kind {
            Kind::Memory => vec![Condition::NoTwin],
            Kind::Wiki if plan.room == Some(0) => {
                plan.results.push(Imported::refused(&self.quota_exceeded()));
                return;
            }
            Kind::Wiki => {
                plan.room = plan.room.map(|room| room - 1);
                wiki::quota(self.settings())
            }
        };
        plan.put(document, conditions, notices);
    }

    /// A document that says the same in the same place, stored or planned.
    async fn twin_for(&self, plan: &Plan, document: &Document) -> Result<Option<Id>> {
        let place = (document.key.kind, document.fingerprint);
        let planned = plan.by_print.get(&place).into_iter().flatten();
        let mut planned = planned.map(|&at| &plan.puts[at].1);
        if let Some(twin) = planned.find(|other| says_the_same(other, document)) {
            return Ok(Some(twin.key.id));
        }
        let keys = self.store().find(place.0, &place.1).await?;
        let stored = self.store().get(&keys).await?;
        let twin = stored.into_iter().flatten().find(|other| says_the_same(other, document));
        Ok(twin.map(|twin| twin.key.id))
    }

    async fn carry_out(&self, mut plan: Plan) -> Result<Vec<Imported>> {
        loop {
            let Committed { written, notice } =
                self.commit(plan.operations(), &plan.results).await?;
            match written {
                Written::Repeated { receipt } => return read_receipt(&receipt),
                Written::Done { .. } => {
                    if let (Some(notice), Some(last)) = (notice, plan.results.last_mut()) {
                        last.notices.push(notice);
                    }
                    return Ok(plan.results);
                }
                Written::Refused { operation, condition, existing } => {
                    let result = match (condition, existing) {
                        (Condition::NoTwin, Some(twin)) => {
                            Imported::done(ImportStatus::Duplicate, twin.id)
                        }
                        (Condition::FewerThan(_), _) => Imported::refused(&self.quota_exceeded()),
                        _ => Imported::refused(&Error::conflict("it changed meanwhile; try again")),
                    };
                    plan.withdraw(operation, result);
                }
            }
        }
    }

    /// The document that `record` becomes, with what was said while it was prepared.
    fn document_of(&self, record: Record) -> Result<(Document, Vec<Notice>)> {
        let metadata = Metadata::new(record.metadata.into_fields())?;
        let source = record.source.map(|source| Source::named(source.as_str()));
        match record.kind {
            Kind::Memory => {
                let project = record.project.as_deref().map(ProjectSlug::new).transpose()?;
                let content = MemoryText::new(record.content)?;
                let new = NewMemory { content, project, metadata, source };
                let (mut memory, notices) = self.prepare(new)?;
                memory.id = record.id.unwrap_or(memory.id);
                memory.captured_at = record.captured_at.unwrap_or(memory.captured_at);
                memory.event_time = record.event_time.or(memory.event_time);
                Ok((memory.into_document(), notices))
            }
            Kind::Wiki => {
                let project = record.project.as_deref().map(ProjectName::new).transpose()?;
                let title = Title::new(record.title.unwrap_or_default())?;
                let content = WikiText::new(record.content)?;
                let new = NewDocument { title, content, project, metadata };
                let (mut document, notices) = self.prepare_document(&new)?;
                document.id = record.id.unwrap_or(document.id);
                document.source = source.unwrap_or(document.source);
                document.created_at = record.captured_at.unwrap_or(document.created_at);
                document.updated_at = record.updated_at.unwrap_or(document.created_at);
                Ok((document.into_document(), notices))
            }
        }
    }
}

/// The result for `document` when its identifier holds `present`.
fn beside(present: &Document, document: &Document) -> Imported {
    let id = document.key.id;
    if says_the_same(present, document) && present.attrs == document.attrs {
        return Imported::done(ImportStatus::Unchanged, id);
    }
    let reason = format!("{id} is there with other content, which an import does not replace");
    Imported::refused(&Error::conflict(reason))
}

/// Memories of one fingerprint say the same; wiki documents need only share a title for that.
fn says_the_same(one: &Document, other: &Document) -> bool {
    one.fingerprint == other.fingerprint
        && (one.key.kind == Kind::Memory || one.text == other.text && one.title == other.title)
}

/// Only wiki documents can be edited, and say when they were.
fn is_later_edition(present: &Document, document: &Document) -> bool {
    let same = says_the_same(present, document) && present.attrs == document.attrs;
    document.key.kind == Kind::Wiki && !same && document.time.order() > present.time.order()
}
