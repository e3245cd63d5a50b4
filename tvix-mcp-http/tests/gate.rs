//! Requests from strange pages, under strange names, without a token or with too little of one.

mod support;

use serde_json::json;
use support::{Connection, Inside, bearer, rpc, tool};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";

fn server(flags: &[&str]) -> (tempfile::TempDir, Inside) {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), flags);
    (folder, server)
}

#[test]
fn a_page_from_elsewhere_is_refused_preflight_and_all() {
    let (_folder, server) = server(&["--allowed-origins", "https://app.example.org"]);
    let list = rpc("tools/list", &json!({}));
    let preflight = |origin: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        Connection::open(server.address).send("OPTIONS", "/mcp", &headers, b"")
    };
    let post = |origin: &str| {
        let mut client =
            Connection::open(server.address).with("Authorization", &bearer(1, "", ALL));
        client.post_with(&[("Origin", origin)], &list)
    };
    for origin in
        ["http://evil.example", "null", "https://app.example.org.evil", "localhost", "http://"]
    {
        assert_eq!((preflight(origin).status, post(origin).status), (403, 403), "{origin}");
    }
    for origin in ["https://app.example.org", "http://localhost:6274", "http://127.0.0.1:80"] {
        assert_eq!((preflight(origin).status, post(origin).status), (200, 200), "{origin}");
        assert_eq!(post(origin).header("access-control-allow-origin"), origin);
        let exposed = post(origin).header("access-control-expose-headers").to_lowercase();
        assert!(exposed.contains("www-authenticate"), "{exposed}");
    }
}

#[test]
fn a_name_that_is_not_ours_is_refused() {
    let (_folder, server) = server(&["--public-url", "https://memory.example.org"]);
    // A connection each: one whose request was refused unread may be closed.
    let connect = || Connection::open(server.address).with("Authorization", &bearer(1, "", ALL));
    let list = rpc("tools/list", &json!({}));
    for (host, status) in [
        ("memory.example.org", 200),
        ("MEMORY.example.org:443", 200),
        ("127.0.0.1:1", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("a b", 400),
    ] {
        assert_eq!(connect().post_with(&[("Host", host)], &list).status, status, "{host}");
    }
    let probe = connect().send("GET", "/healthz", &[("Host", "10.1.2.3")], b"");
    assert_eq!(probe.status, 200, "probes name a server by its bare address");
}

#[test]
fn who_has_no_token_is_told_where_to_get_one() {
    let (_folder, server) = server(&[]);
    let mut client = Connection::open(server.address);
    let list = rpc("tools/list", &json!({}));
    let metadata =
        "resource_metadata=\"http://localhost/.well-known/oauth-protected-resource/mcp\"";
    let bare = format!("Bearer {metadata}, scope=\"{ALL}\"");
    for answer in [client.post(&list), client.get("/mcp"), client.get("/mcp/")] {
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, bare.as_str()));
        assert!(answer.json()["error"].is_string());
    }
    let bad = client.post_with(&[("Authorization", "Bearer nonsense")], &list);
    let challenge = bad.header("www-authenticate");
    assert!(bad.status == 401 && challenge.contains("error=\"invalid_token\""), "{bad:?}");
    assert!(!bad.body.contains("nonsense"));
}

#[test]
fn a_token_in_the_query_is_refused() {
    let (_folder, server) = server(&[]);
    let mut client = Connection::open(server.address).with("Authorization", &bearer(1, "", ALL));
    let headers = [("Content-Type", "application/json")];
    let list = rpc("tools/list", &json!({})).to_string();
    let answer = client.send("POST", "/mcp?x=1&access_token=1//", &headers, list.as_bytes());
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[test]
fn a_call_beyond_the_scopes_of_a_token_does_not_run() {
    let (_folder, server) = server(&[]);
    let connect =
        |scopes| Connection::open(server.address).with("Authorization", &bearer(1, "", scopes));
    let mut reader = connect("memory:read");
    let refused = reader.post(&tool("add_memory", &json!({"content": "not to be stored"})));
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = refused.header("www-authenticate");
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(challenge.contains("scope=\"memory:read memory:write\""), "{challenge}");

    for (scopes, name, arguments) in [
        ("memory:write wiki:read wiki:write", "search_memory", json!({"query": ""})),
        ("memory:read memory:write wiki:read", "add_wiki", json!({"title": "t", "content": "c"})),
        ("memory:read memory:write wiki:read", "delete_wiki", json!({"doc_id": "x"})),
        ("memory:read", "search_wiki", json!({"query": ""})),
    ] {
        assert_eq!(connect(scopes).post(&tool(name, &arguments)).status, 403, "{name}");
    }
    let recent = rpc("resources/read", &json!({"uri": "tvix://recent"}));
    assert_eq!(connect("wiki:read").post(&recent).status, 403);

    let found = reader.ok("search_memory", &json!({"query": ""}));
    assert_eq!(found["results"], json!([]), "the refused call stored nothing");
    assert_eq!(connect("").post(&rpc("tools/list", &json!({}))).status, 200);
}

#[test]
fn only_scopes_of_toolsets_that_are_on_are_asked_for() {
    let (_folder, server) = server(&["--toolsets", "wiki"]);
    let answer = Connection::open(server.address).get("/mcp");
    assert!(
        answer.header("www-authenticate").ends_with("scope=\"wiki:read wiki:write\""),
        "{answer:?}"
    );
}
