//! The commands for a person: thin calls of the traits that agents use too.

use std::collections::BTreeSet;

use serde_json::json;
use tvix_core::{
    Result,
    memory::MemoryRecord,
    profile::{Profile as UserProfile, ProfileSource},
    project::{Moved, ProjectSummary},
    shared::Handle,
    storage::{Filter, Page, ScopeFilter},
    types::{Id, ProjectName, ProjectSlug},
    wiki::WikiRecord,
};

use crate::{
    args::{Args, Command, Memory, Profile, Project, Wiki},
    care, demo,
    output::{self, Output},
};

/// How much of a record its line in a list shows, in characters.
const LINE: usize = 80;

pub(crate) async fn run(command: &Command, args: &Args, output: &Output) -> Result<()> {
    match command {
        Command::Demo => demo::run(output).await,
        Command::Version => version(output),
        Command::Profile(command) => profile(command, &args.profile()?, output),
        Command::Doctor { repair } => care::doctor(*repair, args, output).await,
        Command::Restore { file } => care::restore(file, args, output).await,
        Command::Import { kind, path, dry_run } => {
            // What cannot be read makes no folder.
            let items = kind.open(path)?;
            let (handle, _) = args.open().await?;
            let done = care::import(items, *dry_run, handle.admin(), output).await;
            handle.close().await;
            done
        }
        _ => {
            let (handle, _) = args.open().await?;
            let done = on_folder(command, &handle, output).await;
            handle.close().await;
            done
        }
    }
}

async fn on_folder(command: &Command, tvix: &Handle, output: &Output) -> Result<()> {
    match command {
        Command::Project(command) => project(command, tvix, output).await,
        Command::Memory(command) => memory(command, tvix, output).await,
        Command::Wiki(command) => wiki(command, tvix, output).await,
        Command::Reindex => care::reindex(tvix.admin(), output).await,
        Command::Backup { file } => care::backup(file, tvix.admin(), output).await,
        Command::Export { file } => care::export(file.as_deref(), tvix.admin(), output).await,
        Command::Demo
        | Command::Version
        | Command::Profile(_)
        | Command::Doctor { .. }
        | Command::Restore { .. }
        | Command::Import { .. } => Ok(()),
    }
}

fn version(output: &Output) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    output.print(&json!({"version": version}), &format!("tvix-mcp-stdio {version}"))
}

fn profile(command: &Profile, source: &ProfileSource, output: &Output) -> Result<()> {
    let profile = match command {
        Profile::Show => source.read()?,
        Profile::Set { key, value } => source.set(key, value)?,
    };
    output.print(&profile, &profile_text(&profile))
}

