//! The operations of the socket, by name.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::frame::Call;
use crate::{
    Error, ErrorReport, Result, Search, Tvix,
    admin::Record,
    memory::NewMemory,
    search::Query,
    storage::{Filter, Page, Seq},
    tools::{self, CallContext, Service, ServiceError},
    types::{Id, ProjectName, ProjectSlug},
    wiki::{DocumentEdit, NewDocument},
};

/// A slice of a list by time.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Recent {
    pub(super) filter: Filter,
    pub(super) page: Page,
}

/// One record, and what to do with it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Change<T> {
    pub(super) id: Id,
    pub(super) to: T,
}

/// From one project to another.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Move<T> {
    pub(super) from: T,
    pub(super) to: T,
}

/// A page of a pass over the log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pass {
    pub(super) after: Seq,
    pub(super) limit: usize,
}

/// Records to be stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Import<T> {
    pub(super) records: T,
    pub(super) dry_run: bool,
}

fn read<T: DeserializeOwned>(args: Value) -> Result<T> {
    serde_json::from_value(args).map_err(|error| Error::invalid("args", error))
}

fn written(answer: impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).map_err(|error| Error::backend("writing an answer", error))
}

/// Performs `call` on the store of this process. The call's identifier makes its write land once.
pub(super) async fn perform(tvix: &Tvix, call: Call) -> Result<Value> {
    let tvix = tvix.speaking_for(call.ctx.source.clone(), Some(call.id));
    match call.op.split_once('.') {
        None => service(&tvix, call).await,
        Some(("memory", _)) => memory(&tvix, call).await,
        Some(("wiki", _)) => wiki(&tvix, call).await,
        Some(("project", _)) => project(&tvix, call).await,
        Some(("search", _)) => search(&tvix, call).await,
        Some(("admin", _)) => admin(&tvix, call).await,
        Some(_) => Err(unknown(&call)),
    }
}

async fn service(tvix: &Tvix, call: Call) -> Result<Value> {
    let context = CallContext {
        source: call.ctx.source.clone(),
        toolsets: call.ctx.toolsets.clone(),
        default_project: call.ctx.project.clone(),
        request: Some(call.id),
    };
    let name = call.name.as_deref().unwrap_or_default();
    match call.op.as_str() {
        "call" => written(tvix.call(&context, name, call.args).await.map_err(failed)?),
        "tools" => written(tvix.tools(&context).await?),
        "read" => written(tvix.read_resource(&context, name).await.map_err(failed)?),
        "prompt" => written(tools::prompt(&context, name).map_err(failed)?),
        _ => Err(unknown(&call)),
    }
}

async fn memory(tvix: &Tvix, call: Call) -> Result<Value> {
    let memories = tvix.memory();
    match call.op.as_str() {
        "memory.add" => written(memories.add(read(call.args)?).await?),
        "memory.add_many" => {
            let results = memories.add_many(read::<Vec<NewMemory>>(call.args)?).await?;
            let results = results.into_iter().map(|result| result.map_err(|error| error.report()));
            written(results.collect::<Vec<Result<_, ErrorReport>>>())
        }
        "memory.recent" => {
            let Recent { filter, page } = read(call.args)?;
            written(memories.recent(&filter, page).await?)
        }
        "memory.get" => written(memories.get(read(call.args)?).await?),
        "memory.move_to" => {
            let Change { id, to } = read::<Change<Option<ProjectSlug>>>(call.args)?;
            written(memories.move_to(id, to).await?)
        }
        "memory.delete" => written(memories.delete(read(call.args)?).await?),
        _ => Err(unknown(&call)),
    }
}

async fn wiki(tvix: &Tvix, call: Call) -> Result<Value> {
    let documents = tvix.wiki();
    match call.op.as_str() {
        "wiki.add" => written(documents.add(read::<NewDocument>(call.args)?).await?),
        "wiki.update" => {
            let Change { id, to } = read::<Change<DocumentEdit>>(call.args)?;
            written(documents.update(id, to).await?)
        }
        "wiki.delete" => written(documents.delete(read(call.args)?).await?),
        "wiki.get" => written(documents.get(read(call.args)?).await?),
        "wiki.recent" => {
            let Recent { filter, page } = read(call.args)?;
            written(documents.recent(&filter, page).await?)
        }
        _ => Err(unknown(&call)),
    }
}

async fn project(tvix: &Tvix, call: Call) -> Result<Value> {
    let projects = tvix.projects();
    match call.op.as_str() {
        "project.memory_projects" => written(projects.memory_projects().await?),
        "project.wiki_projects" => written(projects.wiki_projects().await?),
        "project.move_memories" => {
            let Move { from, to } = read::<Move<ProjectSlug>>(call.args)?;
            written(projects.move_memories(&from, &to).await?)
        }
        "project.move_documents" => {
            let Move { from, to } = read::<Move<ProjectName>>(call.args)?;
            written(projects.move_documents(&from, &to).await?)
        }
        _ => Err(unknown(&call)),
    }
}

async fn search(tvix: &Tvix, call: Call) -> Result<Value> {
    match call.op.as_str() {
        "search.search" => written(Search::search(tvix, &read::<Query>(call.args)?).await?),
        "search.passages" => written(tvix.passages(&read(call.args)?).await?),
        _ => Err(unknown(&call)),
    }
}

async fn admin(tvix: &Tvix, call: Call) -> Result<Value> {
    let admin = tvix.admin();
    match call.op.as_str() {
        "admin.records" => {
            let Pass { after, limit } = read(call.args)?;
            written(admin.records(after, limit).await?)
        }
        "admin.import" => {
            let Import { records, dry_run } = read::<Import<Vec<Record>>>(call.args)?;
            written(admin.import(records, dry_run).await?)
        }
        "admin.doctor" => written(admin.doctor(read(call.args)?).await?),
        "admin.reindex" => written(admin.reindex().await?),
        "admin.backup_files" => written(admin.backup_files().await?),
        "admin.backup_page" => {
            let Pass { after, limit } = read(call.args)?;
            written(admin.backup_page(after, limit).await?)
        }
        _ => Err(unknown(&call)),
    }
}

fn unknown(call: &Call) -> Error {
    Error::invalid("op", format_args!("got {:?}, which this version does not know", call.op))
}

/// Unknown tools, resources and prompts are told apart before a call is sent.
fn failed(error: ServiceError) -> Error {
    match error {
        ServiceError::Failed(error) => error,
        other => Error::invalid("name", other),
    }
}
