//! What sharing costs: concurrent writers beside one bare commit, a client's call beside the owner's own,
//! and the pause after the owner was killed.
//!
//! Not a criterion benchmark: several processes are measured, and what matters is the spread.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot run should stop"
)]

mod common;
#[path = "../tvix-mcp-stdio/tests/support/mod.rs"]
mod support;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use common::Texts;
use redb::{Database, TableDefinition};
use serde_json::json;
use support::Server;
use tvix_core::{Tvix, memory::NewMemory};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("texts");
/// Adds measured for each number of writers.
const ADDS: usize = 960;
/// Searches measured on each side.
const SEARCHES: usize = 400;
/// Memories in the store that is handed over.
const HANDED_OVER: usize = 10_000;
/// How often the owner is killed.
const KILLS: usize = 7;

fn main() {
    common::announce("sharing");
    let place = tempfile::tempdir().unwrap();
    writers(place.path());
    calls(&place.path().join("calls"));
    hand_over(&place.path().join("handed"));
}

/// The value that `percent` of `times` do not exceed, in milliseconds.
fn at(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0
}

fn writers(place: &Path) {
    println!("\n| writers | adds/s | p50 ms | p99 ms |\n|---|---|---|---|");
    let database = Database::create(place.join("bare.redb")).unwrap();
    let mut texts = Texts::new();
    let began = Instant::now();
    let mut bare: Vec<Duration> =
        (0..ADDS / 4).map(|number| commit(&database, number, &texts.memory(number))).collect();
    row("1 bare redb commit", bare.len(), began.elapsed(), &mut bare);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for count in [1, 8, 32] {
        let tvix = Arc::new(Tvix::open(place.join(format!("writers-{count}"))).unwrap());
        let began = Instant::now();
        let mut times = runtime.block_on(async {
            let tasks: Vec<_> = (0..count)
                .map(|writer| tokio::spawn(write(Arc::clone(&tvix), writer, ADDS / count)))
                .collect();
            let mut times = Vec::new();
            for task in tasks {
                times.extend(task.await.unwrap());
            }
            times
        });
        row(&count.to_string(), ADDS, began.elapsed(), &mut times);
    }
}

fn commit(database: &Database, number: usize, text: &str) -> Duration {
    let began = Instant::now();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(TABLE).unwrap().insert(number as u64, text.as_bytes()).unwrap();
    transaction.commit().unwrap();
    began.elapsed()
}

async fn write(tvix: Arc<Tvix>, writer: usize, count: usize) -> Vec<Duration> {
    let mut texts = Texts::new();
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let memory = NewMemory::new(format!("writer {writer}: {}", texts.memory(number))).unwrap();
        let began = Instant::now();
        tvix.memory().add(memory).await.unwrap();
        times.push(began.elapsed());
    }
    times
}

fn row(what: &str, count: usize, took: Duration, times: &mut [Duration]) {
    let rate = count as f64 / took.as_secs_f64();
    println!("| {what} | {rate:.0} | {:.2} | {:.2} |", at(times, 50), at(times, 99));
}

fn fill(server: &mut Server, count: usize) {
    let mut texts = Texts::new();
    for number in 0..count {
        server.ok("add_memory", &json!({"content": format!("{number}: {}", texts.memory(number))}));
    }
}

fn search(server: &mut Server) -> Duration {
    let began = Instant::now();
    server.ok("search_memory", &json!({"query": "", "limit": 5}));
    began.elapsed()
}

/// The calls alternate, so that both sides see the same machine.
fn calls(data: &Path) {
    let (mut owner, mut client) = (Server::start(data, "owner"), Server::start(data, "client"));
    fill(&mut owner, 200);
    let (mut own, mut foreign): (Vec<_>, Vec<_>) =
        (0..SEARCHES).map(|_| (search(&mut owner), search(&mut client))).unzip();
    println!("\n| list of five over stdio | p50 ms | p99 ms |\n|---|---|---|");
    println!("| the owner's own | {:.3} | {:.3} |", at(&mut own, 50), at(&mut own, 99));
    println!("| through a client | {:.3} | {:.3} |", at(&mut foreign, 50), at(&mut foreign, 99));
    client.close();
    owner.close();
}

fn hand_over(data: &Path) {
    let mut owner = Server::start(data, "owner");
    fill(&mut owner, HANDED_OVER);
    let mut pauses = Vec::new();
    for _ in 0..KILLS {
        let mut heir = Server::start(data, "heir");
        search(&mut heir);
        // What the index has not committed is part of a hand-over, so it is not waited for.
        owner.kill();
        pauses.push(search(&mut heir));
        owner = heir;
    }
    owner.close();
    println!(
        "\n| after the owner of {HANDED_OVER} memories was killed | p50 ms | greatest ms |\n|---|---|---|"
    );
    println!(
        "| the next call is answered in | {:.1} | {:.1} |",
        at(&mut pauses, 50),
        at(&mut pauses, 100)
    );
}
