//! Each user has a store, and nothing leads from one into another.

mod support;

use serde_json::{Value, json};
use support::{Connection, Inside, bearer};

const ALL: &str = "memory:read memory:write wiki:read wiki:write";

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

fn connect(server: &Inside, user: usize) -> Connection {
    Connection::open(server.address).with("Authorization", &bearer(user as u128, "", ALL))
}

/// What marks everything that a user stores.
fn mark(user: usize) -> String {
    format!("mark{user:04}x")
}

/// Nothing in `answer` was stored by anyone but `user`.
fn assert_own(user: usize, answer: &Value) {
    let text = answer.to_string();
    for (place, _) in text.match_indices("mark") {
        assert!(text[place..].starts_with(&mark(user)), "user {user} got {answer}");
    }
}

/// One call, with the identifiers that others were given.
fn random_call(dice: &mut Dice, user: usize, seen: &[String]) -> (&'static str, Value) {
    let id = &seen[dice.throw(seen.len())];
    match dice.throw(7) {
        0 => ("search_memory", json!({"query": id})),
        1 => ("search_memory", json!({"query": "tea with", "offset": dice.throw(40), "limit": 30})),
        2 => ("search_wiki", json!({"query": id})),
        3 => ("search_wiki", json!({"query": "house rules"})),
        4 => ("update_wiki", json!({"doc_id": id, "title": format!("taken by {}", mark(user))})),
        5 => ("delete_wiki", json!({"doc_id": id})),
        _ => ("search_memory", json!({"query": "", "project": mark(dice.throw(50))})),
    }
}

#[test]
fn whatever_ids_fifty_users_try_they_reach_their_own_store_alone() {
    let folder = tempfile::tempdir().expect("folder");
    // Far fewer folders than users are open, so that folders are closed and opened all the time.
    let server = Inside::start(folder.path(), &["--open-users", "8"]);
    let (mut seen, mut documents) = (Vec::new(), Vec::new());
    for user in 1..=50 {
        let mut client = connect(&server, user);
        let name = mark(user);
        let memory = json!({"content": format!("tea with {name}"), "project": name});
        let page = json!({"title": format!("House rules of {name}"), "content": format!("Quiet, says {name}.")});
        seen.push(client.ok("add_memory", &memory)["id"].as_str().expect("an id").to_owned());
        let id = client.ok("add_wiki", &page)["doc_id"].as_str().expect("an id").to_owned();
        documents.push(id.clone());
        seen.push(id);
    }
    let mut dice = Dice(20_261_201);
    for _ in 0..400 {
        let user = 1 + dice.throw(50);
        let (name, arguments) = random_call(&mut dice, user, &seen);
        // A document that its owner deletes is gone for good; the count below allows for it.
        let own = arguments["doc_id"] == documents[user - 1].as_str();
        if !own {
            let answer = connect(&server, user).call(name, &arguments).to_string();
            // The answer to a search in a project says which project that was.
            let asked = arguments["project"].as_str().unwrap_or("no project");
            assert_own(user, &json!(answer.replace(asked, "")));
        }
    }
    for user in 1..=50 {
        let mut client = connect(&server, user);
        let memories = client.ok("search_memory", &json!({"query": ""}));
        assert_eq!(memories["results"].as_array().map(Vec::len), Some(1), "user {user}");
        let pages = client.ok("search_wiki", &json!({"query": documents[user - 1]}));
        let title = format!("House rules of {}", mark(user));
        assert_eq!(pages["results"][0]["title"], title.as_str(), "user {user}: {pages}");
        assert_own(user, &memories);
    }
}

#[test]
fn where_every_open_folder_is_in_use_the_next_user_waits_and_is_served() {
    let folder = tempfile::tempdir().expect("folder");
    let server = Inside::start(folder.path(), &["--open-users", "1"]);
    std::thread::scope(|scope| {
        for user in 1..=6 {
            let server = &server;
            scope.spawn(move || {
                let mut client = connect(server, user);
                for round in 0..4 {
                    let content = format!("{} in round {round}", mark(user));
                    client.ok("add_memory", &json!({"content": content}));
                }
                let found = client.ok("search_memory", &json!({"query": ""}));
                assert_eq!(found["results"].as_array().map(Vec::len), Some(4));
                assert_own(user, &found);
            });
        }
    });
}

#[test]
fn a_folder_that_cannot_be_opened_is_the_trouble_of_its_user_alone() {
    let folder = tempfile::tempdir().expect("folder");
    let broken = folder.path().join("users/00000000-0000-0000-0000-000000000001");
    std::fs::create_dir_all(&broken).expect("made");
    std::fs::write(broken.join("config.toml"), "log = ").expect("written");
    let server = Inside::start(folder.path(), &[]);
    let answer = connect(&server, 1).post(&support::tool("search_memory", &json!({"query": ""})));
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(!answer.body.contains("users/") && !answer.body.contains("config.toml"), "{answer:?}");
    connect(&server, 2).ok("search_memory", &json!({"query": ""}));
    std::fs::remove_file(broken.join("config.toml")).expect("removed");
    connect(&server, 1).ok("search_memory", &json!({"query": ""}));
}
