//! The endpoint speaks the protocol, to strict clients and to `curl`.

mod support;

use serde_json::{Value, json};
use support::{Connection, Inside, bearer, rpc, tool};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";

fn server() -> (tempfile::TempDir, Inside) {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), &[]);
    (folder, server)
}

fn connect(server: &Inside) -> Connection {
    Connection::open(server.address).with("Authorization", &bearer(1, "", ALL))
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "cursor-vscode", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    rpc(method, &params)
}

#[test]
fn both_eras_are_served_at_one_address_with_and_without_a_slash() {
    let (_folder, server) = server();
    let mut client = connect(&server);
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    });
    let answer = client.post(&rpc("initialize", &hello));
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25", "{answer:?}");
    assert_eq!(answer.header("mcp-session-id"), "", "nothing hangs on a session");

    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "server/discover"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let discover = modern("server/discover", json!({})).to_string();
    for path in ["/mcp", "/mcp/"] {
        let answer = client.send("POST", path, &headers, discover.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["result"]["resultType"], "complete");
    }
}

#[test]
fn a_body_that_is_no_message_is_answered_as_json_rpc() {
    let (_folder, server) = server();
    let mut client = connect(&server);
    let headers = [("Content-Type", "application/json")];
    for (body, code) in [
        ("{not json", -32700),
        ("", -32700),
        ("\u{feff}{}", -32700),
        ("42", -32600),
        ("{}", -32600),
        ("[]", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
    ] {
        let answer = client.send("POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert_eq!(answer.json()["error"]["code"], code, "{body}: {answer:?}");
    }
}

#[test]
fn headers_that_say_something_else_are_refused() {
    let (_folder, server) = server();
    let mut client = connect(&server);
    let list = rpc("tools/list", &json!({}));
    assert_eq!(client.post_with(&[("Content-Type", "text/plain")], &list).status, 415);
    assert_eq!(client.post_with(&[("Accept", "text/html")], &list).status, 406);
    assert_eq!(client.post_with(&[("MCP-Protocol-Version", "1999-01-01")], &list).status, 400);
    for accept in ["*/*", "application/json", "text/html, application/*;q=0.8"] {
        assert_eq!(client.post_with(&[("Accept", accept)], &list).status, 200, "{accept}");
    }
}

#[test]
fn only_post_is_answered() {
    let (_folder, server) = server();
    let mut client = connect(&server);
    for method in ["GET", "PUT", "DELETE", "PATCH"] {
        let answer = client.send(method, "/mcp", &[("Accept", "text/event-stream")], b"");
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method}");
    }
    assert_eq!(client.get("/nothing").status, 404);
}

#[test]
fn a_plain_call_needs_neither_session_nor_special_headers() {
    let (_folder, server) = server();
    let mut client = connect(&server);
    let body = tool("get_current_date", &json!({})).to_string();
    for kind in ["application/x-www-form-urlencoded", "text/plain", "application/json"] {
        let headers = [("Content-Type", kind), ("Accept", "*/*")];
        let answer = client.send("POST", "/api/mcp", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{kind}: {answer:?}");
        assert!(answer.json()["result"]["structuredContent"]["now_utc"].is_string());
    }
    assert_eq!(client.send("POST", "/api/mcp", &[], body.as_bytes()).status, 200);
}

#[test]
fn a_session_of_before_is_no_hindrance() {
    let (_folder, server) = server();
    let stale = [("Mcp-Session-Id", "00000000-0000-4000-8000-000000000000")];
    let answer = connect(&server).post_with(&stale, &rpc("tools/list", &json!({})));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// What is stored is named after the client that the token belongs to, else the one that the message or
/// the `User-Agent` names.
#[test]
fn the_source_of_a_memory_is_the_client() {
    let (_folder, server) = server();
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "add_memory"),
    ];
    let add = |user, client: &str, headers: &[(&str, &str)], message: &Value| {
        let mut client =
            Connection::open(server.address).with("Authorization", &bearer(user, client, ALL));
        let answer = client.post_with(headers, message).json();
        answer["result"]["structuredContent"]["source"].clone()
    };
    let params = json!({"name": "add_memory", "arguments": {"content": "tea at four"}});
    let older = rpc("tools/call", &params);
    assert_eq!(add(1, "Gemini CLI", &headers, &modern("tools/call", params.clone())), "Gemini CLI");
    assert_eq!(add(2, "", &headers, &modern("tools/call", params)), "Cursor");
    assert_eq!(add(3, "", &[("User-Agent", "claude-code/2.1.285 (cli)")], &older), "Claude Code");
    assert_eq!(add(4, "", &[("User-Agent", "python-httpx/0.28")], &older), "Unknown");
}
