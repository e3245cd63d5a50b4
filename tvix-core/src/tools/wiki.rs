//! `add_wiki`, `search_wiki`, `update_wiki` and `delete_wiki`.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Arguments, CallContext, Reply, Tool, Toolset,
    arguments::{Blank, Presence},
    definition::{Hints, Param, ParamKind, Spec},
    reply::{Entry, Listing, rounded, shown},
};
use crate::{
    Error, Result, Tvix,
    search::{Hit, Query, Search},
    storage::{Filter, Kind, Page, ScopeFilter},
    types::{Id, Metadata, Patch, ProjectName, QueryText, Title, WikiText},
    wiki::{DocumentEdit, NewDocument, WikiRecord},
};

const TITLE: ParamKind = ParamKind::Text { max: Some(Title::MAX) };
const CONTENT: ParamKind = ParamKind::Text { max: Some(WikiText::MAX) };
const PROJECT: ParamKind = ParamKind::Text { max: Some(ProjectName::MAX) };
const DOC_ID: Param = Param::required(
    "doc_id",
    ParamKind::Text { max: None },
    "Id of the document (a UUID), from search_wiki",
);

/// Adds a reference document.
pub(super) struct AddWiki;

static ADD: Spec = Spec {
    name: "add_wiki",
    title: "Add wiki document",
    toolset: Toolset::Wiki,
    hints: Hints::ADD,
    description: "Add a document to the user's wiki: factual, reference-style knowledge such as \
        documentation, specs, reports and stable notes. Personal preferences belong in add_memory. \
        Tell the user the destination that the answer names.",
    names_projects: false,
    params: &[
        Param::required("title", TITLE, "Title of the document"),
        Param::required(
            "content",
            CONTENT,
            "The complete Markdown. Preserve reports, analyses, tables and examples unless the user asks for a summary",
        ),
        Param::optional(
            "project",
            PROJECT,
            "Project to file it under; made on first use. Leave empty when the user names none: it then goes to Basic",
        ),
    ],
    output: || {
        let text = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["created"]},
                "doc_id": text, "title": text, "project": text, "destination": text,
                "same_title": {"type": "array", "items": text},
                "notices": {"type": "array", "items": text},
            },
            "required": ["status", "doc_id", "title", "project", "destination"],
        })
    },
};

#[async_trait]
impl Tool for AddWiki {
    fn spec(&self) -> &'static Spec {
        &ADD
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, arguments: Arguments) -> Result<Reply> {
        let document = NewDocument {
            title: Title::new(arguments.required("title")?)?,
            content: WikiText::new(arguments.required("content")?)?,
            project: arguments.text("project").map(ProjectName::new).transpose()?,
            metadata: Metadata::default(),
        };
        let added = tvix.wiki().add(document).await?;
        let destination = added.document.destination();
        let mut text = format!("Saved to {destination}\ndoc_id: {}", added.document.id);
        let mut structured = place("created", &added.document, &destination);
        if !added.same_title.is_empty() {
            let ids: Vec<String> = added.same_title.iter().map(Id::to_string).collect();
            text.extend(["\nThe same title is already there: ", &ids.join(", ")]);
            structured["same_title"] = json!(ids);
        }
        Ok(Reply::with_notices(text, structured, &added.notices))
    }
}

fn place(status: &str, document: &WikiRecord, destination: &str) -> Value {
    json!({
        "status": status, "doc_id": document.id, "title": document.title,
        "project": document.project_name(), "destination": destination,
    })
}

/// Searches the wiki.
pub(super) struct SearchWiki;

static SEARCH: Spec = Spec {
    name: "search_wiki",
    title: "Search wiki",
    toolset: Toolset::Wiki,
    hints: Hints::READ,
    description: "Search the user's wiki documents by keyword and by meaning; results carry full \
        bodies as far as the answer has room. Call it when reference knowledge would improve the \
        answer. An empty query lists recent documents; an id as the query returns that document whole.",
    names_projects: false,
    params: &[
        Param::required(
            "query",
            ParamKind::Text { max: Some(QueryText::MAX) },
            "What to look for, in plain words; \"\" for recent documents",
        ),
        Param::optional(
            "limit",
            ParamKind::Integer { min: 1, max: Some(20), default: 10 },
            "Most results to return, 1-20 (default 10)",
        ),
        Param::optional(
            "project",
            PROJECT,
            "Only this Project, by name; \"Basic\" for documents without one",
        ),
        Param::optional("collection", PROJECT, "Older name of project; prefer project"),
    ],
    output: || {
        let text = json!({"type": "string"});
        let hit = json!({
            "type": "object",
            "properties": {
                "doc_id": text, "title": text, "content": text, "project": text, "created_at": text,
                "updated_at": text, "score": {"type": "number"}, "truncated": {"type": "boolean"},
                "length": {"type": "integer"},
            },
            "required": ["doc_id", "title", "content", "project", "created_at", "updated_at"],
        });
        json!({
            "type": "object",
            "properties": {
                "results": {"type": "array", "items": hit},
                "has_more": {"type": "boolean"},
                "notices": {"type": "array", "items": text},
            },
            "required": ["results", "has_more"],
        })
    },
};

#[async_trait]
impl Tool for SearchWiki {
    fn spec(&self) -> &'static Spec {
        &SEARCH
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, arguments: Arguments) -> Result<Reply> {
        let query = Query {
            kind: Kind::Wiki,
            text: QueryText::new(arguments.required("query")?)?,
            filter: Filter { scope: scope(&arguments)?, ..Filter::default() },
            page: Page::first(arguments.integer("limit")),
        };
        let answer = tvix.search(&query).await?;
        let listing = Listing {
            entries: answer.hits.into_iter().map(entry).collect(),
            has_more: answer.has_more,
            whole: answer.by_id,
            offset: None,
            notices: answer.notices,
        };
        Ok(listing.reply(tvix.settings().reply_budget))
    }
}

