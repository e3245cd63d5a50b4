//! The server as a client and its user see it: start, end, crash, and folders that are not right.

mod support;

use std::{fs, path::Path};

use serde_json::{Value, json};
use support::{Server, program, run};

fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("folder")
}

fn errors(data: &Path, args: &[&str]) -> String {
    let output = run(data, args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_confirmed_memory_survives_a_hundred_crashes() {
    let place = place();
    let mut stored = Vec::new();
    for round in 0..100 {
        let mut server = Server::start(place.path(), "crash");
        let added =
            server.ok("add_memory", &json!({"content": format!("said before crash{round}")}));
        stored.push(added["id"].clone());
        server.kill();
        let mut server = Server::start(place.path(), "crash");
        let found =
            server.ok("search_memory", &json!({"query": format!("crash{round}"), "limit": 1}));
        assert_eq!(found["results"][0]["episode"]["id"], stored[round], "{found}");
        server.kill();
    }
    let mut server = Server::start(place.path(), "crash");
    let mut listed = Vec::new();
    for offset in (0..100).step_by(30) {
        let page = server.ok("search_memory", &json!({"query": "", "limit": 30, "offset": offset}));
        listed.extend(
            page["results"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|hit| hit["episode"]["id"].clone()),
        );
    }
    listed.reverse();
    assert_eq!(listed, stored);
}

#[test]
fn the_end_of_input_ends_the_process_after_what_is_in_flight() {
    let place = place();
    let mut server = Server::start(place.path(), "eof");
    for number in 0..40 {
        let arguments = json!({"content": format!("in flight {number}")});
        let params = json!({"name": "add_memory", "arguments": arguments});
        server.send(&json!({"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": params}));
    }
    assert!(server.close().success());
    let mut server = Server::start(place.path(), "eof");
    let listed = server.ok("search_memory", &json!({"query": "", "limit": 30}));
    assert_eq!(
        (listed["results"].as_array().map(Vec::len), &listed["has_more"]),
        (Some(30), &json!(true))
    );
    assert!(server.close().success());
    assert!(Server::spawn(&mut program(place.path())).close().success(), "without a handshake");
}

#[cfg(unix)]
#[test]
fn a_signal_to_end_is_obeyed_and_what_was_stored_is_answered() {
    let place = place();
    let mut server = Server::start(place.path(), "signal");
    for number in 0..200 {
        let arguments = json!({"content": format!("before the signal {number}")});
        let params = json!({"name": "add_memory", "arguments": arguments});
        server.send(&json!({"jsonrpc": "2.0", "id": 1000 + number, "method": "tools/call", "params": params}));
    }
    let pid = server.pid().to_string();
    let sent =
        std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
    assert!(sent.success());
    let (answers, status) = server.drain();
    assert!(status.success());
    let listed = run(place.path(), &["memory", "list", "--limit", "1000", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("json");
    assert_eq!(listed["memories"].as_array().map(Vec::len), Some(answers.len()));
}

#[test]
fn what_is_no_message_does_not_end_the_server() {
    let place = place();
    let mut server = Server::start(place.path(), "noise");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for noise in ["{not json", "", "42", "[]", "{\"jsonrpc\":\"2.0\"}", "\u{feff}", &deep] {
        server.send_raw(noise.as_bytes());
        server.send_raw(b"\n");
    }
    server.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"add_memory\",\"arguments\":{\"content\":\"half \\ud83d\"}}}\n");
    server.send_raw(b"\xff\xfe\x00\n");
    assert!(server.request("ping", &json!({}))["result"].is_object());
    server.ok("add_memory", &json!({"content": "after the noise"}));
    assert!(server.close().success());
}

#[test]
fn arguments_as_json_text_are_understood_and_other_shapes_are_explained() {
    let place = place();
    let mut server = Server::start(place.path(), "text");
    let text = json!({"name": "add_memory", "arguments": "{\"content\": \"sent as text\"}"});
    let answer = server.request("tools/call", &text);
    assert_eq!(answer["result"]["structuredContent"]["status"], "stored", "{answer}");
    assert!(answer["result"].get("resultType").is_none(), "{answer}");
    for wrong in [json!("{\"content\""), json!([1]), json!(7)] {
        let answer =
            server.request("tools/call", &json!({"name": "add_memory", "arguments": wrong}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            answer["result"]["content"][0]["text"]
                .as_str()
                .is_some_and(|t| t.starts_with("arguments: "))
        );
    }
    for (method, named) in [
        ("tools/call", "params.name"),
        ("prompts/get", "params.name"),
        ("resources/read", "params.uri"),
    ] {
        let error = server.request(method, &json!({"arguments": {}}))["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(named)), "{error}");
    }
    assert_eq!(server.request("no/such_method", &json!({}))["error"]["code"], -32601);
}

#[test]
fn the_source_is_derived_from_the_name_of_the_client() {
    let place = place();
    for (client, source) in
        [("claude-code", "Claude Code"), ("cursor-vscode", "Cursor"), ("my-agent", "my-agent")]
    {
        let mut server = Server::start(place.path(), client);
        let added = server.ok("add_memory", &json!({"content": format!("told by {client}")}));
        assert_eq!(added["source"], source);
        server.close();
    }
    let mut server = Server::start(place.path(), "reader");
    let found = server.ok("search_memory", &json!({"query": "", "sources": ["claude code"]}));
    assert_eq!(found["results"][0]["episode"]["content"], "told by claude-code");
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_default_project_is_never_a_filter() {
    let place = place();
    let mut server = Server::start(place.path(), "a");
    server.ok("add_memory", &json!({"content": "elsewhere", "project": "other"}));
    server.close();
    let mut server = Server::spawn(program(place.path()).args([
        "--project",
        "Acme Rewrite",
        "--toolsets",
        "memory",
    ]));
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}});
    server.request("initialize", &hello);
    let added = server.ok("add_memory", &json!({"content": "here"}));
    assert_eq!(added["project"], "acme-rewrite");
    let all = server.ok("search_memory", &json!({"query": ""}));
    assert_eq!(all["results"].as_array().map(Vec::len), Some(2));
    let unknown =
        server.request("tools/call", &json!({"name": "search_wiki", "arguments": {"query": ""}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn commands_work_beside_a_running_server() {
    let place = place();
    let mut server = Server::start(place.path(), "first");
    let added = server.ok("add_memory", &json!({"content": "seen by the command"}));
    let id = added["id"].as_str().expect("an id");
    let listed = run(place.path(), &["memory", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("json");
    assert_eq!(listed["memories"][0]["id"], id);
    assert!(run(place.path(), &["memory", "delete", id, "--yes"]).status.success());
    assert_eq!(server.ok("search_memory", &json!({"query": "seen"}))["results"], json!([]));
}

#[test]
fn a_folder_that_is_not_right_is_named_and_left_alone() {
    for (file, text, named) in [
        ("format.toml", "format = 99\nstore = \"redb\"\nwritten_by = \"9\"\n", "format 99"),
        ("config.toml", "colour = \"red\"\n", "config.toml"),
        ("store/tvix.redb", "this is no store at all", "tvix.redb"),
    ] {
        let place = place();
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        let message = errors(place.path(), &["memory", "list"]);
        assert!(message.contains(named), "{file}: {message}");
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
    }
    let place = place();
    let file = place.path().join("a file");
    fs::write(&file, "x").expect("written");
    let message = errors(&file, &["memory", "list"]);
    assert!(message.contains("a file"), "{message}");
}

#[cfg(unix)]
#[test]
fn too_few_file_handles_are_an_error_that_says_so_and_nothing_is_lost() {
    let place = place();
    let mut server = Server::start(place.path(), "before");
    server.ok("add_memory", &json!({"content": "stored with handles to spare"}));
    assert!(server.close().success());
    let binary = env!("CARGO_BIN_EXE_tvix-mcp-stdio");
    for handles in [5, 8, 11] {
        let script = format!("ulimit -n {handles}; exec '{binary}' memory list");
        let mut shell = std::process::Command::new("sh");
        let output =
            shell.args(["-c", &script]).env("TVIX_HOME", place.path()).output().expect("sh runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() || said.contains("Too many open files"),
            "{handles}: {said}"
        );
    }
    let mut server = Server::start(place.path(), "after");
    let found = server.ok("search_memory", &json!({"query": "handles"}));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_broken_profile_is_reported_and_the_server_lives_on() {
    let place = place();
    let text = "display_name = \"R\"\ntimezone = \n";
    fs::write(place.path().join("profile.toml"), text).expect("written");
    let mut server = Server::start(place.path(), "profile");
    let read = server.request("resources/read", &json!({"uri": "tvix://profile"}));
    assert!(read["error"]["message"].as_str().is_some_and(|m| m.contains("line 2")), "{read}");
    let dated = server.call("search_memory", &json!({"query": "", "date_from": "2031-01-01"}));
    assert_eq!(dated["isError"], true, "{dated}");
    server.ok("add_memory", &json!({"content": "works all the same"}));
    assert!(server.close().success());
    assert!(errors(place.path(), &["profile", "set", "role", "cook"]).contains("line 2"));
    assert_eq!(fs::read_to_string(place.path().join("profile.toml")).expect("read"), text);
}

#[test]
fn commands_do_what_they_say_in_text_and_in_json() {
    let place = place();
    let mut server = Server::start(place.path(), "seed");
    let id = |answer: &Value, key: &str| answer[key].as_str().expect("an id").to_owned();
    let a = id(
        &server.ok("add_memory", &json!({"content": "first line\nsecond", "project": "old"})),
        "id",
    );
    let b = id(&server.ok("add_memory", &json!({"content": "another"})), "id");
    let d = id(
        &server.ok("add_wiki", &json!({"title": "Page", "content": "body", "project": "Docs"})),
        "doc_id",
    );
    assert!(server.close().success());
    let text = |args: &[&str]| {
        let output = run(place.path(), args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let json = |args: &[&str]| -> Value { serde_json::from_str(&text(args)).expect("json") };
    assert!(text(&["version"]).contains(env!("CARGO_PKG_VERSION")));
    assert!(text(&["memory", "list"]).contains("first line…"));
    assert_eq!(json(&["memory", "list", "--project", "OLD", "--json"])["memories"][0]["id"], a);
    assert!(text(&["memory", "show", &a]).contains("second"));
    text(&["memory", "move", &b, "New Place"]);
    text(&["project", "move", "old", "new-place"]);
    let projects = json(&["project", "list", "--json"]);
    assert_eq!(projects["memory"], json!([{"name": "new-place", "count": 2}]));
    text(&["project", "move", "docs", "Papers", "--wiki"]);
    assert!(text(&["wiki", "list"]).contains("Papers"));
    assert!(text(&["wiki", "show", &d]).contains("body"));
    assert!(errors(place.path(), &["memory", "delete", &a]).contains("--yes"));
    text(&["memory", "delete", &a, &b, "--yes"]);
    text(&["wiki", "delete", &d, "--yes"]);
    assert_eq!(json(&["memory", "list", "--json"])["memories"], json!([]));
    assert!(errors(place.path(), &["wiki", "show", &d]).contains("not found"));
    text(&["profile", "set", "timezone", "Europe/Lisbon"]);
    assert_eq!(json(&["profile", "show", "--json"])["timezone"], "Europe/Lisbon");
    for wrong in [
        &["memory", "frobnicate"][..],
        &["memory", "list", "--limit", "0"],
        &["--toolsets", "foo"],
        &["--log", "loud", "version"],
        &["profile", "set", "age", "7"],
    ] {
        assert_eq!(run(place.path(), wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_demo_runs_and_leaves_nothing_behind() {
    let place = place();
    let output =
        program(place.path()).arg("demo").env("TMPDIR", place.path()).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    for part in ["billing migration", "v2.4.7", "Café", "星期三", "Deploy runbook"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert_eq!(fs::read_dir(place.path()).expect("folder").count(), 0);
}
