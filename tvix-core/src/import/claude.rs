//! `memories.json` of a Claude data export: per account one text about the person, and one for each of
//! their projects.
//!
//! The texts are summaries of many paragraphs. A search finds and shows single facts, so each paragraph
//! becomes a memory; a heading goes before the paragraphs under it, as in "Work context: …".

use std::{collections::BTreeMap, io::Read};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Item;
use crate::{
    Error, Result,
    admin::Record,
    storage::Kind,
    types::{Metadata, ProjectSlug, Source},
};

/// The largest file that is read, in bytes; real ones have some kilobytes.
const FILE_MAX: u64 = 64 << 20;

#[derive(Deserialize)]
struct Account {
    #[serde(default)]
    conversations_memory: Option<String>,
    #[serde(default)]
    project_memories: Map<String, Value>,
}

/// The memories of `input`, `memories.json`. `names` are the names of projects by their identifiers; a
/// project without one keeps its identifier.
///
/// # Errors
/// [`Error::InvalidInput`] when `input` is no JSON list.
pub fn read<R: Read>(
    input: R,
    names: &BTreeMap<String, String>,
) -> Result<impl Iterator<Item = Item> + use<R>> {
    let accounts = list(input)?.into_iter().zip(1..);
    let items: Vec<Item> = accounts
        .flat_map(|(value, number)| {
            let records = match serde_json::from_value(value) {
                Ok(account) => memories(account, names),
                Err(error) => vec![Err(Error::invalid("account", error))],
            };
            records.into_iter().map(move |record| Item { at: format!("account {number}"), record })
        })
        .collect();
    Ok(items.into_iter())
}

/// The names of projects by their identifiers, from `projects.json`.
///
/// # Errors
/// [`Error::InvalidInput`] when `input` is no JSON list.
pub fn project_names(input: impl Read) -> Result<BTreeMap<String, String>> {
    let named = |project: &Value| {
        let text = |key: &str| project[key].as_str().map(str::to_owned);
        Some((text("uuid")?, text("name")?))
    };
    Ok(list(input)?.iter().filter_map(named).collect())
}

fn list(input: impl Read) -> Result<Vec<Value>> {
    serde_json::from_reader(std::io::BufReader::new(input.take(FILE_MAX))).map_err(|error| {
        Error::invalid("input", format_args!("no list as Claude exports it: {error}"))
    })
}

fn memories(account: Account, names: &BTreeMap<String, String>) -> Vec<Result<Record>> {
    let about = account.conversations_memory.unwrap_or_default();
    let mut records: Vec<_> = paragraphs(&about).map(|text| Ok(memory(text, None))).collect();
    for (id, text) in &account.project_memories {
        let Some(text) = text.as_str() else {
            let reason = format!("the memory of project {id} is no text");
            records.push(Err(Error::invalid("project_memories", reason)));
            continue;
        };
        let name = names.get(id).map_or(id.as_str(), String::as_str);
        let project = [name, id.as_str()].into_iter().find_map(|name| ProjectSlug::new(name).ok());
        let project = project.map(String::from);
        records.extend(paragraphs(text).map(|text| Ok(memory(text, project.clone()))));
    }
    records
}

fn memory(content: String, project: Option<String>) -> Record {
    let source = Some(Source::named("Claude"));
    Record { project, source, metadata: Metadata::default(), ..Record::new(Kind::Memory, content) }
}

/// The paragraphs of `text`, each after the heading it stands under.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n");
    let (mut heading, mut found) = ("", Vec::new());
    for paragraph in text.split("\n\n").map(str::trim) {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        let body = match heading_of(first) {
            Some(words) => {
                heading = words;
                rest.trim()
            }
            None => paragraph,
        };
        if !body.is_empty() {
            let before = if heading.is_empty() { "" } else { ": " };
            found.push(format!("{heading}{before}{body}"));
        }
    }
    found.into_iter()
}

/// The words of a line that is a Markdown heading, or stands in bold alone.
fn heading_of(line: &str) -> Option<&str> {
    let hashes = line.trim_start_matches('#');
    let words = if hashes.len() < line.len() {
        hashes
    } else {
        line.strip_prefix("**")?.trim_end_matches(':').strip_suffix("**")?
    };
    let words = words.trim().trim_end_matches(':');
    (!words.is_empty() && !words.contains("**")).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_carry_their_heading() {
        let text =
            "Bakes bread.\n\n**Work context**\n\nRuns a bakery.\r\n\r\n## Tools:\nA stone oven.\n";
        let found: Vec<String> = paragraphs(text).collect();
        let wanted = ["Bakes bread.", "Work context: Runs a bakery.", "Tools: A stone oven."];
        assert_eq!(found, wanted);
    }

    #[test]
    fn projects_have_their_names_and_what_is_no_text_is_reported() {
        let input = r#"[{"conversations_memory": "One.", "project_memories": {"p-1": "Two.", "p-2": 3}}, 7]"#;
        let names = BTreeMap::from([("p-1".to_owned(), "Cider Press".to_owned())]);
        let items: Vec<Item> = read(input.as_bytes(), &names).expect("a list").collect();
        let places: Vec<&str> = items.iter().map(|item| item.at.as_str()).collect();
        assert_eq!(places, ["account 1", "account 1", "account 1", "account 2"]);
        let two = items[1].record.as_ref().expect("read");
        assert_eq!((two.content.as_str(), two.project.as_deref()), ("Two.", Some("cider-press")));
        assert!(items[2].record.is_err() && items[3].record.is_err());
        assert!(read("{}".as_bytes(), &names).is_err());
    }
}
