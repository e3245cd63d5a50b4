//! What must be in the folder, by what the writers said.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

use tvix_core::{
    Search, Tvix,
    search::Query,
    storage::{Filter, Kind, Page},
    types::{Id, QueryText},
};

use crate::{
    random::Random,
    record::{COMMON, content, title},
};

/// So many words are searched for after each kill.
const SEARCHES: usize = 40;
/// So many after the last.
const LAST_SEARCHES: usize = 600;

/// Kind (`m` or `w`) and word.
type Name = (char, String);

#[derive(Debug, Default)]
pub(crate) struct Book {
    records: BTreeMap<Name, State>,
    /// Edits without an acknowledgement: of the two names there must be exactly one.
    open_edits: BTreeSet<(Name, Name)>,
    /// What the last writer touched.
    touched: BTreeSet<Name>,
    acknowledged: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Live(Id),
    Gone,
    /// Announced, and not acknowledged.
    Open,
}

impl Book {
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn live(&self) -> usize {
        self.records.values().filter(|state| matches!(state, State::Live(_))).count()
    }

    /// Writes down one line of a writer; whether it was an acknowledgement.
    pub(crate) fn note(&mut self, line: &str) -> bool {
        let parts: Vec<&str> = line.split(' ').collect();
        let [said, act, kind, word, rest @ ..] = parts.as_slice() else { panic!("{line}") };
        let kind = kind.chars().next().unwrap();
        let name = (kind, (*word).to_owned());
        let is_acknowledged = *said == "ack";
        self.acknowledged += u64::from(is_acknowledged);
        match (*act, is_acknowledged) {
            ("edit", _) => {
                self.note_edit(name, (kind, rest[0].to_owned()), id(rest), is_acknowledged);
            }
            ("add", true) => self.set(name, State::Live(id(rest))),
            ("delete", true) => self.set(name, State::Gone),
            _ => self.set(name, State::Open),
        }
        is_acknowledged
    }

    fn note_edit(&mut self, old: Name, new: Name, id: Id, is_acknowledged: bool) {
        if is_acknowledged {
            self.open_edits.remove(&(old.clone(), new.clone()));
            self.set(old, State::Gone);
            self.set(new, State::Live(id));
        } else {
            self.set(old.clone(), State::Open);
            self.set(new.clone(), State::Open);
            self.open_edits.insert((old, new));
        }
    }

    fn set(&mut self, name: Name, state: State) {
        self.touched.insert(name.clone());
        self.records.insert(name, state);
    }

    /// Some live records for the next writer to change, a line each.
    pub(crate) fn targets(&self, count: usize, random: &mut Random) -> String {
        let share = (count * 100 / (self.live() + 1)).min(100) as u64;
        let mut text = String::new();
        for ((kind, word), state) in &self.records {
            if let State::Live(id) = state
                && random.percent(share)
            {
                writeln!(text, "{kind} {word} {id}").unwrap();
            }
        }
        text
    }

    /// Opens the folder after a kill and compares it with this book, which then takes over what
    /// became of the writes that were not acknowledged.
    pub(crate) async fn settle(&mut self, folder: &Path, random: &mut Random, is_last: bool) {
        let tvix = Tvix::open(folder).unwrap();
        let found = stored(&tvix).await;
        for name in found.keys() {
            assert!(self.records.contains_key(name), "{name:?} was never announced");
        }
        for (old, new) in std::mem::take(&mut self.open_edits) {
            assert_ne!(found.contains_key(&old), found.contains_key(&new), "half an edit: {old:?}");
        }
        for (name, state) in &mut self.records {
            let now = found.get(name).map_or(State::Gone, |id| State::Live(*id));
            if *state == State::Open {
                *state = now;
            }
            assert_eq!(*state, now, "{name:?}");
        }
        assert!(!folder.join("index.draft").exists() && !folder.join("index.old").exists());
        self.assert_counts(&tvix).await;
        let names = self.names_to_search(random, is_last);
        self.assert_found(&tvix, &names).await;
        self.touched.clear();
    }

    /// The search finds as many records as there are.
    async fn assert_counts(&self, tvix: &Tvix) {
        for (letter, kind) in [('m', Kind::Memory), ('w', Kind::Wiki)] {
            let is_live = |(name, state): &(&Name, &State)| {
                name.0 == letter && matches!(state, State::Live(_))
            };
            let live = self.records.iter().filter(is_live).count();
            assert_eq!(search(tvix, kind, COMMON, live + 10).await.len(), live, "found {kind:?}");
        }
    }

    fn names_to_search(&self, random: &mut Random, is_last: bool) -> Vec<Name> {
        let (names, count) = if is_last {
            (self.records.keys().cloned().collect(), LAST_SEARCHES)
        } else {
            (self.touched.iter().cloned().collect::<Vec<_>>(), SEARCHES)
        };
        let share = (count * 100 / (names.len() + 1)).clamp(1, 100) as u64;
        names.into_iter().filter(|_| random.percent(share)).collect()
    }

    /// Live records are found by their word, once; the others are not.
    async fn assert_found(&self, tvix: &Tvix, names: &[Name]) {
        for name in names {
            let kind = if name.0 == 'm' { Kind::Memory } else { Kind::Wiki };
            let expected: Vec<Id> = match self.records[name] {
                State::Live(id) => vec![id],
                State::Gone | State::Open => vec![],
            };
            assert_eq!(search(tvix, kind, &name.1, 5).await, expected, "{name:?}");
        }
    }
}

/// The last part of a line.
fn id(parts: &[&str]) -> Id {
    parts.last().unwrap().parse().unwrap()
}

async fn search(tvix: &Tvix, kind: Kind, text: &str, limit: usize) -> Vec<Id> {
    // Quoted: what is only alike does not count.
    let text = QueryText::new(format!("\"{text}\"")).unwrap();
    let query = Query { kind, text, filter: Filter::default(), page: Page::first(limit) };
    let hits = tvix.search(&query).await.unwrap().hits;
    hits.into_iter().map(|hit| hit.document.key.id).collect()
}

/// All records of the folder, each of which is whole.
async fn stored(tvix: &Tvix) -> BTreeMap<Name, Id> {
    let (filter, all) = (Filter::default(), Page::first(1_000_000));
    let mut found = BTreeMap::new();
    for memory in tvix.memory().recent(&filter, all).await.unwrap().records {
        let word = word_of(&memory.content);
        let doubled = found.insert(('m', word.clone()), memory.id);
        assert_eq!(doubled, None, "{word} is there twice");
    }
    for document in tvix.wiki().recent(&filter, all).await.unwrap().records {
        let word = word_of(&document.content);
        assert_eq!(document.title, title(&word));
        assert_eq!(found.insert(('w', word.clone()), document.id), None, "{word} is there twice");
    }
    found
}

fn word_of(text: &str) -> String {
    let word = text.split(' ').nth(1).unwrap_or_default();
    assert_eq!(text, content(word), "torn");
    word.to_owned()
}