/// The Project asked for by `project` or its older name.
fn scope(arguments: &Arguments) -> Result<ScopeFilter> {
    Ok(match destination(arguments)? {
        Patch::Keep | Patch::Clear => ScopeFilter::Any,
        Patch::Set(name) => {
            name.scope().map_or(ScopeFilter::Unscoped, |s| ScopeFilter::Only(s.key))
        }
    })
}

/// What `project` and `collection` say together. Clients that fill every optional with `null` must
/// not move documents, so one of them empty counts only while the other is absent.
fn destination(arguments: &Arguments) -> Result<Patch<ProjectName>> {
    let given = [arguments.presence("project"), arguments.presence("collection")];
    let name = |name: &str| ProjectName::new(name);
    Ok(match given {
        [Presence::Text(a), Presence::Text(b)] => {
            let (first, second) = (name(a)?, name(b)?);
            if first.as_str().to_lowercase() != second.as_str().to_lowercase() {
                let reason =
                    format!("got {a:?} and collection {b:?}; they are one thing, send one of them");
                return Err(Error::invalid("project", reason));
            }
            Patch::Set(first)
        }
        [Presence::Text(one), _] | [_, Presence::Text(one)] => Patch::Set(name(one)?),
        [Presence::Blank(Blank::Null | Blank::EmptyText), Presence::Absent]
        | [Presence::Absent, Presence::Blank(Blank::Null | Blank::EmptyText)] => Patch::Clear,
        _ => Patch::Keep,
    })
}

fn entry(hit: Hit) -> Entry {
    let document = WikiRecord::from_document(hit.document);
    let mut heading = vec![
        document.id.to_string(),
        document.title.clone(),
        document.destination(),
        document.updated_at.to_string(),
    ];
    let mut structured = json!({
        "doc_id": document.id, "title": document.title, "project": document.project_name(),
        "created_at": document.created_at, "updated_at": document.updated_at,
    });
    if let Some(score) = hit.score {
        heading.push(shown(score));
        structured["score"] = rounded(score);
    }
    Entry {
        heading: heading.join(" · "),
        structured,
        content_in: None,
        content: document.content,
        passage: hit.passage,
        related: Vec::new(),
    }
}

/// Edits a document.
pub(super) struct UpdateWiki;

static UPDATE: Spec = Spec {
    name: "update_wiki",
    title: "Update wiki document",
    toolset: Toolset::Wiki,
    hints: Hints::OVERWRITE,
    description: "Edit a wiki document: replace its title or its whole content, or move it to another \
        Project. Find its id with search_wiki first. Tell the user the destination that the answer \
        names.",
    names_projects: false,
    params: &[
        DOC_ID,
        Param::optional("title", TITLE, "New title"),
        Param::optional(
            "content",
            CONTENT,
            "Complete new Markdown, in place of the old; preserve what should stay",
        ),
        Param::optional(
            "project",
            PROJECT,
            "Project to move it to; made on first use. Empty or null moves it to Basic",
        ),
        Param::optional("collection", PROJECT, "Older name of project; prefer project"),
    ],
    output: || {
        let text = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["updated", "unchanged"]},
                "doc_id": text, "title": text, "project": text, "destination": text,
                "notices": {"type": "array", "items": text},
            },
            "required": ["status", "doc_id", "title", "project", "destination"],
        })
    },
};

#[async_trait]
impl Tool for UpdateWiki {
    fn spec(&self) -> &'static Spec {
        &UPDATE
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, arguments: Arguments) -> Result<Reply> {
        let id = Id::parse("doc_id", arguments.required("doc_id")?)?;
        let edit = DocumentEdit {
            title: arguments.text("title").map(Title::new).transpose()?,
            content: arguments.text("content").map(WikiText::new).transpose()?,
            project: destination(&arguments)?,
        };
        let updated = tvix.wiki().update(id, edit).await?;
        let standing = updated.document.destination();
        let (verb, status) = match (updated.moved, updated.changed) {
            (true, _) => ("Moved to ", "updated"),
            (false, true) => ("Current destination: ", "updated"),
            (false, false) => ("Current destination: ", "unchanged"),
        };
        let structured = place(status, &updated.document, &standing);
        Ok(Reply::with_notices(format!("{verb}{standing}"), structured, &updated.notices))
    }
}

/// Removes a document.
pub(super) struct DeleteWiki;

static DELETE: Spec = Spec {
    name: "delete_wiki",
    title: "Delete wiki document",
    toolset: Toolset::Wiki,
    hints: Hints::OVERWRITE,
    description: "Delete a wiki document for good. It cannot be undone: ask the user first. Find its id \
        with search_wiki.",
    names_projects: false,
    params: &[DOC_ID],
    output: || {
        let text = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {"status": {"type": "string", "enum": ["deleted"]}, "doc_id": text, "title": text},
            "required": ["status", "doc_id", "title"],
        })
    },
};

#[async_trait]
impl Tool for DeleteWiki {
    fn spec(&self) -> &'static Spec {
        &DELETE
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, arguments: Arguments) -> Result<Reply> {
        let id = Id::parse("doc_id", arguments.required("doc_id")?)?;
        let WikiRecord { title, .. } = tvix.wiki().delete(id).await?;
        Ok(Reply {
            text: format!("Deleted \"{title}\" ({id})"),
            structured: json!({"status": "deleted", "doc_id": id, "title": title}),
        })
    }
}
