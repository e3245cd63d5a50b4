//! The server as a person runs it: settings, logs, probes, and its end.
#![cfg(unix)]
#![allow(clippy::panic, reason = "what fails shows what came")]

mod support;

use std::fs;

use serde_json::json;
use support::{Connection, Process, rpc, tool};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn check_says_what_is_wrong_where_and_what_to_write() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(
        folder.path().join("server.toml"),
        "listen = \"127.0.0.1:1\"\n\n[limits]\ncalls = 0\n",
    )
    .expect("written");
    let checked = Process::run(folder.path(), &["--check"]);
    let said = text(&checked.stderr);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(said.contains("server.toml:4:9: limits.calls: got 0, send 1-100000"), "{said}");

    let checked = Process::run(folder.path(), &["--check", "--listen", "0.0.0.0"]);
    assert_eq!(checked.status.code(), Some(2), "a flag that cannot be read is wrong usage");
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let file = "listen = \"127.0.0.1:1\"\ntoolsets = [\"memory\"]\n[auth]\nmode = \"none\"\n";
    fs::write(folder.path().join("server.toml"), file).expect("written");
    let check = |flags: &[&str], environment: Option<&str>| {
        let mut program = support::program(folder.path());
        program.arg("--check").args(flags);
        program.envs(environment.map(|value| ("TVIX_HTTP_LISTEN", value)));
        text(&program.output().expect("ran").stdout)
    };
    assert!(check(&[], None).contains("listen: 127.0.0.1:1\n"));
    assert!(check(&[], None).contains("toolsets: memory\n"));
    assert!(check(&[], Some("127.0.0.1:2")).contains("listen: 127.0.0.1:2\n"));
    assert!(
        check(&["--listen", "127.0.0.1:3"], Some("127.0.0.1:2")).contains("listen: 127.0.0.1:3\n")
    );
}

#[test]
fn logs_name_each_request_and_why_it_was_refused_and_nothing_that_was_stored() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Process::start(folder.path(), &["--log", "trace"]);
    let mut client =
        Connection::open(server.address).with("Authorization", "Bearer tvx_pat_sesame");
    let stored =
        client.post(&tool("add_memory", &json!({"content": "the cellar key is under the fern"})));
    client.post(&tool("search_memory", &json!({"query": "cellar fern"})));
    let path = "/mcp?access_token=tvx_at_sesame";
    client.send("POST", path, &[JSON], rpc("ping", &json!({})).to_string().as_bytes());
    client.post_with(&[("Host", "evil.example")], &rpc("ping", &json!({})));
    let bad = client.send("POST", "/mcp", &[JSON], b"{fern");
    server.terminate();
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");
    for answer in [&stored, &bad] {
        let id = answer.header("x-request-id");
        let line = log.lines().find(|line| !id.is_empty() && line.contains(id));
        let line = line.unwrap_or_else(|| panic!("no line for {id:?} in {log}"));
        assert!(line.contains(&format!("status={}", answer.status)), "{line}");
    }
    assert!(log.contains("tool=\"add_memory\""), "{log}");
    for reason in ["allowed_hosts", "Parse error", "send it in the Authorization header"] {
        assert!(log.contains(reason), "{reason:?} is not in {log}");
    }
    for secret in ["sesame", "fern", "cellar"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[test]
fn a_proxy_before_a_server_without_authentication_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Process::start(folder.path(), &[]);
    let mut client = Connection::open(server.address);
    let forwarded = [("X-Forwarded-For", "203.0.113.5")];
    assert_eq!(client.post_with(&forwarded, &rpc("ping", &json!({}))).status, 403);
    server.kill();
    for flags in [
        ["--auth-mode", "none", "--listen", "0.0.0.0:0"],
        ["--auth-mode", "none", "--listen", "[::]:0"],
    ] {
        let refused = Process::run(folder.path(), &flags);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(1) && said.contains("auth.mode"), "{said}");
    }
}

#[test]
fn metrics_stand_on_an_address_of_their_own() {
    let folder = tempfile::tempdir().expect("folder");
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let server = Process::start(folder.path(), &["--metrics", &free.to_string()]);
    let mut client = Connection::open(server.address);
    client.ok("get_current_date", &json!({}));
    assert_eq!(client.get("/metrics").status, 404);
    assert_eq!((client.get("/healthz").status, client.get("/readyz").status), (200, 200));
    let shown = Connection::open(free).get("/metrics");
    for line in [
        "tvix_http_requests_total{route=\"/mcp\",status=\"200\"} 1",
        "tvix_http_tool_calls_total{tool=\"get_current_date\"} 1",
        "tvix_http_open_users 1",
        "tvix_http_connections 1",
    ] {
        assert!(shown.body.contains(line), "{line} is not in {}", shown.body);
    }
    server.kill();
}

#[test]
fn what_is_in_flight_is_finished_before_the_end() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Process::start(folder.path(), &[]);
    let address = server.address;
    let message =
        tool("add_memory", &json!({"content": "said while the server was ending"})).to_string();
    let mut client = Connection::open(address);
    let head = client.head("POST", "/mcp", &[JSON], message.len());
    client.write(&head);
    client.write(&message.as_bytes()[..10]);
    // Connections are taken in turn: once this one is answered, so was the first one taken.
    assert_eq!(Connection::open(address).get("/healthz").status, 200);
    server.terminate();
    while Connection::try_open(address).is_ok() {
        std::thread::yield_now();
    }
    client.write(&message.as_bytes()[10..]);
    let answer = client.read().expect("an answer");
    assert_eq!(answer.json()["result"]["structuredContent"]["status"], "stored", "{answer:?}");
    let (status, log) = server.wait();
    assert!(status.success(), "{log}");

    let again = Process::start(folder.path(), &[]);
    let found = Connection::open(again.address).ok("search_memory", &json!({"query": "ending"}));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{found}");
    again.kill();
}
