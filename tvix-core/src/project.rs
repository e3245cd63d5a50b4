//! Projects: how memories and wiki documents are grouped.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, Tvix,
    storage::{Facet, FacetCount, Filter, Kind, Page, ScopeFilter},
    types::{Patch, ProjectName, ProjectSlug},
    wiki::DocumentEdit,
};

/// How many records a move takes in hand at a time.
const MOVE_STEP: usize = 200;

/// Lists and merges projects. A project exists as long as something is filed under it.
#[async_trait]
pub trait Project: Send + Sync {
    /// The projects of memories, the last changed first.
    async fn memory_projects(&self) -> Result<Vec<ProjectSummary>>;

    /// The Projects of the wiki, the last changed first; without Basic.
    async fn wiki_projects(&self) -> Result<Vec<ProjectSummary>>;

    /// Files all memories of `from` under `to`. A memory whose text `to` already holds stays.
    ///
    /// # Errors
    /// [`Error::NotFound`] when nothing is filed under `from`.
    async fn move_memories(&self, from: &ProjectSlug, to: &ProjectSlug) -> Result<Moved>;

    /// Files all documents of the Project `from` under `to`.
    ///
    /// # Errors
    /// [`Error::NotFound`] when nothing is filed under `from`.
    async fn move_documents(&self, from: &ProjectName, to: &ProjectName) -> Result<Moved>;
}

/// A project and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectSummary {
    /// Its slug or display name.
    pub name: String,
    /// How many records are filed under it.
    pub count: u64,
}

/// The answer to a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// How many records were moved.
    pub moved: usize,
    /// How many stayed because the target already holds the same text.
    pub kept: usize,
}

impl From<FacetCount> for ProjectSummary {
    fn from(facet: FacetCount) -> Self {
        Self { name: facet.name, count: facet.count }
    }
}

impl Tvix {
    /// A move writes many times; repeating it is harmless, so its call is not recorded.
    fn without_request(&self) -> Self {
        self.speaking_for(self.source().clone(), None)
    }

    async fn summaries(&self, kind: Kind) -> Result<Vec<ProjectSummary>> {
        let facets = self.store().facets(kind, Facet::Scope).await?;
        Ok(facets.into_iter().map(ProjectSummary::from).collect())
    }
}

fn only(key: &str) -> Filter {
    Filter { scope: ScopeFilter::Only(key.to_owned()), ..Filter::default() }
}

#[async_trait]
impl Project for Tvix {
    async fn memory_projects(&self) -> Result<Vec<ProjectSummary>> {
        self.summaries(Kind::Memory).await
    }

    async fn wiki_projects(&self) -> Result<Vec<ProjectSummary>> {
        self.summaries(Kind::Wiki).await
    }

    async fn move_memories(&self, from: &ProjectSlug, to: &ProjectSlug) -> Result<Moved> {
        let (filter, mover) = (only(from.as_str()), self.without_request());
        let mut done = Moved { moved: 0, kept: 0 };
        if from == to {
            return Ok(done);
        }
        loop {
            let page = Page { offset: done.kept, limit: MOVE_STEP };
            let found = self.store().scan(Kind::Memory, &filter, page).await?;
            if found.is_empty() && done.moved + done.kept == 0 {
                return Err(Error::not_found("project", from.as_str()));
            } else if found.is_empty() {
                return Ok(done);
            }
            for document in found {
                match mover.memory().move_to(document.key.id, Some(to.clone())).await {
                    Ok(_) => done.moved += 1,
                    Err(Error::Conflict { .. }) => done.kept += 1,
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    async fn move_documents(&self, from: &ProjectName, to: &ProjectName) -> Result<Moved> {
        let scope = from.scope().ok_or_else(|| Error::not_found("Project", from.as_str()))?;
        let (filter, mover) = (only(&scope.key), self.without_request());
        let mut done = Moved { moved: 0, kept: 0 };
        if to.scope().is_some_and(|target| target.key == scope.key) {
            return Ok(done);
        }
        loop {
            let found = self.store().scan(Kind::Wiki, &filter, Page::first(MOVE_STEP)).await?;
            if found.is_empty() && done.moved == 0 {
                return Err(Error::not_found("Project", from.as_str()));
            } else if found.is_empty() {
                return Ok(done);
            }
            for document in found {
                let edit =
                    DocumentEdit { project: Patch::Set(to.clone()), ..DocumentEdit::default() };
                match mover.wiki().update(document.key.id, edit).await {
                    Ok(_) => done.moved += 1,
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
