//! One folder, several handles: each handle is what one process holds.
#![cfg(feature = "shared")]

use std::{path::Path, sync::Arc};

use serde_json::json;
use tvix_core::{
    Error, Result, Settings,
    embed::{Embedder, Hints, Model, Role, Vector},
    memory::{AddStatus, NewMemory},
    search::Query,
    shared::{self, Handle},
    storage::{Filter, Kind, Page},
    tools::{CallContext, Service, ServiceError},
    types::{Id, ProjectSlug, QueryText, Source},
    wiki::{DocumentEdit, NewDocument},
};

async fn open(folder: &Path) -> Handle {
    shared::open(folder, Settings::default()).await.expect("opened")
}

async fn remember(handle: &Handle, content: &str) -> Id {
    let added = handle.memory().add(NewMemory::new(content).expect("content")).await;
    added.expect("added").memory.id
}

async fn listed(handle: &Handle) -> Vec<Id> {
    let recent = handle.memory().recent(&Filter::default(), Page::first(1000)).await;
    let mut ids: Vec<Id> =
        recent.expect("listed").records.into_iter().map(|record| record.id).collect();
    ids.sort();
    ids
}

async fn found(handle: &Handle, query: &str) -> usize {
    // Quoted: what is only alike does not count.
    let arguments = json!({"query": format!("\"{query}\"")});
    let reply =
        handle.call(&CallContext::default(), "search_memory", arguments).await.expect("found");
    reply.structured["results"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn the_first_owns_the_folder_and_the_others_see_and_write_the_same() {
    let place = tempfile::tempdir().expect("folder");
    let handles = [open(place.path()).await, open(place.path()).await, open(place.path()).await];
    assert_eq!(handles.iter().map(Handle::is_owner).collect::<Vec<_>>(), [true, false, false]);
    let mut ids = Vec::new();
    for (number, handle) in handles.iter().enumerate() {
        ids.push(remember(handle, &format!("plank number{number}")).await);
        for other in &handles {
            assert_eq!(found(other, &format!("number{number}")).await, 1);
        }
    }
    for handle in &handles {
        assert_eq!(listed(handle).await, ids);
    }
}

#[tokio::test]
async fn a_client_offers_every_call_that_an_owner_does() {
    let place = tempfile::tempdir().expect("folder");
    let _owner = open(place.path()).await;
    let client = open(place.path()).await.speaking_for(Source::named("Codex"));
    let memory = client.memory();
    let many = vec![
        NewMemory::new("one").expect("content").in_project("old").expect("slug"),
        NewMemory::new("ONE").expect("content").in_project("old").expect("slug"),
        NewMemory::new("sk-Zt4Kq9Lm2Xw7Pc5Rv8Ny3Hb6Jd1Fg0").expect("content"),
    ];
    let results = memory.add_many(many).await.expect("sent");
    let first = results[0].as_ref().expect("stored");
    assert_eq!((first.status, first.memory.source.as_str()), (AddStatus::Stored, "Codex"));
    assert_eq!(results[1].as_ref().expect("known").status, AddStatus::Duplicate);
    assert!(matches!(&results[2], Err(Error::InvalidInput { field, .. }) if field == "content"));
    let (old, new) =
        (ProjectSlug::new("old").expect("slug"), ProjectSlug::new("new").expect("slug"));
    assert_eq!(client.projects().move_memories(&old, &new).await.expect("moved").moved, 1);
    assert_eq!(client.projects().memory_projects().await.expect("listed")[0].name, "new");
    let id = first.memory.id;
    memory.move_to(id, None).await.expect("moved");
    assert_eq!(memory.get(id).await.expect("there").project, None);
    memory.delete(id).await.expect("deleted");
    assert!(matches!(memory.get(id).await, Err(Error::NotFound { .. })));
    let page = NewDocument::new("Page", "body").expect("page").in_project("Docs").expect("name");
    let doc = client.wiki().add(page).await.expect("added").document.id;
    let edit = DocumentEdit { project: tvix_core::types::Patch::Clear, ..DocumentEdit::default() };
    assert!(client.wiki().update(doc, edit).await.expect("updated").moved);
    assert_eq!(
        client
            .wiki()
            .recent(&Filter::default(), Page::first(5))
            .await
            .expect("listed")
            .records
            .len(),
        1
    );
    client.wiki().delete(doc).await.expect("deleted");
    let context = CallContext::default();
    assert_eq!(client.tools(&context).await.expect("tools").len(), 7);
    assert!(
        client.read_resource(&context, "tvix://profile").await.expect("read").contains("timezone")
    );
    let unknown = client.call(&context, "forget_everything", json!({})).await;
    assert!(matches!(unknown, Err(ServiceError::UnknownTool(_))));
    let refused = client.call(&context, "search_memory", json!({"query": "", "limit": 99})).await;
    assert!(
        matches!(refused, Err(ServiceError::Failed(Error::InvalidInput { field, .. })) if field == "limit")
    );
}

#[tokio::test]
async fn when_the_owner_leaves_another_takes_over_and_calls_go_on() {
    let place = tempfile::tempdir().expect("folder");
    let mut handles =
        vec![open(place.path()).await, open(place.path()).await, open(place.path()).await];
    let mut ids = vec![remember(&handles[0], "by the first").await];
    while handles.len() > 1 {
        handles.remove(0).close().await;
        for (number, handle) in handles.iter().enumerate() {
            ids.push(
                remember(handle, &format!("{} are left, this is {number}", handles.len())).await,
            );
        }
        assert_eq!(handles.iter().filter(|handle| handle.is_owner()).count(), 1);
        for handle in &handles {
            assert_eq!(listed(handle).await, ids);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_are_under_way_when_the_owner_leaves_land_once() {
    let place = tempfile::tempdir().expect("folder");
    for round in 0..10 {
        let owner = open(place.path()).await;
        let client = open(place.path()).await;
        let before = listed(&client).await.len();
        let writes: Vec<_> = (0..40)
            .map(|number| {
                let client = client.clone();
                tokio::spawn(async move {
                    remember(&client, &format!("round {round} write {number}")).await
                })
            })
            .collect();
        tokio::time::sleep(std::time::Duration::from_millis(round)).await;
        owner.close().await;
        for write in writes {
            write.await.expect("written");
        }
        assert_eq!(listed(&client).await.len(), before + 40);
        client.close().await;
    }
}

#[tokio::test]
async fn a_closed_handle_says_so() {
    let place = tempfile::tempdir().expect("folder");
    let handle = open(place.path()).await;
    handle.close().await;
    handle.close().await;
    let error = handle.memory().get(Id::new()).await.expect_err("closed");
    assert!(error.to_string().contains("closed"), "{error}");
    assert!(open(place.path()).await.is_owner());
}

#[cfg(unix)]
#[tokio::test]
async fn what_dead_processes_left_behind_is_no_hindrance_and_strangers_stay_out() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().expect("folder");
    let socket = place.path().join("tvix.sock");
    std::fs::write(place.path().join("LOCK"), "").expect("written");
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a stale socket"));
    let owner = open(place.path()).await;
    let mode = std::fs::metadata(&socket).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    remember(&open(place.path()).await, "through the new socket").await;
    owner.close().await;
    assert!(!socket.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn another_version_is_told_which_program_to_update() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let place = tempfile::tempdir().expect("folder");
    let _owner = open(place.path()).await;
    for (greeting, advice) in [
        (json!({"tvix": 99, "version": "9.0.0", "format": 1}), "that owns the folder"),
        (json!({"tvix": 0, "version": "0.0.1", "format": 1}), "that you start here"),
    ] {
        let mut stream = tokio::net::UnixStream::connect(place.path().join("tvix.sock"))
            .await
            .expect("a socket");
        let text = greeting.to_string();
        stream
            .write_all(&u32::try_from(text.len()).expect("short").to_le_bytes())
            .await
            .expect("sent");
        stream.write_all(text.as_bytes()).await.expect("sent");
        let length = stream.read_u32_le().await.expect("an answer");
        let mut answer = vec![0; length as usize];
        stream.read_exact(&mut answer).await.expect("an answer");
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("json");
        assert!(answer["err"].as_str().is_some_and(|text| text.contains(advice)), "{answer}");
        assert_eq!(stream.read(&mut [0; 1]).await.expect("hung up"), 0);
    }
    let mut noise =
        tokio::net::UnixStream::connect(place.path().join("tvix.sock")).await.expect("a socket");
    noise.write_all(&[0xff; 64]).await.expect("sent");
    remember(&open(place.path()).await, "the owner lives on").await;
}

fn query(kind: Kind, text: &str) -> Query {
    let text = QueryText::new(text).expect("a query");
    Query { kind, text, filter: Filter::default(), page: Page::first(5) }
}

#[tokio::test]
async fn a_client_finds_what_the_owner_finds() {
    let place = tempfile::tempdir().expect("folder");
    let (owner, client) = (open(place.path()).await, open(place.path()).await);
    remember(&owner, "The gateway timed out").await;
    remember(&client, "Rye bread with caraway").await;
    for text in ["what timed out?", "\"caraway\"", "", "nothing of the kind xyzzy"] {
        let query = query(Kind::Memory, text);
        let (here, there) = (owner.search().search(&query), client.search().search(&query));
        assert_eq!(here.await.expect("found"), there.await.expect("found"), "{text}");
        let (here, there) = (owner.search().passages(&query), client.search().passages(&query));
        assert_eq!(here.await.expect("found"), there.await.expect("found"), "{text}");
    }
    owner.profile_source().set("timezone", "Asia/Tokyo").expect("set");
    assert_eq!(client.zone().expect("a zone").name(), "Asia/Tokyo");
}

/// Knows one word: all texts with it are alike.
#[derive(Debug)]
struct OneWord(Model);

#[async_trait::async_trait]
impl Embedder for OneWord {
    fn model(&self) -> &Model {
        &self.0
    }

    fn hints(&self) -> Hints {
        Hints { instant: true, ..Hints::TRANSFORMER }
    }

    async fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vector>> {
        let alike = |text: &&str| text.contains("bread") || text.contains("loaf");
        Ok(texts
            .iter()
            .map(|text| if alike(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
            .collect())
    }
}

#[tokio::test]
async fn an_embedder_of_the_callers_is_used_by_the_owner() {
    let place = tempfile::tempdir().expect("folder");
    let model = Model { name: "one-word".to_owned(), dimension: 2 };
    let embedder: Arc<dyn Embedder> = Arc::new(OneWord(model));
    let opened = shared::open_embedding(place.path(), Settings::default(), Some(embedder)).await;
    let owner = opened.expect("opened");
    let client = open(place.path()).await;
    remember(&client, "bought some bread").await;
    remember(&client, "met a friend").await;
    let answer = client.search().search(&query(Kind::Memory, "loaf")).await.expect("found");
    let texts: Vec<&str> = answer.hits.iter().map(|hit| hit.document.text.as_str()).collect();
    assert_eq!(texts, ["bought some bread"]);
    owner.close().await;
}
