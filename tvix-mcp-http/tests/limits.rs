//! Nobody gets more than their share, however slow or large what they send is.

mod support;

use std::io;

use serde_json::json;
use support::{Connection, Inside, bearer, rpc, tool};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn server(flags: &[&str]) -> (tempfile::TempDir, Inside) {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), flags);
    (folder, server)
}

fn connect(server: &Inside, user: u128) -> Connection {
    Connection::open(server.address).with("Authorization", &bearer(user, "", ALL))
}

/// A request that is under way: the server has asked for its body and got all of it but the last byte.
fn hold(server: &Inside, user: u128) -> Connection {
    let mut client = connect(server, user);
    let body = rpc("ping", &json!({})).to_string();
    let head = client.head("POST", "/mcp", &[JSON, ("Expect", "100-continue")], body.len());
    client.write(&head);
    assert_eq!(client.read().expect("an interim answer").status, 100);
    client.write(&body.as_bytes()[..body.len() - 1]);
    client
}

#[test]
fn a_body_that_is_too_large_is_refused_and_the_next_is_served() {
    let (_folder, server) = server(&[]);
    let large = tool("add_memory", &json!({"content": "x".repeat(12 * 1024 * 1024)})).to_string();
    let answer = connect(&server, 1).send("POST", "/mcp", &[JSON], large.as_bytes());
    assert_eq!(answer.status, 413, "{answer:?}");
    assert!(answer.json()["error"]["message"].as_str().expect("a text").contains("4194304"));
    assert_eq!(connect(&server, 1).post(&rpc("ping", &json!({}))).status, 200);
}

#[test]
fn a_body_that_does_not_arrive_is_given_up() {
    let (_folder, server) = server(&["--read-seconds", "1"]);
    let answer = hold(&server, 1).read().expect("an answer");
    assert_eq!(answer.status, 408, "{answer:?}");
}

#[test]
fn headers_that_do_not_arrive_are_given_up() {
    let (_folder, server) = server(&["--read-seconds", "1"]);
    let mut client = connect(&server, 1);
    client.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n");
    let gone = client.read().expect_err("no answer to half a request");
    assert_ne!(gone.kind(), io::ErrorKind::WouldBlock, "the connection is still open");
}

#[test]
fn a_token_has_only_so_many_calls_under_way() {
    let (_folder, server) = server(&["--calls-per-token", "2"]);
    let mut held = [hold(&server, 1), hold(&server, 1)];
    let answer = connect(&server, 1).post(&rpc("ping", &json!({})));
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"), "{answer:?}");
    assert_eq!(connect(&server, 2).post(&rpc("ping", &json!({}))).status, 200, "another is served");
    for client in &mut held {
        client.write(b"}");
        assert_eq!(client.read().expect("an answer").status, 200);
    }
    assert_eq!(connect(&server, 1).post(&rpc("ping", &json!({}))).status, 200);
}

#[test]
fn all_together_have_only_so_many_calls_under_way() {
    let (_folder, server) = server(&["--calls", "2"]);
    let mut held = [hold(&server, 1), hold(&server, 2)];
    assert_eq!(connect(&server, 3).post(&rpc("ping", &json!({}))).status, 429);
    for client in &mut held {
        client.write(b"}");
        assert_eq!(client.read().expect("an answer").status, 200);
    }
    assert_eq!(connect(&server, 3).post(&rpc("ping", &json!({}))).status, 200);
}

#[test]
fn only_so_many_connections_are_held() {
    let (_folder, server) = server(&["--connections", "3"]);
    let mut held: Vec<_> = (0..3).map(|_| connect(&server, 1)).collect();
    for client in &mut held {
        assert_eq!(client.get("/healthz").status, 200);
    }
    let mut more = connect(&server, 1);
    more.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(more.read().is_err(), "a connection too many is closed");
    assert_eq!(held[0].get("/healthz").status, 200);
}
