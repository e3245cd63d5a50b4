//! What HTTP costs: 1,000 connections, 200 of which call at the same time, beside the same calls in this
//! process, in turns.
//!
//! Not a criterion benchmark: what matters is the spread and the memory of the server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot run should stop"
)]

mod common;
#[path = "../tvix-mcp-http/tests/support/mod.rs"]
mod support;

use std::{
    fs,
    path::Path,
    sync::{Arc, Barrier, LazyLock},
    time::{Duration, Instant},
};

use common::Texts;
use serde_json::{Value, json};
use support::{Connection, Process};
use tvix_core::{
    Settings, shared,
    tools::{CallContext, Service},
};

/// Clients that are connected.
const CONNECTED: usize = 1_000;
/// Those of them that call.
const CALLING: usize = 200;
/// Calls that each of them makes in a turn; one in ten stores a memory.
const CALLS: usize = 20;
/// How often both sides have their turn.
const TURNS: usize = 3;
/// What is searched for.
static QUERIES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts = Texts::new();
    (0..100).map(|_| texts.query()).collect()
});
/// Memories in the store before the first call.
const STORED: usize = 1_000;

fn main() {
    common::announce("HTTP");
    let place = tempfile::tempdir().unwrap();
    let flags = ["--calls", "1000", "--calls-per-token", "1000"];
    let server = Process::start(&place.path().join("server"), &flags);
    fill(&server);
    let mut clients: Vec<_> = (0..CONNECTED).map(|_| Connection::open(server.address)).collect();
    for client in &mut clients {
        assert_eq!(client.get("/healthz").status, 200);
    }
    let idle = memory(&format!("/proc/{}/status", server.pid()));
    let inside = Inside::open(&place.path().join("inside"));
    let (mut over, mut within) = (Vec::new(), Vec::new());
    println!("\n| {CALLING} at a time | calls/s | p50 ms | p99 ms |\n|---|---|---|---|");
    for _ in 0..TURNS {
        measure("in this process", &mut within, || inside.turn());
        measure("over HTTP", &mut over, || turn(&mut clients[..CALLING]));
    }
    row("in this process, all turns", None, &mut within);
    row("over HTTP, all turns", None, &mut over);
    let busy = memory(&format!("/proc/{}/status", server.pid()));
    println!(
        "\nresident memory of the server: {idle} with {CONNECTED} connections, {busy} after all calls;"
    );
    println!(
        "of this process, which held both sides of the connections and the other store: {}",
        memory("/proc/self/status")
    );
    server.kill();
}

fn fill(server: &Process) {
    let mut client = Connection::open(server.address);
    let mut texts = Texts::new();
    for number in 0..STORED {
        client.ok("add_memory", &json!({"content": format!("{number}: {}", texts.memory(number))}));
    }
}

fn call(caller: usize, number: usize) -> (&'static str, Value) {
    if number.is_multiple_of(10) {
        let unique = uuid::Uuid::now_v7();
        return ("add_memory", json!({"content": format!("{caller} said {number}: {unique}")}));
    }
    let query = &QUERIES[(caller + number) % QUERIES.len()];
    ("search_memory", json!({"query": query, "limit": 5}))
}

/// Each client calls in a thread of its own; all begin at once.
fn turn(clients: &mut [Connection]) -> Vec<Duration> {
    let start = Barrier::new(clients.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(caller, client)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let timed = |number| {
                        let (name, arguments) = call(caller, number);
                        let began = Instant::now();
                        client.ok(name, &arguments);
                        began.elapsed()
                    };
                    (0..CALLS).map(timed).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// The same store without the server.
struct Inside {
    runtime: tokio::runtime::Runtime,
    handle: Arc<shared::Handle>,
}

impl Inside {
    fn open(folder: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let handle = runtime.block_on(shared::open(folder, Settings::default())).unwrap();
        let (context, mut texts) = (CallContext::default(), Texts::new());
        for number in 0..STORED {
            let memory = json!({"content": format!("{number}: {}", texts.memory(number))});
            let added = handle.call(&context, "add_memory", memory);
            runtime.block_on(added).unwrap();
        }
        Self { runtime, handle: Arc::new(handle) }
    }

    fn turn(&self) -> Vec<Duration> {
        let tasks = (0..CALLING).map(|caller| {
            let handle = Arc::clone(&self.handle);
            self.runtime.spawn(async move {
                let mut times = Vec::with_capacity(CALLS);
                for number in 0..CALLS {
                    let (name, arguments) = call(caller, number);
                    let began = Instant::now();
                    handle.call(&CallContext::default(), name, arguments).await.unwrap();
                    times.push(began.elapsed());
                }
                times
            })
        });
        let tasks: Vec<_> = tasks.collect();
        tasks.into_iter().flat_map(|task| self.runtime.block_on(task).unwrap()).collect()
    }
}

fn measure(what: &str, all: &mut Vec<Duration>, turn: impl FnOnce() -> Vec<Duration>) {
    let began = Instant::now();
    let mut times = turn();
    row(what, Some(began.elapsed()), &mut times);
    all.append(&mut times);
}

fn row(what: &str, took: Option<Duration>, times: &mut [Duration]) {
    let rate = took
        .map_or(String::new(), |took| format!("{:.0}", times.len() as f64 / took.as_secs_f64()));
    println!("| {what} | {rate} | {:.1} | {:.1} |", at(times, 50), at(times, 99));
}

/// The value that `percent` of `times` do not exceed, in milliseconds.
fn at(times: &mut [Duration], percent: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0
}

/// What a process holds in memory, as Linux tells it.
fn memory(status: &str) -> String {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or_else(|| "unknown".to_owned(), |size| size.trim().to_owned())
}
