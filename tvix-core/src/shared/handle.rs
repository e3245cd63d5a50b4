//! The handle's traits: each call is one operation of the socket.

use async_trait::async_trait;
use serde_json::Value;

use super::{
    Handle, Role,
    frame::Context,
    operation::{Change, Import, Move, Pass, Recent as Slice},
};
use crate::{
    Error, ErrorReport, Memory, Project, Result, Search, Tvix, Wiki,
    admin::{Admin, BackupFile, BackupPage, Imported, Record, RecordPage, Reindexed, Report},
    memory::{Added, MemoryRecord, NewMemory},
    project::{Moved, ProjectSummary},
    search::{Answer, PassageHit, Query, Recent},
    storage::{Filter, Page, Seq},
    tools::{self, CallContext, Reply, Service, ServiceError, ToolDefinition},
    types::{Id, ProjectName, ProjectSlug},
    wiki::{DocumentAdded, DocumentEdit, DocumentUpdated, NewDocument, WikiRecord},
};

/// How many memories travel in one frame: of the longest, in the widest characters, so many fit.
const MEMORIES_A_FRAME: usize = 64;

impl Handle {
    fn context(&self) -> Context {
        Context { source: self.source.clone(), toolsets: Vec::new(), project: None }
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        op: &str,
        args: impl serde::Serialize,
    ) -> Result<T> {
        self.perform(op, None, args, self.context()).await
    }

    /// The store, if this process owns it: large calls need not become JSON and back then.
    fn own(&self) -> Option<Tvix> {
        match &*self.role() {
            Role::Owner(owner) => Some(owner.tvix().speaking_for(self.source.clone(), None)),
            Role::Client(_) | Role::Closed => None,
        }
    }
}

#[async_trait]
impl Memory for Handle {
    async fn add(&self, memory: NewMemory) -> Result<Added> {
        self.ask("memory.add", memory).await
    }

    async fn add_many(&self, memories: Vec<NewMemory>) -> Result<Vec<Result<Added>>> {
        if let Some(tvix) = self.own() {
            return tvix.memory().add_many(memories).await;
        }
        let mut results = Vec::with_capacity(memories.len());
        for part in memories.chunks(MEMORIES_A_FRAME) {
            let answered: Vec<Result<Added, ErrorReport>> =
                self.ask("memory.add_many", part).await?;
            results.extend(answered.into_iter().map(|result| result.map_err(Error::from)));
        }
        Ok(results)
    }

    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<MemoryRecord>> {
        self.ask("memory.recent", Slice { filter: filter.clone(), page }).await
    }

    async fn get(&self, id: Id) -> Result<MemoryRecord> {
        self.ask("memory.get", id).await
    }

    async fn move_to(&self, id: Id, project: Option<ProjectSlug>) -> Result<MemoryRecord> {
        self.ask("memory.move_to", Change { id, to: project }).await
    }

    async fn delete(&self, id: Id) -> Result<MemoryRecord> {
        self.ask("memory.delete", id).await
    }
}

#[async_trait]
impl Wiki for Handle {
    async fn add(&self, document: NewDocument) -> Result<DocumentAdded> {
        self.ask("wiki.add", document).await
    }

    async fn update(&self, id: Id, edit: DocumentEdit) -> Result<DocumentUpdated> {
        self.ask("wiki.update", Change { id, to: edit }).await
    }

    async fn delete(&self, id: Id) -> Result<WikiRecord> {
        self.ask("wiki.delete", id).await
    }

    async fn get(&self, id: Id) -> Result<WikiRecord> {
        self.ask("wiki.get", id).await
    }

    async fn recent(&self, filter: &Filter, page: Page) -> Result<Recent<WikiRecord>> {
        self.ask("wiki.recent", Slice { filter: filter.clone(), page }).await
    }
}

#[async_trait]
impl Project for Handle {
    async fn memory_projects(&self) -> Result<Vec<ProjectSummary>> {
        self.ask("project.memory_projects", ()).await
    }

    async fn wiki_projects(&self) -> Result<Vec<ProjectSummary>> {
        self.ask("project.wiki_projects", ()).await
    }

    async fn move_memories(&self, from: &ProjectSlug, to: &ProjectSlug) -> Result<Moved> {
        self.ask("project.move_memories", Move { from, to }).await
    }

    async fn move_documents(&self, from: &ProjectName, to: &ProjectName) -> Result<Moved> {
        self.ask("project.move_documents", Move { from, to }).await
    }
}

#[async_trait]
impl Search for Handle {
    async fn search(&self, query: &Query) -> Result<Answer> {
        match self.own() {
            Some(tvix) => Search::search(&tvix, query).await,
            None => self.ask("search.search", query).await,
        }
    }

    async fn passages(&self, query: &Query) -> Result<Vec<PassageHit>> {
        match self.own() {
            Some(tvix) => tvix.passages(query).await,
            None => self.ask("search.passages", query).await,
        }
    }
}

#[async_trait]
impl Admin for Handle {
    async fn records(&self, after: Seq, limit: usize) -> Result<RecordPage> {
        self.ask("admin.records", Pass { after, limit }).await
    }

    async fn import(&self, records: Vec<Record>, dry_run: bool) -> Result<Vec<Imported>> {
        self.ask("admin.import", Import { records, dry_run }).await
    }

    async fn doctor(&self, repair: bool) -> Result<Report> {
        self.ask("admin.doctor", repair).await
    }

    async fn reindex(&self) -> Result<Reindexed> {
        self.ask("admin.reindex", ()).await
    }

    async fn backup_files(&self) -> Result<Vec<BackupFile>> {
        self.ask("admin.backup_files", ()).await
    }

    async fn backup_page(&self, after: Seq, limit: usize) -> Result<BackupPage> {
        self.ask("admin.backup_page", Pass { after, limit }).await
    }
}

#[async_trait]
impl Service for Handle {
    async fn tools(&self, context: &CallContext) -> Result<Vec<ToolDefinition>> {
        self.perform("tools", None, Value::Null, context.into()).await
    }

    async fn call(
        &self,
        context: &CallContext,
        name: &str,
        arguments: Value,
    ) -> Result<Reply, ServiceError> {
        tools::require_tool(context, name)?;
        if let Role::Owner(owner) = &*self.role() {
            return owner.tvix().call(context, name, arguments).await;
        }
        Ok(self.perform("call", Some(name), arguments, context.into()).await?)
    }

    async fn read_resource(
        &self,
        context: &CallContext,
        uri: &str,
    ) -> Result<String, ServiceError> {
        tools::require_resource(context, uri)?;
        Ok(self.perform("read", Some(uri), Value::Null, context.into()).await?)
    }
}
