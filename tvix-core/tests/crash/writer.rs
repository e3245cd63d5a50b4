//! The process that is killed: several tasks that add, change and delete, and say so.
//!
//! A line begins with [`MARK`], then `try` or `ack`, `add`, `edit` or `delete`, the kind, the word,
//! and for an edit the new word; an acknowledgement ends with the identifier.

use std::{env, fs, io::Write, path::PathBuf};

use tokio::task::JoinSet;
use tvix_core::{
    Admin, Memory, Tvix, Wiki,
    memory::NewMemory,
    types::{Id, Title, WikiText},
    wiki::{DocumentEdit, NewDocument},
};

use crate::{
    random::Random,
    record::{content, title, word},
};

pub(crate) const FOLDER: &str = "TVIX_CRASH_FOLDER";
pub(crate) const TARGETS: &str = "TVIX_CRASH_TARGETS";
pub(crate) const ROUND: &str = "TVIX_CRASH_ROUND";
pub(crate) const CROWDED: &str = "TVIX_CRASH_CROWDED";
pub(crate) const REINDEX: &str = "TVIX_CRASH_REINDEX";
/// The test harness writes to the same pipe.
pub(crate) const MARK: &str = "crash: ";

const TASKS: u64 = 8;
/// Ends by itself should nobody kill it.
const STEPS_MAX: u64 = 5000;

/// A record that this process may change.
#[derive(Debug, Clone)]
struct Known {
    kind: char,
    word: String,
    id: Id,
}

struct Task {
    tvix: Tvix,
    known: Vec<Known>,
    is_crowded: bool,
    random: Random,
    /// The number of its next word.
    next: u64,
}

pub(crate) fn run_if_wanted() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let round: u64 = env::var(ROUND).unwrap().parse().unwrap();
    let is_crowded = env::var(CROWDED).is_ok_and(|value| value == "yes");
    let targets = targets(&fs::read_to_string(env::var_os(TARGETS).unwrap()).unwrap());
    // The first line would continue one of the harness.
    println!();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let tvix = Tvix::open(folder).unwrap();
        say("ready");
        let mut tasks = JoinSet::new();
        if env::var(REINDEX).is_ok_and(|value| value == "yes") {
            tasks.spawn(reindex(tvix.clone()));
        }
        for number in 0..TASKS {
            let known = targets.iter().skip(number as usize).step_by(TASKS as usize).cloned();
            let next = (round * TASKS + number) * STEPS_MAX;
            let random = Random::new(next);
            let task =
                Task { tvix: tvix.clone(), known: known.collect(), is_crowded, random, next };
            tasks.spawn(task.run());
        }
        tasks.join_all().await;
    });
}

/// Builds the index anew all the time.
async fn reindex(tvix: Tvix) {
    while tvix.reindex().await.is_ok() {}
}

fn targets(text: &str) -> Vec<Known> {
    let known = |line: &str| {
        let mut parts = line.split(' ');
        let kind = parts.next()?.chars().next()?;
        Some(Known { kind, word: parts.next()?.to_owned(), id: parts.next()?.parse().ok()? })
    };
    text.lines().map(|line| known(line).unwrap()).collect()
}

/// In one piece, or lines of several tasks would mix.
fn say(line: &str) {
    std::io::stdout().lock().write_all(format!("{MARK}{line}\n").as_bytes()).unwrap();
}

impl Task {
    async fn run(mut self) {
        for _ in 0..STEPS_MAX {
            let adds = if self.is_crowded { 30 } else { 65 };
            let is_add = self.known.is_empty() || self.random.percent(adds);
            let kind = if self.random.percent(75) { 'm' } else { 'w' };
            if is_add {
                self.add(kind).await;
                continue;
            }
            let known = self.known.swap_remove(self.random.below(self.known.len() as u64) as usize);
            if known.kind == 'w' && self.random.percent(60) {
                self.edit(known).await;
            } else {
                self.delete(known).await;
            }
        }
    }

    fn word(&mut self) -> String {
        self.next += 1;
        word(self.next)
    }

    async fn add(&mut self, kind: char) {
        let word = self.word();
        say(&format!("try add {kind} {word}"));
        let text = content(&word);
        let id = if kind == 'm' {
            let memory = NewMemory::new(text).unwrap().in_project("crash").unwrap();
            Memory::add(&self.tvix, memory).await.unwrap().memory.id
        } else {
            let document = NewDocument::new(title(&word), text).unwrap();
            Wiki::add(&self.tvix, document).await.unwrap().document.id
        };
        say(&format!("ack add {kind} {word} {id}"));
        self.known.push(Known { kind, word, id });
    }

    async fn edit(&mut self, known: Known) {
        let (Known { kind, word, id }, new) = (known, self.word());
        say(&format!("try edit {kind} {word} {new} {id}"));
        let edit = DocumentEdit {
            title: Some(Title::new(title(&new)).unwrap()),
            content: Some(WikiText::new(content(&new)).unwrap()),
            ..DocumentEdit::default()
        };
        self.tvix.update(id, edit).await.unwrap();
        say(&format!("ack edit {kind} {word} {new} {id}"));
        self.known.push(Known { kind, word: new, id });
    }

    async fn delete(&mut self, known: Known) {
        let Known { kind, word, id } = known;
        say(&format!("try delete {kind} {word} {id}"));
        if kind == 'm' {
            Memory::delete(&self.tvix, id).await.unwrap();
        } else {
            Wiki::delete(&self.tvix, id).await.unwrap();
        }
        say(&format!("ack delete {kind} {word} {id}"));
    }
}
