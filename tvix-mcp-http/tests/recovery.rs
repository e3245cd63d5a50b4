//! Several servers on one folder, and servers that die: what was confirmed is there.

mod support;

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use support::{Connection, Process, tool};

/// Everything that is stored below `address`, by id.
fn stored(address: SocketAddr) -> BTreeSet<String> {
    let mut client = Connection::open(address);
    let mut ids = BTreeSet::new();
    loop {
        let page = json!({"query": "", "limit": 30, "offset": ids.len()});
        let found = client.ok("search_memory", &page);
        let results = found["results"].as_array().expect("a list");
        ids.extend(
            results.iter().filter_map(|hit| hit["episode"]["id"].as_str().map(str::to_owned)),
        );
        if found["has_more"] != true {
            return ids;
        }
    }
}

/// Stores one memory; its id if that was confirmed.
fn store(address: SocketAddr, text: &str) -> Option<String> {
    let message = tool("add_memory", &json!({"content": text})).to_string();
    let mut client = Connection::try_open(address).ok()?;
    let head = client.head("POST", "/mcp", &[("Content-Type", "application/json")], message.len());
    client.write(&head);
    client.write(message.as_bytes());
    let answer = client.read().ok().filter(|answer| answer.status == 200)?;
    let id = &answer.json()["result"]["structuredContent"]["id"];
    Some(id.as_str().expect("an id").to_owned())
}

#[test]
fn three_servers_on_one_folder_serve_the_same_store() {
    let folder = tempfile::tempdir().expect("folder");
    let servers: Vec<_> = (0..3).map(|_| Process::start(folder.path(), &[])).collect();
    let confirmed = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            let confirmed = &confirmed;
            scope.spawn(move || {
                for round in 0..10 {
                    let text = format!("note {round} by server {number}");
                    let id = store(server.address, &text).expect("stored");
                    confirmed.lock().expect("lock").insert(id);
                }
            });
        }
    });
    let confirmed = confirmed.into_inner().expect("lock");
    assert_eq!(confirmed.len(), 30);
    for server in &servers {
        assert_eq!(stored(server.address), confirmed);
    }
    // The first is likely to be the one that owns the store; the others go on without it.
    let mut servers = servers.into_iter();
    servers.next().expect("three").kill();
    for server in servers {
        assert_eq!(stored(server.address), confirmed);
        server.kill();
    }
}

#[test]
fn a_server_that_is_killed_under_load_comes_back_with_all_that_it_confirmed() {
    let folder = tempfile::tempdir().expect("folder");
    let first = Process::start(folder.path(), &[]);
    let address = first.address;
    let (confirmed, done) = (Mutex::new(BTreeSet::new()), AtomicBool::new(false));
    let survivor = std::thread::scope(|scope| {
        for writer in 0..4 {
            let (confirmed, done) = (&confirmed, &done);
            scope.spawn(move || {
                for round in 0.. {
                    if done.load(Ordering::Relaxed) {
                        return;
                    }
                    let text = format!("note {round} by writer {writer}");
                    let id = store(address, &text);
                    confirmed.lock().expect("lock").extend(id);
                }
            });
        }
        let mut server = first;
        for restarts in 1..=3 {
            wait_for(&confirmed, 15 * restarts);
            server = restart(server, folder.path(), address);
        }
        wait_for(&confirmed, 60);
        done.store(true, Ordering::Relaxed);
        server
    });
    let confirmed = confirmed.into_inner().expect("lock");
    let found = stored(address);
    let lost: Vec<_> = confirmed.difference(&found).collect();
    assert!(lost.is_empty(), "{lost:?} of {} are lost", confirmed.len());
    survivor.kill();
}

/// Waits until the clients were told of that many memories.
fn wait_for(confirmed: &Mutex<BTreeSet<String>>, count: usize) {
    while confirmed.lock().expect("lock").len() < count {
        std::thread::yield_now();
    }
}

/// Kills the server and starts it anew on the same address, which clients know.
fn restart(server: Process, folder: &Path, address: SocketAddr) -> Process {
    server.kill();
    Process::start_on(folder, &address.to_string(), &[])
}
