//! Eight processes on one folder, one of them killed at random every few hundred milliseconds.
//!
//! Runs for some seconds; `TVIX_SOAK_SECONDS=600` makes it a long run. `TVIX_SEED` repeats one.

mod support;

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::Server;

const PROCESSES: usize = 8;

/// What was confirmed, and what nobody knows because the process was killed before it answered.
#[derive(Default)]
struct Ledger {
    memories: HashSet<String>,
    doubtful_memories: u64,
    documents: Vec<(String, String)>,
    deleted: HashSet<String>,
    doubtful: HashSet<String>,
}

/// Xorshift: enough to choose what happens next.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The structure of a successful answer; `None` when the process was killed before it came.
fn call(server: &mut Server, tool: &str, arguments: &Value) -> Option<Value> {
    let answer =
        server.try_request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
    assert!(answer["result"]["isError"] != true, "{tool}({arguments}): {answer}");
    Some(answer["result"]["structuredContent"].clone())
}

struct Worker<'a> {
    data: &'a Path,
    number: u64,
    dice: Dice,
    done: u64,
    ledger: &'a Mutex<Ledger>,
    pid: &'a AtomicU64,
}

impl Worker<'_> {
    fn start(&self) -> Server {
        loop {
            // The killer may hit a process in its handshake too.
            if let Some(server) = Server::try_start(self.data, "soak") {
                self.pid.store(u64::from(server.pid()), Ordering::SeqCst);
                return server;
            }
        }
    }

    fn run(&mut self, stop: &AtomicBool) {
        let mut server = self.start();
        while !stop.load(Ordering::SeqCst) {
            self.done += 1;
            let alive = match self.dice.below(10) {
                0..4 => self.remember(&mut server),
                4..6 => self.write(&mut server),
                6 => self.delete(&mut server),
                _ => {
                    call(&mut server, "search_memory", &json!({"query": "gauge reads", "limit": 5}))
                        .is_some()
                }
            };
            if !alive {
                self.pid.store(0, Ordering::SeqCst);
                server.kill();
                server = self.start();
            }
        }
        self.pid.store(0, Ordering::SeqCst);
        server.close();
    }

    fn remember(&mut self, server: &mut Server) -> bool {
        let content = format!("gauge {} reads {}", self.number, self.done);
        let answer = call(server, "add_memory", &json!({"content": content}));
        let mut ledger = self.ledger.lock().expect("whole");
        match &answer {
            Some(added) => {
                ledger.memories.insert(added["id"].as_str().expect("an id").to_owned());
            }
            None => ledger.doubtful_memories += 1,
        }
        answer.is_some()
    }

    fn write(&mut self, server: &mut Server) -> bool {
        let word = format!("sheet{}x{}", self.number, self.done);
        let answer =
            call(server, "add_wiki", &json!({"title": word, "content": "hardness and price"}));
        if let Some(added) = &answer {
            let id = added["doc_id"].as_str().expect("an id").to_owned();
            self.ledger.lock().expect("whole").documents.push((id, word));
        }
        answer.is_some()
    }

    fn delete(&mut self, server: &mut Server) -> bool {
        let picked = {
            let mut ledger = self.ledger.lock().expect("whole");
            let count = ledger.documents.len() as u64;
            (count > 0)
                .then(|| usize::try_from(self.dice.below(count)).expect("small"))
                .map(|at| ledger.documents.swap_remove(at))
        };
        let Some((id, _)) = picked else { return true };
        let answer = call(server, "delete_wiki", &json!({"doc_id": id}));
        let mut ledger = self.ledger.lock().expect("whole");
        let known = if answer.is_some() { &mut ledger.deleted } else { &mut ledger.doubtful };
        known.insert(id);
        answer.is_some()
    }
}

fn kill_one(pids: &[AtomicU64], dice: &mut Dice) {
    let place = usize::try_from(dice.below(PROCESSES as u64)).expect("small");
    let pid = pids[place].swap(0, Ordering::SeqCst);
    if pid != 0 {
        let sent = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        assert!(sent.is_ok());
    }
}

fn all_memories(server: &mut Server) -> HashSet<String> {
    let mut ids = HashSet::new();
    loop {
        let page =
            server.ok("search_memory", &json!({"query": "", "limit": 30, "offset": ids.len()}));
        let hits = page["results"].as_array().expect("a list").clone();
        for hit in &hits {
            let id = hit["episode"]["id"].as_str().expect("an id").to_owned();
            assert!(ids.insert(id), "listed twice: {hit}");
        }
        if page["has_more"] != true {
            return ids;
        }
    }
}

#[cfg(unix)]
#[test]
fn what_was_confirmed_is_what_every_process_finds() {
    let place = tempfile::tempdir().expect("folder");
    let data = place.path().join("data");
    let seed = variable("TVIX_SEED", u64::from(std::process::id()) | 1);
    let seconds = Duration::from_secs(variable("TVIX_SOAK_SECONDS", 6));
    let (ledger, stop) = (Mutex::new(Ledger::default()), AtomicBool::new(false));
    let pids: Arc<Vec<AtomicU64>> = Arc::new((0..PROCESSES).map(|_| AtomicU64::new(0)).collect());
    thread::scope(|scope| {
        for (number, pid) in (0..).zip(pids.iter()) {
            let dice = Dice(seed.wrapping_mul(2 * number + 3) | 1);
            let (data, ledger, stop) = (&data, &ledger, &stop);
            scope.spawn(move || Worker { data, number, dice, done: 0, ledger, pid }.run(stop));
        }
        let (began, mut dice) = (Instant::now(), Dice(seed));
        while began.elapsed() < seconds {
            thread::sleep(Duration::from_millis(150 + dice.below(500)));
            kill_one(&pids, &mut dice);
        }
        stop.store(true, Ordering::SeqCst);
    });
    let ledger = ledger.into_inner().expect("whole");
    assert!(ledger.memories.len() > 50, "seed {seed}: only {} memories", ledger.memories.len());
    let mut servers: Vec<Server> = (0..PROCESSES).map(|_| Server::start(&data, "check")).collect();
    let first = all_memories(&mut servers[0]);
    let lost: Vec<_> = ledger.memories.difference(&first).collect();
    assert!(lost.is_empty(), "seed {seed}: lost {lost:?}");
    let more = (first.len() - ledger.memories.len()) as u64;
    assert!(
        more <= ledger.doubtful_memories,
        "seed {seed}: {more} more than {}",
        ledger.doubtful_memories
    );
    for server in &mut servers[1..] {
        assert_eq!(all_memories(server), first, "seed {seed}");
    }
    for (number, (id, word)) in ledger.documents.iter().enumerate() {
        let server = &mut servers[number % PROCESSES];
        let found = server.ok("search_wiki", &json!({"query": word, "limit": 1}));
        assert_eq!(found["results"][0]["doc_id"], **id, "seed {seed}: {word}");
    }
    for (number, id) in ledger.deleted.iter().enumerate() {
        let found = servers[number % PROCESSES].ok("search_wiki", &json!({"query": id}));
        assert_eq!(found["results"], json!([]), "seed {seed}: {id} is back");
    }
    for server in servers {
        assert!(server.close().success(), "seed {seed}");
    }
    let report = support::run(&data, &["doctor"]);
    assert!(report.status.success(), "seed {seed}: {report:?}");
}
