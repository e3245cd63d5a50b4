//! The file of the official MCP memory server: entities with observations, and relations, a JSON
//! object a line.
//!
//! An observation such as "prefers rye" says nothing without its entity, so each becomes a memory
//! "Robin: prefers rye"; a relation becomes a sentence, "Robin works at Northwind". Names and types are
//! kept as metadata.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Map;

use super::{Item, Lines};
use crate::{
    Error, Result,
    admin::Record,
    storage::Kind,
    types::{Metadata, Source},
};

/// The source of what comes from there.
const SOURCE: &str = "MCP Memory";

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    #[serde(rename_all = "camelCase")]
    Entity {
        name: String,
        #[serde(default)]
        entity_type: String,
        #[serde(default)]
        observations: Vec<String>,
    },
    #[serde(rename_all = "camelCase")]
    Relation { from: String, to: String, relation_type: String },
}

/// The memories of such a file.
pub fn read<R: BufRead>(input: R) -> impl Iterator<Item = Item> + use<R> {
    let mut lines = Lines::new(input);
    let lines = std::iter::from_fn(move || {
        let line = lines.find(|line| !line.as_ref().is_ok_and(|text| text.trim().is_empty()))?;
        Some((lines.number(), line))
    });
    lines.flat_map(|(number, line)| {
        let records = match line.and_then(|text| parse(&text)) {
            Ok(line) => memories(line).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        records.into_iter().map(move |record| Item { at: format!("line {number}"), record })
    })
}

fn parse(text: &str) -> Result<Line> {
    serde_json::from_str(text).map_err(|error| Error::invalid("line", error))
}

fn memories(line: Line) -> Vec<Record> {
    match line {
        Line::Entity { name, entity_type, observations } => {
            let fields = [("entity", name.as_str()), ("entity_type", entity_type.as_str())];
            if observations.is_empty() {
                let kind = if entity_type.is_empty() { "known" } else { entity_type.as_str() };
                return vec![memory(format!("{name} ({kind})"), &fields)];
            }
            let texts = observations.iter().map(|text| format!("{name}: {text}"));
            texts.map(|text| memory(text, &fields)).collect()
        }
        Line::Relation { from, to, relation_type } => {
            let sentence = format!("{from} {} {to}", relation_type.replace('_', " "));
            let fields = [("from", from.as_str()), ("relation", &relation_type), ("to", &to)];
            vec![memory(sentence, &fields)]
        }
    }
}

fn memory(content: String, fields: &[(&str, &str)]) -> Record {
    let known = fields.iter().filter(|(_, value)| !value.is_empty());
    let fields: Map<_, _> =
        known.map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    Record {
        source: Some(Source::named(SOURCE)),
        metadata: Metadata::new(fields).unwrap_or_default(),
        ..Record::new(Kind::Memory, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_and_relations_become_sentences_and_other_lines_are_reported() {
        let input = r#"{"type":"entity","name":"Robin","entityType":"person","observations":["prefers rye","bakes on Fridays"]}

{"type":"entity","name":"Northwind","entityType":"company","observations":[]}
{"type":"relation","from":"Robin","to":"Northwind","relationType":"works_at"}
{"type":"spell"}
not json"#;
        let items: Vec<Item> = read(input.as_bytes()).collect();
        let texts: Vec<Option<&str>> = items
            .iter()
            .map(|item| item.record.as_ref().ok().map(|r| r.content.as_str()))
            .collect();
        let wanted = [
            Some("Robin: prefers rye"),
            Some("Robin: bakes on Fridays"),
            Some("Northwind (company)"),
            Some("Robin works at Northwind"),
            None,
            None,
        ];
        assert_eq!(texts, wanted);
        let places: Vec<&str> = items.iter().map(|item| item.at.as_str()).collect();
        assert_eq!(places, ["line 1", "line 1", "line 3", "line 4", "line 5", "line 6"]);
        let first = items[0].record.as_ref().expect("read");
        assert_eq!(first.metadata.fields()["entity_type"], "person");
    }
}
