//! The commands that look after a folder, as a person runs them.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use support::{Server, run};

fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("folder")
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    path.display().to_string()
}

/// Runs a command that must succeed; what it prints on stdout and stderr.
fn good(data: &Path, args: &[&str]) -> (String, String) {
    let output = run(data, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

fn bad(data: &Path, args: &[&str]) -> String {
    let output = run(data, args);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(data: &Path, args: &[&str]) -> Value {
    let args = [args, &["--json"]].concat();
    serde_json::from_str(&good(data, &args).0).expect("json")
}

fn counts(summary: &Value) -> [u64; 5] {
    ["stored", "unchanged", "duplicate", "refused", "unreadable"]
        .map(|key| summary[key].as_u64().expect("a number"))
}

fn filled(data: &Path) {
    let mut server = Server::start(data, "care");
    server.ok("add_memory", &json!({"content": "rye on Fridays", "project": "bakery"}));
    server
        .ok("add_memory", &json!({"content": "opened", "metadata": {"event_time": "2031-03-10"}}));
    server.ok("add_wiki", &json!({"title": "Oven", "content": "Stone.\n", "project": "Tools"}));
    assert!(server.close().success());
}

/// The records of an export, without its first line.
fn exported(data: &Path) -> Vec<String> {
    let (text, _) = good(data, &["export"]);
    let mut lines = text.lines().map(str::to_owned);
    assert!(lines.next().is_some_and(|head| head.contains("\"tvix_export\":1")), "{text}");
    lines.collect()
}

#[test]
fn an_export_goes_into_another_folder_and_comes_out_the_same() {
    let place = place();
    let (first, second) = (place.path().join("first"), place.path().join("second"));
    let file = place.path().join("all.jsonl").display().to_string();
    filled(&first);
    good(&first, &["export", &file]);
    assert!(bad(&first, &["export", &file]).contains("there already"));
    let dry = json(&second, &["import", "tvix", &file, "--dry-run"]);
    assert_eq!((counts(&dry), exported(&second).len()), ([3, 0, 0, 0, 0], 0));
    assert_eq!(counts(&json(&second, &["import", "tvix", &file])), [3, 0, 0, 0, 0]);
    assert_eq!(exported(&second), exported(&first));
    assert_eq!(counts(&json(&second, &["import", "tvix", &file])), [0, 3, 0, 0, 0]);
    let text = fs::read_to_string(&file).expect("read");
    let broken = text.replacen("\"content\":\"rye", "\"content\":7,\"x\":\"rye", 1);
    fs::write(&file, broken.replacen("opened", "  ", 1)).expect("written");
    let (said, errors) = good(&place.path().join("third"), &["import", "tvix", &file]);
    assert!(said.contains("stored 1;") && said.contains("1 refused, 1 unreadable"), "{said}");
    assert!(errors.contains("line 2: ") && errors.contains("line 3: content: "), "{errors}");
}

#[test]
fn what_other_programs_remember_is_taken_in_once() {
    let place = place();
    let data = place.path();
    let from = |kind: &str, name: &str| json(data, &["import", kind, &fixture(name)]);
    assert_eq!(counts(&from("mcp-memory", "mcp-memory.jsonl")), [4, 0, 1, 0, 1]);
    assert_eq!(counts(&from("mcp-memory", "mcp-memory.jsonl")), [0, 0, 5, 0, 1]);
    assert_eq!(counts(&from("claude", "memories.json")), [3, 0, 0, 0, 0]);
    assert_eq!(counts(&from("claude", "memories.json")), [0, 0, 3, 0, 0]);
    assert_eq!(counts(&from("markdown", "markdown")), [2, 0, 0, 0, 0]);
    assert_eq!(counts(&from("markdown", "markdown")), [0, 2, 0, 0, 0]);
    let records: Vec<Value> =
        exported(data).iter().map(|line| serde_json::from_str(line).expect("json")).collect();
    let of = |text: &str| {
        let found = records.iter().find(|record| record["content"].as_str() == Some(text));
        found.unwrap_or_else(|| panic!("{text} is missing")).clone()
    };
    assert_eq!(of("Hollow Oak Bakery bakes with Stone oven")["source"], "MCP Memory");
    assert_eq!(of("Hollow Oak Bakery: opens at six")["metadata"]["entity_type"], "company");
    assert_eq!(of("The cellar is kept at 12 degrees.")["project"], "cider-press");
    assert_eq!(of("Preferences: Likes short answers.")["source"], "Claude");
    let starter = of("Feed it every morning.\n");
    assert_eq!(starter["title"], "Starter");
    assert_eq!(
        (&starter["project"], &starter["metadata"]["tags"]),
        (&json!("Bakery"), &json!(["rye", "sour"]))
    );
    assert_eq!(of("# The oven\n\nStone, heated for three hours.\n")["title"], "The oven");
}

#[test]
fn what_cannot_be_read_at_all_fails_and_makes_no_folder() {
    let place = place();
    let data = place.path().join("data");
    for (kind, name) in [
        ("tvix", "memories.json"),
        ("claude", "mcp-memory.jsonl"),
        ("markdown", "memories.json"),
        ("tvix", "not there"),
    ] {
        bad(&data, &["import", kind, &fixture(name)]);
        assert!(!data.exists(), "{kind} {name}");
    }
    assert!(bad(&data, &["import", "mcp-memory", &fixture("projects.json")]).contains("nothing"));
    let usage = run(&data, &["import", "floppy", &fixture("memories.json")]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_backup_is_made_whole_and_restored_whole() {
    let place = place();
    let (first, second) = (place.path().join("first"), place.path().join("second"));
    let file = place.path().join("backup.jsonl").display().to_string();
    filled(&first);
    good(&first, &["profile", "set", "role", "baker"]);
    good(&first, &["backup", &file]);
    assert!(bad(&first, &["backup", &file]).contains("there already"));
    assert!(bad(&first, &["restore", &file]).contains("holds documents"));
    good(&second, &["restore", &file]);
    assert_eq!(exported(&second), exported(&first));
    assert_eq!(json(&second, &["profile", "show"])["role"], "baker");
    let text = fs::read_to_string(&file).expect("read");
    fs::write(&file, &text[..text.len() - 10]).expect("cut off");
    let third = place.path().join("third");
    assert!(bad(&third, &["restore", &file]).contains("damaged"));
    assert!(!third.exists());
    let left = fs::read_dir(place.path()).expect("folder").count();
    assert_eq!(left, 3, "no partial file is left");
}

#[test]
fn a_restore_that_is_killed_can_be_run_again() {
    let place = place();
    let (first, second) = (place.path().join("first"), place.path().join("second"));
    let file = place.path().join("backup.jsonl").display().to_string();
    let mut server = Server::start(&first, "fill");
    for number in 0..300 {
        server.ok("add_memory", &json!({"content": format!("number {number} of many")}));
    }
    assert!(server.close().success());
    good(&first, &["backup", &file]);
    for millis in [0, 1, 2, 4, 8, 12, 20, 40] {
        let mut command = support::program(&second);
        let command = command.args(["restore", &file]).stdout(std::process::Stdio::null());
        let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("starts");
        std::thread::sleep(std::time::Duration::from_millis(millis));
        // One that was quicker has ended already.
        let _ = child.kill();
        child.wait().expect("gone");
        let memories = json(&second, &["memory", "list", "--limit", "1000"])["memories"].clone();
        let count = memories.as_array().map(Vec::len);
        assert!(matches!(count, Some(0 | 300)), "after {millis} ms: {count:?}");
        if count == Some(300) {
            std::fs::remove_dir_all(&second).expect("removed");
        }
    }
    if !second.join("store/tvix.redb").exists() || exported(&second).is_empty() {
        good(&second, &["restore", &file]);
    }
    assert_eq!(exported(&second), exported(&first));
}

#[test]
fn doctor_reads_well_and_fails_when_something_needs_care() {
    let place = place();
    let data = place.path().join("data");
    filled(&data);
    let healthy = run(&data, &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&healthy.stdout).expect("json");
    assert_eq!(
        (&report["report"]["memories"], &report["report"]["wiki_documents"]),
        (&json!(2), &json!(1))
    );
    let text = String::from_utf8(run(&data, &["doctor"]).stdout).expect("text");
    for part in
        ["store: good: 3 documents", "documents are found by meaning", "format: good: format 1"]
    {
        assert!(text.contains(part), "{text}");
    }
    fs::write(data.join("config.toml"), "colour = 1\n").expect("written");
    assert!(bad(&data, &["doctor"]).contains("needs care"));
    fs::remove_file(data.join("config.toml")).expect("removed");
    assert!(good(&data, &["reindex"]).0.contains("3 documents"));
    let server = Server::start(&data, "other");
    let beside = String::from_utf8(run(&data, &["doctor"]).stdout).expect("text");
    assert!(beside.contains("store: good: 3 documents"), "{beside}");
    let backup = place.path().join("beside.jsonl").display().to_string();
    assert!(good(&data, &["backup", &backup]).0.contains("3 documents"), "while a server runs");
    server.kill();
}

/// A folder that version 0.1.0 wrote, with two memories and a wiki document; without its index, which is
/// derived.
#[test]
fn a_folder_of_this_release_opens() {
    let place = place();
    let data: PathBuf = place.path().join("data");
    fs::create_dir_all(data.join("store")).expect("made");
    fs::copy(fixture("folder-0.1.0/tvix.redb"), data.join("store/tvix.redb")).expect("copied");
    fs::copy(fixture("folder-0.1.0/format.toml"), data.join("format.toml")).expect("copied");
    let lines = fs::read_to_string(fixture("folder-0.1.0/export.jsonl")).expect("the fixture");
    assert_eq!(exported(&data), lines.lines().skip(1).collect::<Vec<_>>());
    let mut server = Server::start(&data, "later");
    let found = server.ok("search_memory", &json!({"query": "rye"}));
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1), "{found}");
    assert!(server.close().success());
    let text = String::from_utf8(run(&data, &["doctor"]).stdout).expect("text");
    assert!(text.contains("store: good: 3 documents"), "{text}");
}
