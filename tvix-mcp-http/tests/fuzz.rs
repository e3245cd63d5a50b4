//! Whatever is sent, the server answers, and never with a fault of its own.
//!
//! A few hundred requests in every run; `TVIX_FUZZ_SECONDS` makes it go on for that long.
#![allow(clippy::panic, reason = "what fails shows what came")]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Connection, Inside, bearer, tool};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";
/// How many requests where nothing else is asked for.
const ROUNDS: u64 = 5_000;
const METHODS: [&str; 13] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/read",
    "resources/list",
    "prompts/get",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "completion/complete",
    "logging/setLevel",
    "sampling/createMessage",
];
const TOOLS: [&str; 7] = [
    "add_memory",
    "search_memory",
    "get_current_date",
    "add_wiki",
    "search_wiki",
    "update_wiki",
    "delete_wiki",
];
const HEADERS: [&str; 14] = [
    "Accept",
    "Content-Type",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Session-Id",
    "Last-Event-ID",
    "Origin",
    "Host",
    "X-Forwarded-For",
    "Forwarded",
    "User-Agent",
    "X-Request-Id",
    "Expect",
];
const HEADER_VALUES: [&str; 12] = [
    "application/json",
    "application/json, text/event-stream",
    "*/*",
    "2026-07-28",
    "2025-11-25",
    "tools/call",
    "add_memory",
    "=?base64?YWRk?=",
    "=?base64?%?=",
    "localhost",
    "http://localhost",
    "null",
];

struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.throw(of.len())]
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        (0..self.throw(max)).map(|_| u8::try_from(self.throw(256)).expect("a byte")).collect()
    }

    fn text(&mut self) -> String {
        let bytes = self.bytes(24);
        let printed: String = bytes.iter().map(|byte| char::from(byte % 95 + 32)).collect();
        let odd = [
            "",
            "null",
            "-1",
            "tools/call",
            "add_memory",
            "\u{202e}é\u{1f600}",
            "../..",
            "tvix://recent",
        ];
        if self.throw(2) == 0 { printed } else { self.one(&odd).to_owned() }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.throw(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.throw(2) == 0),
            2 => json!(i64::try_from(self.0 >> 1).expect("63 bits")),
            3 => json!(-0.5e30),
            4 => json!(self.text()),
            5 => (0..self.throw(4)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.throw(4)).map(|_| (self.text(), self.value(depth - 1))).collect(),
        }
    }

    /// A message with some of what a message has.
    fn message(&mut self) -> Value {
        let mut message = tool(self.one(&TOOLS), &self.value(3));
        let method = json!(self.one(&METHODS));
        let (id, version, params) = (self.value(1), self.value(0), self.value(3));
        for (key, value) in
            [("method", method), ("id", id), ("jsonrpc", version), ("params", params)]
        {
            match self.throw(8) {
                0 => message[key] = value,
                1 => message[key] = Value::Null,
                2 if key == "method" => message[key] = value,
                _ => {}
            }
        }
        if self.throw(3) == 0 && message["params"].is_object() {
            message["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": self.value(2),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        message
    }

    fn body(&mut self) -> Vec<u8> {
        let mut body = self.message().to_string().into_bytes();
        match self.throw(10) {
            0 => self.bytes(200),
            1 => {
                let at = self.throw(body.len());
                body[at] = u8::try_from(self.throw(256)).expect("a byte");
                body
            }
            2 => {
                body.truncate(self.throw(body.len()));
                body
            }
            3 => "[".repeat(self.throw(50_000)).into_bytes(),
            _ => body,
        }
    }

    fn headers(&mut self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Authorization", bearer(self.throw(3) as u128, &self.text(), ALL))];
        if self.throw(4) > 0 {
            headers.push(("Content-Type", "application/json".to_owned()));
        }
        for _ in 0..self.throw(4) {
            let value =
                if self.throw(3) == 0 { self.text() } else { self.one(&HEADER_VALUES).to_owned() };
            headers.push((self.one(&HEADERS), value));
        }
        headers
    }
}

/// Whether there is time for round `round`.
fn goes_on(round: u64, began: Instant) -> bool {
    let seconds = std::env::var("TVIX_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(round < ROUNDS, |seconds| began.elapsed() < Duration::from_secs(seconds))
}

#[test]
fn every_request_gets_an_answer_that_is_no_fault_of_the_server() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), &[]);
    let (began, mut round) = (Instant::now(), 0);
    while goes_on(round, began) {
        let mut dice = Dice(round);
        round += 1;
        let method = dice.one(&["POST", "POST", "POST", "POST", "POST", "GET", "PUT", "OPTIONS"]);
        let path = dice.one(&[
            "/mcp", "/mcp", "/mcp/", "/api/mcp", "/mcp?x=%", "/healthz", "/..%2f", "/mcp/x",
        ]);
        let (headers, body) = (dice.headers(), dice.body());
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut client = Connection::open(server.address);
        let head = client.head(method, path, &headers, body.len());
        client.write(&head);
        client.write(&body);
        let answer = client.read();
        let shown =
            || format!("round {}: {head:?} {:?}", round - 1, String::from_utf8_lossy(&body));
        let answer = answer.unwrap_or_else(|error| panic!("{error} in {}", shown()));
        assert!(answer.status < 500 && answer.status != 429, "{answer:?} in {}", shown());
    }
    let mut client = Connection::open(server.address).with("Authorization", &bearer(9, "", ALL));
    client.ok("get_current_date", &json!({}));
}

#[test]
fn bytes_that_are_no_http_harm_nobody() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), &[]);
    for round in 0..200 {
        let mut dice = Dice(round);
        let mut client = Connection::open(server.address);
        client.write(&dice.bytes(300));
        client.write(b"\r\n\r\n\r\n\r\n");
        // Refused, or the connection is closed.
        assert!(client.read().map_or(true, |answer| answer.status < 500));
    }
    assert_eq!(Connection::open(server.address).get("/healthz").status, 200);
}
