//! Measures how well search finds: stores test sets as users' agents would, asks their queries and
//! compares the answers with the labels.
//!
//! `cargo run --release -p tvix-core --example evaluate -- DATA_FOLDER`; without arguments it lists its
//! flags. Chat turns become memories, all other texts wiki documents. A text above the limit is stored
//! in parts and its best part counts; equal texts stand for each other; queries are cut at 1,000
//! characters. No set has settings of its own.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports")]

mod ask;
#[path = "../../benches/common.rs"]
mod common;
mod data;
mod engine;
mod flags;
mod metrics;
mod report;
mod run;
mod store;

use std::{error::Error, fs, process::ExitCode};

use data::Set;
use engine::Place;
use flags::{Flags, Mode, USAGE};
use run::{Load, Run, SetResult};
use store::Stored;
use tvix_core::storage::Kind;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.is_empty() {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match evaluate(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("evaluate: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn evaluate(arguments: &[String]) -> Result<()> {
    let flags = Flags::parse(arguments.iter().cloned())?;
    // What cannot work is said before the work.
    engine::check_model(&flags.changes)?;
    for mode in &flags.modes {
        engine::configure(&flags.changes, *mode)?;
    }
    let old = flags.against.as_deref().map(Run::read).transpose()?;
    let run = measure(&flags, arguments).await?;
    let report = report::report(&run, old.as_ref());
    print!("{report}");
    if let Some(path) = &flags.save {
        run.save(path)?;
    }
    if let Some(path) = &flags.markdown {
        let written = fs::write(path, report);
        written.map_err(|error| format!("--markdown: {}: {error}", path.display()))?;
    }
    Ok(())
}

async fn measure(flags: &Flags, arguments: &[String]) -> Result<Run> {
    let command = "cargo run --release -p tvix-core --example evaluate --";
    let mut run = Run {
        commit: common::commit(),
        machine: common::processor(),
        command: format!("{command} {}", arguments.join(" ")),
        results: Vec::new(),
        skipped: Vec::new(),
    };
    for name in names(flags)? {
        let set = Set::load(&flags.data, &name).map_err(|error| format!("{name}: {error}"))?;
        match measure_set(flags, &set).await {
            Ok(results) => run.results.extend(results),
            Err(error) => {
                eprintln!("  left out: {error}");
                run.skipped.push(format!("{name}, since {error}"));
            }
        }
    }
    if run.results.is_empty() {
        return Err(format!("no set could be measured: {}", run.skipped.join("; ")).into());
    }
    Ok(run)
}

/// The sets to run: those asked for, or all, the memories first.
fn names(flags: &Flags) -> Result<Vec<String>> {
    let is_set = |name: &str| flags.data.join(name).join("corpus.jsonl").exists();
    if let Some(unknown) = flags.sets.iter().find(|name| !is_set(name)) {
        let folder = flags.data.join(unknown);
        return Err(format!("--sets: got {unknown:?}, but {} is no set", folder.display()).into());
    }
    if !flags.sets.is_empty() {
        return Ok(flags.sets.clone());
    }
    let shown = flags.data.display();
    let entries = fs::read_dir(&flags.data);
    let entries = entries.map_err(|error| format!("DATA_FOLDER: {shown}: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| is_set(name)).collect();
    if names.is_empty() {
        return Err(format!("DATA_FOLDER: {shown} holds no folder with a corpus.jsonl").into());
    }
    names.sort_by_key(|name| (!data::is_of_memories(name), name.clone()));
    Ok(names)
}

/// Stores `set` once and asks its queries in each mode. The store is opened anew for each, since
/// settings belong to an open store.
async fn measure_set(flags: &Flags, set: &Set) -> Result<Vec<SetResult>> {
    let place = Place::new(flags.in_memory)?;
    // The last mode needs all that any mode needs, so what it stores serves them all.
    let last = flags.modes.last().copied().unwrap_or(Mode::Default);
    let mut tvix = place.open(engine::configure(&flags.changes, last)?)?;
    eprintln!("{}: storing {} texts", set.name, set.texts.len());
    let stored = store::store(&tvix, set).await?;
    let mut results = Vec::new();
    for &mode in &flags.modes {
        if flags.modes.len() > 1 {
            // Closed before it is opened again: a folder has one owner.
            drop(tvix);
            tvix = place.open(engine::configure(&flags.changes, mode)?)?;
            tvix.catch_up().await?;
            tvix.embed_pending().await?;
        }
        eprintln!("{}: asking {} queries, {mode}", set.name, set.queries.len());
        let (queries, timing) = ask::ask(&tvix, set, &stored).await?;
        let metrics = metrics_of(set);
        let load = load(set, &stored);
        results.push(SetResult { set: set.name.clone(), mode, load, metrics, queries, timing });
    }
    Ok(results)
}

fn metrics_of(set: &Set) -> Vec<String> {
    let names: &[&str] = if set.is_by_passage() { &metrics::COVERAGE } else { &metrics::RANKING };
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn load(set: &Set, stored: &Stored) -> Load {
    Load {
        kind: if set.kind == Kind::Memory { "memories" } else { "documents" }.to_owned(),
        texts: set.texts.len(),
        stored: stored.parts.len(),
        duplicates: stored.duplicates,
        refused: stored.refused,
        rate: set.texts.len() as f64 / stored.seconds.max(f64::MIN_POSITIVE),
        sha256: set.sha256.clone(),
    }
}
