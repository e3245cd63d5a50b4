//! A process that is killed at any moment loses no acknowledged write, tears none and doubles none,
//! and the search agrees with the store afterwards.
//!
//! This program starts itself again as the writer, reads what it says on a pipe, kills it and looks
//! at the folder, which grows from kill to kill. `TVIX_KILLS` says how often, `TVIX_SEED` where to
//! begin.
#![cfg(feature = "local")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "these are tests")]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use tempfile::TempDir;

use self::{
    book::Book,
    random::{Random, Seed, wanted},
};

mod book;
#[cfg(feature = "conformance")]
mod migration;
#[path = "../common/random.rs"]
mod random;
mod record;
mod writer;

/// So many records are handed to each writer to change.
const TARGETS: usize = 300;
/// From here on a writer deletes more than it adds.
const CROWDED: usize = 1000;

#[test]
fn a_kill_at_any_moment_loses_tears_and_doubles_nothing() {
    kill_and_look("redb", wanted("TVIX_KILLS", 30));
}

#[cfg(feature = "sled")]
#[test]
fn nor_does_it_with_sled() {
    kill_and_look("sled", wanted("TVIX_KILLS", 30) / 3);
}

fn kill_and_look(store: &str, kills: u64) {
    let seed = wanted("TVIX_SEED", 1);
    let (_seed, folder) = (Seed(seed), tempfile::tempdir().unwrap());
    std::fs::create_dir(data(&folder)).unwrap();
    std::fs::write(data(&folder).join("config.toml"), format!("store = {store:?}")).unwrap();
    let (mut random, mut book) = (Random::new(seed), Book::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for round in 0..kills {
        write_until_killed(&folder, round, &mut book, &mut random);
        let is_last = round + 1 == kills;
        runtime.block_on(book.settle(&data(&folder), &mut random, is_last));
    }
    let (acknowledged, live) = (book.acknowledged(), book.live());
    println!("{kills} kills, {acknowledged} acknowledged writes, {live} live records");
    assert!(acknowledged > kills * 20, "few writes were acknowledged: this proves little");
}

#[cfg(feature = "conformance")]
#[test]
fn nor_does_it_in_a_migration() {
    migration::kill_and_look(wanted("TVIX_KILLS", 30) / 3);
}

#[cfg(feature = "conformance")]
#[test]
fn the_migrator() {
    migration::run_if_wanted();
}

/// The other end: does nothing unless it was started by the test above.
#[test]
fn the_writer() {
    writer::run_if_wanted();
}

fn data(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("data")
}

/// When the writer is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// After it was started: while it opens the folder.
    Start(Duration),
    /// After it had the folder open.
    Ready(Duration),
    /// With this acknowledgement: right after a write, so before the next is whole.
    Acknowledgement(u64),
    /// After it had the folder open, while it also builds the index anew, over and over.
    Reindexing(Duration),
}

fn moment(random: &mut Random) -> Moment {
    match random.below(15) {
        0 => Moment::Start(Duration::from_millis(random.below(80))),
        // The index commits two seconds after a change, if not many come sooner.
        1 => Moment::Ready(Duration::from_millis(1900 + random.below(500))),
        2..=6 => Moment::Ready(Duration::from_micros(random.below(700_000))),
        7..=9 => Moment::Reindexing(Duration::from_micros(random.below(1_500_000))),
        _ => Moment::Acknowledgement(1 + random.below(250)),
    }
}

fn write_until_killed(folder: &TempDir, round: u64, book: &mut Book, random: &mut Random) {
    let targets = folder.path().join("targets");
    std::fs::write(&targets, book.targets(TARGETS, random)).unwrap();
    let moment = moment(random);
    let mut command = writer(&data(folder), &targets, round);
    let yes = |wanted| if wanted { "yes" } else { "" };
    command.env(writer::CROWDED, yes(book.live() > CROWDED));
    command.env(writer::REINDEX, yes(matches!(moment, Moment::Reindexing(_))));
    let mut child = command.spawn().unwrap();
    let (output, child) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(child)));
    follow(output, &child, book, moment);
    child.lock().unwrap().wait().unwrap();
}

fn writer(data: &Path, targets: &Path, round: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_writer", "--nocapture"]);
    command.env(writer::FOLDER, data).env(writer::TARGETS, targets);
    command.env(writer::ROUND, round.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Writes down what the writer says, and kills it at its moment.
fn follow(output: ChildStdout, child: &Arc<Mutex<Child>>, book: &mut Book, moment: Moment) {
    if let Moment::Start(after) = moment {
        kill(child, after);
    }
    let mut acknowledged = 0;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        match (line.strip_prefix(writer::MARK), moment) {
            (Some("ready"), Moment::Ready(after) | Moment::Reindexing(after)) => kill(child, after),
            (Some("ready") | None, _) => {}
            (Some(said), _) => acknowledged += u64::from(book.note(said)),
        }
        if matches!(moment, Moment::Acknowledgement(wanted) if wanted == acknowledged) {
            kill(child, Duration::ZERO);
        }
    }
}

/// Kills the writer after a while. What it said until then stays in the pipe.
fn kill(child: &Arc<Mutex<Child>>, after: Duration) {
    let child = Arc::clone(child);
    let kill = move || child.lock().unwrap().kill().unwrap();
    if after.is_zero() {
        kill();
    } else {
        thread::spawn(move || {
            thread::sleep(after);
            kill();
        });
    }
}
