//! Several processes on one folder, and processes that are killed.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tvix_mcp_http::auth::{
    Authenticator as _, Clock, NewToken, NoAuth, PersonalTokens, Scope, Store, WithPersonalTokens,
};
use uuid::Uuid;

const FOLDER: &str = "TVIX_TEST_AUTH_FOLDER";

fn tokens(folder: &Path) -> PersonalTokens {
    PersonalTokens::new(Store::open(folder).unwrap(), Clock::system())
}

/// What a child process does: it makes tokens, one user for each, and prints each when it has it.
#[tokio::test]
#[ignore = "runs as a child of the test below"]
async fn child_makes_tokens() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let tokens = tokens(Path::new(&folder));
    loop {
        let new = NewToken {
            user: Uuid::now_v7(),
            name: "script".to_owned(),
            scopes: BTreeSet::from([Scope::MemoryRead]),
            days: 1,
        };
        let secret = tokens.create(new).await.unwrap();
        // Not captured: the parent reads it.
        writeln!(std::io::stdout(), "\nmade {}", secret.expose()).unwrap();
    }
}

fn child(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_makes_tokens", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Lets a child make some tokens, kills it in the middle of its work, and gives what it had confirmed.
fn confirmed(folder: &Path, at_least: usize) -> Vec<String> {
    let mut child = child(folder);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut made = Vec::new();
    while made.len() < at_least {
        let line = lines.next().expect("the child ended by itself").unwrap();
        made.extend(line.strip_prefix("made ").map(str::to_owned));
    }
    std::thread::sleep(Duration::from_millis(3));
    child.kill().unwrap();
    child.wait().unwrap();
    let rest = lines.map_while(Result::ok);
    // The last line may be cut.
    made.extend(rest.filter_map(|line| {
        line.strip_prefix("made ").filter(|token| token.len() == 51).map(str::to_owned)
    }));
    made
}

#[tokio::test]
async fn what_three_killed_processes_confirmed_is_known_to_a_fourth() {
    let folder = tempfile::tempdir().unwrap();
    let here = tokens(folder.path());
    let mut made = Vec::new();
    for _ in 0..3 {
        let three: Vec<_> = (0..3)
            .map(|_| {
                let folder = folder.path().to_owned();
                std::thread::spawn(move || confirmed(&folder, 5))
            })
            .collect();
        made.extend(three.into_iter().flat_map(|one| one.join().unwrap()));
    }
    assert!(made.len() >= 45, "{}", made.len());
    let auth = WithPersonalTokens::new(Arc::new(NoAuth), here);
    for token in &made {
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
        auth.authenticate(&headers).await.unwrap();
    }
}