fn profile_text(profile: &UserProfile) -> String {
    let interests = profile.interests.join(", ");
    let values = [
        &profile.display_name,
        &profile.role,
        &interests,
        &profile.instructions,
        &profile.timezone,
    ];
    let lines = UserProfile::KEYS.iter().zip(values).map(|(key, value)| format!("{key}: {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

async fn project(command: &Project, tvix: &Handle, output: &Output) -> Result<()> {
    match command {
        Project::List => list_projects(tvix, output).await,
        Project::Move { from, to, wiki: false } => {
            let moved = tvix
                .projects()
                .move_memories(&ProjectSlug::new(from)?, &ProjectSlug::new(to)?)
                .await?;
            output.print(&moved, &moved_text(moved))
        }
        Project::Move { from, to, wiki: true } => {
            let moved = tvix
                .projects()
                .move_documents(&ProjectName::new(from)?, &ProjectName::new(to)?)
                .await?;
            output.print(&moved, &moved_text(moved))
        }
    }
}

async fn list_projects(tvix: &Handle, output: &Output) -> Result<()> {
    let (memory, wiki) =
        (tvix.projects().memory_projects().await?, tvix.projects().wiki_projects().await?);
    let lines = |title: &str, projects: &[ProjectSummary]| {
        let lines =
            projects.iter().map(|project| format!("\n  {} ({})", project.name, project.count));
        format!(
            "{title}:{}",
            if projects.is_empty() { " none".to_owned() } else { lines.collect() }
        )
    };
    let text = format!("{}\n{}", lines("memory", &memory), lines("wiki", &wiki));
    output.print(&json!({"memory": memory, "wiki": wiki}), &text)
}

fn moved_text(moved: Moved) -> String {
    let Moved { moved, kept } = moved;
    match kept {
        0 => format!("moved {moved}"),
        _ => format!("moved {moved}; {kept} stayed, the target holds the same text"),
    }
}

async fn memory(command: &Memory, tvix: &Handle, output: &Output) -> Result<()> {
    match command {
        Memory::List { project, part } => {
            let slug = project.as_deref().map(ProjectSlug::new).transpose()?;
            let scope = slug.map_or(ScopeFilter::Any, |slug| ScopeFilter::Only(slug.into()));
            let filter = Filter { scope, ..Filter::default() };
            let page = part.page();
            let recent = tvix.memory().recent(&filter, page).await?;
            let lines: Vec<String> = recent.records.iter().map(memory_line).collect();
            let value = json!({"memories": recent.records, "has_more": recent.has_more});
            output.print(&value, &list_text(&lines, recent.has_more, page))
        }
        Memory::Show { id } => {
            let record = tvix.memory().get(Id::parse("id", id)?).await?;
            output.print(&record, &format!("{}\n\n{}", memory_facts(&record), record.content))
        }
        Memory::Move { id, slug } => {
            let record =
                tvix.memory().move_to(Id::parse("id", id)?, Some(ProjectSlug::new(slug)?)).await?;
            output.print(
                &record,
                &format!(
                    "moved {} to {}",
                    record.id,
                    record.project.as_deref().unwrap_or_default()
                ),
            )
        }
        Memory::Delete { ids, yes } => delete_memories(ids, *yes, tvix, output).await,
    }
}

/// Makes sure of all records before the first is removed.
async fn delete_memories(ids: &[String], yes: bool, tvix: &Handle, output: &Output) -> Result<()> {
    let ids = parse_ids(ids)?;
    for id in &ids {
        let record = tvix.memory().get(*id).await?;
        if !yes {
            output::hint(&memory_line(&record));
        }
    }
    let what = count(ids.len(), "memory", "memories");
    if !yes {
        output::confirm(&format!("Delete {what} for good?"))?;
    }
    for id in &ids {
        tvix.memory().delete(*id).await?;
    }
    output.print(&json!({"deleted": ids}), &format!("deleted {what}"))
}

/// All ids are read before the first record is touched; one that is named twice is one.
fn parse_ids(ids: &[String]) -> Result<BTreeSet<Id>> {
    ids.iter().map(|id| Id::parse("id", id)).collect()
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

async fn wiki(command: &Wiki, tvix: &Handle, output: &Output) -> Result<()> {
    match command {
        Wiki::List { part } => {
            let page = part.page();
            let recent = tvix.wiki().recent(&Filter::default(), page).await?;
            let lines: Vec<String> = recent.records.iter().map(document_line).collect();
            let value = json!({"documents": recent.records, "has_more": recent.has_more});
            output.print(&value, &list_text(&lines, recent.has_more, page))
        }
        Wiki::Show { id } => {
            let document = tvix.wiki().get(Id::parse("id", id)?).await?;
            output
                .print(&document, &format!("{}\n\n{}", document_line(&document), document.content))
        }
        Wiki::Delete { ids, yes } => delete_documents(ids, *yes, tvix, output).await,
    }
}

async fn delete_documents(ids: &[String], yes: bool, tvix: &Handle, output: &Output) -> Result<()> {
    let ids = parse_ids(ids)?;
    for id in &ids {
        let document = tvix.wiki().get(*id).await?;
        if !yes {
            output::hint(&document_line(&document));
        }
    }
    let what = count(ids.len(), "document", "documents");
    if !yes {
        output::confirm(&format!("Delete {what} for good?"))?;
    }
    for id in &ids {
        tvix.wiki().delete(*id).await?;
    }
    output.print(&json!({"deleted": ids}), &format!("deleted {what}"))
}

fn list_text(lines: &[String], has_more: bool, page: Page) -> String {
    let shown = lines.len();
    let mut text = if shown == 0 { "none".to_owned() } else { lines.join("\n") };
    if has_more {
        text.extend(["\nmore: --offset ", &(page.offset + shown).to_string()]);
    }
    text
}

fn memory_facts(memory: &MemoryRecord) -> String {
    let time =
        memory.event_time.map_or_else(|| memory.captured_at.to_string(), |time| time.to_string());
    let project = memory.project.as_deref().unwrap_or("-");
    format!("{}  {time}  {project}  {}", memory.id, memory.source.as_str())
}

fn memory_line(memory: &MemoryRecord) -> String {
    format!("{}  {}", memory_facts(memory), first_line(&memory.content))
}

fn document_line(document: &WikiRecord) -> String {
    let (id, time) = (document.id, document.updated_at);
    format!("{id}  {time}  {}  {}", document.project_name(), document.title)
}

/// The first line of `text`, cut and without control characters that could steer a terminal.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().filter(|c| !c.is_control()).take(LINE).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
