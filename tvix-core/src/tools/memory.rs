//! `add_memory` and `search_memory`.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Arguments, CallContext, Reply, Tool, Toolset,
    definition::{Hints, Param, ParamKind, Spec},
    reply::{Entry, Listing, shown},
};
use crate::{
    Result, Tvix,
    memory::{AddStatus, Added, MemoryRecord, NewMemory},
    search::{Criteria, Hit, Query, Search},
    storage::{Filter, Kind, Page},
    types::{MemoryText, Metadata, ProjectSlug, QueryText},
};

/// Saves personal context.
pub(super) struct AddMemory;

static ADD: Spec = Spec {
    name: "add_memory",
    title: "Save memory",
    toolset: Toolset::Memory,
    hints: Hints::ADD,
    description: "Save personal context about the user to long-term memory: preferences, decisions, \
        habits, goals, constraints, ongoing work. Call it on your own when the user shares something \
        that will matter later. Skip secrets and one-off details.",
    names_projects: true,
    params: &[
        Param::required(
            "content",
            ParamKind::Text { max: Some(MemoryText::MAX) },
            "The memory to store, as a statement that stands alone",
        ),
        Param::optional(
            "project",
            ParamKind::Text { max: Some(ProjectSlug::MAX) },
            "Project slug to file it under. Only when the user names a project, tag or category; never guess",
        ),
        Param::optional(
            "metadata",
            ParamKind::Object {
                hint: ("event_time", "ISO 8601 date or date and time at which it happened"),
            },
            "Leave empty for normal use",
        ),
    ],
    output: || {
        let text = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["stored", "duplicate"]},
                "id": text, "project": text, "source": text, "captured_at": text, "event_time": text,
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["status", "id", "source", "captured_at"],
        })
    },
};

#[async_trait]
impl Tool for AddMemory {
    fn spec(&self) -> &'static Spec {
        &ADD
    }

    async fn run(&self, tvix: &Tvix, context: &CallContext, arguments: Arguments) -> Result<Reply> {
        let named = arguments.text("project").map(ProjectSlug::new).transpose()?;
        let memory = NewMemory {
            content: MemoryText::new(arguments.required("content")?)?,
            project: named.or_else(|| context.default_project.clone()),
            metadata: Metadata::new(arguments.object("metadata"))?,
            source: None,
        };
        tvix.memory().add(memory).await.map(added_reply)
    }
}

fn added_reply(added: Added) -> Reply {
    let MemoryRecord { id, project, source, captured_at, event_time, .. } = added.memory;
    let first_line = match added.status {
        AddStatus::Stored => format!("Saved memory {id}"),
        AddStatus::Duplicate => format!("Duplicate of {id}: nothing new was stored"),
    };
    let mut structured = json!({
        "status": added.status, "id": id, "source": source, "captured_at": captured_at,
    });
    let optional = [("project", json!(project)), ("event_time", json!(event_time))];
    for (key, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
        structured[key] = value;
    }
    Reply::with_notices(first_line, structured, &added.notices)
}

/// Searches memories.
pub(super) struct SearchMemory;

