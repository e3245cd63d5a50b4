//! Stores the texts of a set through the public API, and remembers what became of each.

use std::{collections::HashMap, time::Instant};

use serde_json::{Map, Value};
use tvix_core::{
    Memory, Tvix,
    memory::{AddStatus, NewMemory},
    storage::Kind,
    types::{Id, MemoryText, Metadata, Title, WikiText},
    wiki::NewDocument,
};

use crate::{
    Result,
    data::{Set, Text, parts},
};

/// A text of the set, or a part of one that was too long.
pub(crate) struct Part {
    /// The text, by its place in the set.
    pub(crate) text: usize,
    /// Where the part begins, in bytes of the text.
    pub(crate) start: usize,
}

/// What a store holds after loading.
#[derive(Default)]
pub(crate) struct Stored {
    /// What each record stands for: more than one text where texts are equal.
    pub(crate) parts: HashMap<Id, Vec<Part>>,
    /// How many texts or parts were there already.
    pub(crate) duplicates: usize,
    /// How many the store refused.
    pub(crate) refused: usize,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// Stores all texts of `set`, in order, as users' agents would.
pub(crate) async fn store(tvix: &Tvix, set: &Set) -> Result<Stored> {
    let started = Instant::now();
    let mut stored = match set.kind {
        Kind::Memory => memories(tvix, set).await?,
        _ => documents(tvix, set).await?,
    };
    // What may be left to do in the background belongs to loading, not to the first query.
    tvix.catch_up().await?;
    tvix.embed_pending().await?;
    stored.seconds = started.elapsed().as_secs_f64();
    Ok(stored)
}

async fn memories(tvix: &Tvix, set: &Set) -> Result<Stored> {
    let (mut parts, mut new) = (Vec::new(), Vec::new());
    for (at, text) in set.texts.iter().enumerate() {
        for (start, memory) in turn(text)? {
            parts.push(Part { text: at, start });
            new.push(memory);
        }
    }
    let mut stored = Stored::default();
    for (part, added) in parts.into_iter().zip(tvix.add_many(new).await?) {
        match added {
            Ok(added) => {
                stored.duplicates += usize::from(added.status == AddStatus::Duplicate);
                stored.parts.entry(added.memory.id).or_default().push(part);
            }
            Err(error) => stored.refuse(&error),
        }
    }
    Ok(stored)
}

/// A chat turn as memories, and where in the text each begins: one unless it is too long.
fn turn(text: &Text) -> Result<Vec<(usize, NewMemory)>> {
    let speaker = text.speaker();
    let project = (!text.scope.is_empty()).then_some(text.scope.as_str());
    let event_time = text.event_time()?.map(|time| ("event_time".to_owned(), Value::from(time)));
    let metadata = Metadata::new(event_time.into_iter().collect::<Map<_, _>>())?;
    let max = MemoryText::MAX - speaker.chars().count();
    let memory = |part: std::ops::Range<usize>| {
        let mut memory = NewMemory::new(format!("{speaker}{}", &text.text[part.clone()]))?;
        if let Some(project) = project {
            memory = memory.in_project(project)?;
        }
        memory.metadata = metadata.clone();
        Ok((part.start, memory))
    };
    parts(&text.text, max).into_iter().map(memory).collect()
}

async fn documents(tvix: &Tvix, set: &Set) -> Result<Stored> {
    let mut stored = Stored::default();
    for (at, text) in set.texts.iter().enumerate() {
        let title = text.heading(Title::MAX);
        for part in parts(&text.text, WikiText::MAX) {
            let document = NewDocument::new(title.as_str(), &text.text[part.clone()])?;
            match tvix.wiki().add(document).await {
                Ok(added) => {
                    let part = Part { text: at, start: part.start };
                    stored.parts.entry(added.document.id).or_default().push(part);
                }
                Err(error) => stored.refuse(&error),
            }
        }
    }
    Ok(stored)
}

impl Stored {
    fn refuse(&mut self, error: &tvix_core::Error) {
        eprintln!("  not stored: {error}");
        self.refused += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Text {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_turn_is_stored_with_speaker_project_and_time_and_nothing_else() {
        let text = text(
            r#"{"id":"t","text":"I went hiking","scope":"conv-26",
                "meta":{"speaker":"Ana","date":"1:56 pm on 8 May, 2023","session":1}}"#,
        );
        let turns = turn(&text).unwrap();
        let [(0, memory)] = turns.as_slice() else { panic!("{turns:?}") };
        assert_eq!(memory.content.as_str(), "Ana: I went hiking");
        assert_eq!(
            memory.project.as_ref().map(tvix_core::types::ProjectSlug::as_str),
            Some("conv-26")
        );
        let fields = serde_json::to_value(&memory.metadata).unwrap();
        assert_eq!(fields, serde_json::json!({"event_time": "2023-05-08T13:56:00Z"}));
    }

    #[test]
    fn each_part_of_a_long_turn_names_the_speaker() {
        let long = "word ".repeat(12_000);
        let json = format!(r#"{{"id":"t","text":"{long}","meta":{{"speaker":"Ana"}}}}"#);
        let turns = turn(&text(&json)).unwrap();
        assert_eq!(turns.len(), 2);
        assert!(turns.iter().all(|(_, memory)| memory.content.as_str().starts_with("Ana: ")));
    }

    #[tokio::test]
    async fn equal_turns_are_one_record_that_stands_for_both() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("locomo");
        std::fs::create_dir(&files).unwrap();
        let turn = |id| format!(r#"{{"id":"{id}","text":"Bye!","scope":"s"}}"#);
        std::fs::write(files.join("corpus.jsonl"), [turn("a"), turn("b")].join("\n")).unwrap();
        std::fs::write(files.join("queries.jsonl"), "").unwrap();
        let set = Set::load(folder.path(), "locomo").unwrap();
        let stored = store(&Tvix::in_memory(), &set).await.unwrap();
        let texts: Vec<Vec<usize>> = stored
            .parts
            .values()
            .map(|parts| parts.iter().map(|part| part.text).collect())
            .collect();
        assert_eq!((texts, stored.duplicates), (vec![vec![0, 1]], 1));
    }
}