static SEARCH: Spec = Spec {
    name: "search_memory",
    title: "Search memory",
    toolset: Toolset::Memory,
    hints: Hints::READ,
    description: "Search what is remembered about the user from earlier conversations, by meaning and \
        by word. Call it when past context could improve the answer. An empty query lists the most \
        recent memories; an id as the query returns that memory whole.",
    names_projects: true,
    params: &[
        Param::required(
            "query",
            ParamKind::Text { max: Some(QueryText::MAX) },
            "What to look for, in plain words; \"\" for recent memories",
        ),
        Param::optional(
            "limit",
            ParamKind::Integer { min: 1, max: Some(30), default: 20 },
            "Most results to return, 1-30 (default 20)",
        ),
        Param::optional(
            "offset",
            ParamKind::Integer { min: 0, max: None, default: 0 },
            "Results to skip (default 0)",
        ),
        Param::optional(
            "date_from",
            ParamKind::Text { max: None },
            "Earliest date, inclusive: ISO date or date and time",
        ),
        Param::optional(
            "date_to",
            ParamKind::Text { max: None },
            "Latest date, inclusive: ISO date or date and time",
        ),
        Param::optional(
            "timezone",
            ParamKind::Text { max: None },
            "IANA zone for dates without a time, such as America/Los_Angeles (default: the user's)",
        ),
        Param::optional(
            "sources",
            ParamKind::TextList,
            "Only memories from these, such as Claude Code, Cursor, ChatGPT, Slack",
        ),
        Param::optional(
            "project",
            ParamKind::Text { max: Some(ProjectSlug::MAX) },
            "Only this project slug, exact. Only when the user asks for a project",
        ),
    ],
    output: || {
        let text = json!({"type": "string"});
        let related = json!({
            "type": "object",
            "properties": {"id": text, "why": {"type": "string", "enum": ["nearby", "similar"]}, "text": text},
            "required": ["id", "why", "text"],
        });
        let episode = json!({
            "type": "object",
            "properties": {
                "id": text, "content": text, "source": text, "captured_at": text, "project": text,
                "event_time": text,
            },
            "required": ["id", "content", "source", "captured_at"],
        });
        let hit = json!({
            "type": "object",
            "properties": {
                "episode": episode, "score": {"type": "number"}, "truncated": {"type": "boolean"},
                "length": {"type": "integer"}, "related": {"type": "array", "items": related},
            },
            "required": ["episode"],
        });
        json!({
            "type": "object",
            "properties": {
                "results": {"type": "array", "items": hit},
                "has_more": {"type": "boolean"}, "next_offset": {"type": "integer"},
                "notices": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["results", "has_more"],
        })
    },
};

#[async_trait]
impl Tool for SearchMemory {
    fn spec(&self) -> &'static Spec {
        &SEARCH
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, arguments: Arguments) -> Result<Reply> {
        let query = Query {
            kind: Kind::Memory,
            text: QueryText::new(arguments.required("query")?)?,
            filter: filter(tvix, &arguments)?,
            page: Page { offset: arguments.integer("offset"), limit: arguments.integer("limit") },
        };
        let answer = tvix.search(&query).await?;
        let listing = Listing {
            entries: answer.hits.into_iter().map(entry).collect::<Result<_>>()?,
            has_more: answer.has_more,
            whole: answer.by_id,
            offset: Some(query.page.offset),
            notices: answer.notices,
        };
        Ok(listing.reply(tvix.settings().reply_budget))
    }
}

fn filter(tvix: &Tvix, arguments: &Arguments) -> Result<Filter> {
    let text = |name| arguments.text(name).map(str::to_owned);
    let criteria = Criteria {
        project: text("project"),
        sources: arguments.list("sources").to_vec(),
        date_from: text("date_from"),
        date_to: text("date_to"),
        timezone: text("timezone"),
    };
    criteria.filter(Kind::Memory, || tvix.zone())
}

fn entry(hit: Hit) -> Result<Entry> {
    let memory = MemoryRecord::from_document(hit.document)?;
    let mut heading = vec![memory.id.to_string()];
    heading.extend(memory.project.clone());
    heading.push(memory.source.as_str().to_owned());
    let time =
        memory.event_time.map_or_else(|| memory.captured_at.to_string(), |time| time.to_string());
    heading.push(time);
    heading.extend(hit.score.map(shown));
    Ok(Entry {
        heading: heading.join(" · "),
        structured: structured(&memory, hit.score),
        content_in: Some("episode"),
        content: memory.content,
        passage: hit.passage,
        related: hit.related,
    })
}

fn structured(memory: &MemoryRecord, score: Option<f32>) -> Value {
    let mut hit = json!({"episode": episode(memory)});
    if let Some(score) = score {
        hit["score"] = super::reply::rounded(score);
    }
    hit
}

/// A memory as answers and resources show it, without its content.
pub(super) fn episode(memory: &MemoryRecord) -> Value {
    let mut episode = json!({
        "id": memory.id, "source": memory.source, "captured_at": memory.captured_at,
    });
    if let Some(project) = &memory.project {
        episode["project"] = json!(project);
    }
    if let Some(time) = memory.event_time {
        episode["event_time"] = json!(time);
    }
    episode
}
