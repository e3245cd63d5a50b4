//! What the engine promises beyond the tools, on the memory backend.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use tvix_core::{
    Error, Result, Search, Settings, Tvix,
    embed::{Model, Vector},
    memory::{AddStatus, NewMemory},
    search::{Notice, Query},
    settings::SecretPolicy,
    storage::{
        Change, DocKey, Embedded, Filter, IndexQuery, IndexState, Kind, MemoryStore, Neighbours,
        Page, Ranked, SearchIndex, Seq, index::MemoryIndex,
    },
    tools::{CallContext, Service, Toolset},
    types::{Clock, Id, Metadata, ProjectSlug, QueryText, RequestId, Source, Timestamp},
    wiki::{DocumentEdit, NewDocument},
};

const DAY: i64 = 24 * 60 * 60 * 1000;
const NOON: i64 = 1_800_014_400_000;

/// A clock that stands where it is put.
#[derive(Debug, Clone, Default)]
struct Hands(Arc<AtomicI64>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn at(millis: i64) -> (Tvix, Hands) {
    let hands = Hands(Arc::new(AtomicI64::new(millis)));
    let builder = Tvix::builder(Arc::new(MemoryStore::default()), Arc::new(MemoryIndex::default()));
    (builder.clock(hands.clone()).build(), hands)
}

fn with(settings: Settings) -> Tvix {
    let builder = Tvix::builder(Arc::new(MemoryStore::default()), Arc::new(MemoryIndex::default()));
    builder.settings(settings).build()
}

fn memory(content: &str) -> NewMemory {
    NewMemory::new(content).expect("content")
}

fn dated(content: &str, millis: i64) -> NewMemory {
    let time = Timestamp::from_millis(millis).to_string();
    let fields = serde_json::Map::from_iter([("event_time".to_owned(), time.into())]);
    NewMemory { metadata: Metadata::new(fields).expect("metadata"), ..memory(content) }
}

async fn listed(tvix: &Tvix, page: Page) -> Vec<String> {
    let recent = tvix.memory().recent(&Filter::default(), page).await.expect("listed");
    recent.records.into_iter().map(|record| record.content).collect()
}

fn query(text: &str) -> Query {
    Query {
        kind: Kind::Memory,
        text: QueryText::new(text).expect("query"),
        filter: Filter::default(),
        page: Page::first(10),
    }
}

#[tokio::test]
async fn a_planned_trip_does_not_stay_on_top() {
    let (tvix, hands) = at(NOON);
    tvix.memory().add(dated("trip next year", NOON + 365 * DAY)).await.expect("added");
    hands.0.store(NOON + DAY, Ordering::Relaxed);
    tvix.memory().add(memory("said a day later")).await.expect("added");
    tvix.memory().add(dated("happened last week", NOON - 7 * DAY)).await.expect("added");
    let expected = ["said a day later", "trip next year", "happened last week"];
    assert_eq!(listed(&tvix, Page::first(10)).await, expected);
    for (offset, content) in expected.iter().enumerate() {
        assert_eq!(listed(&tvix, Page { offset, limit: 1 }).await, [*content]);
    }
    hands.0.store(NOON + 366 * DAY, Ordering::Relaxed);
    assert_eq!(listed(&tvix, Page::first(1)).await, ["trip next year"]);
}

#[tokio::test]
async fn a_clock_that_is_set_back_loses_and_hides_nothing() {
    let (tvix, hands) = at(NOON);
    for (number, days) in [0, 1, -400, 2, -1].into_iter().enumerate() {
        hands.0.store(NOON + days * DAY, Ordering::Relaxed);
        let added = tvix.memory().add(memory(&format!("day number{number}"))).await.expect("added");
        assert_eq!(added.status, AddStatus::Stored);
        assert_eq!(
            tvix.search(&query(&format!("\"number{number}\""))).await.expect("searched").hits.len(),
            1
        );
    }
    assert_eq!(listed(&tvix, Page::first(10)).await.len(), 5);
    let page =
        tvix.wiki().add(NewDocument::new("Page", "old").expect("page")).await.expect("added");
    hands.0.store(NOON - 500 * DAY, Ordering::Relaxed);
    let edit = DocumentEdit {
        content: Some("new".to_owned().try_into().expect("text")),
        ..DocumentEdit::default()
    };
    tvix.wiki().update(page.document.id, edit).await.expect("updated");
    assert_eq!(tvix.wiki().get(page.document.id).await.expect("there").content, "new");
}

#[tokio::test]
async fn events_to_come_that_were_told_together_stand_by_their_time() {
    let (tvix, hands) = at(NOON);
    for (content, days) in [("second", 20), ("third", 30), ("first", 10)] {
        tvix.memory().add(dated(content, NOON + days * DAY)).await.expect("added");
        hands.0.fetch_add(1, Ordering::Relaxed);
    }
    assert_eq!(listed(&tvix, Page::first(10)).await, ["third", "second", "first"]);
}

#[tokio::test]
async fn pages_join_without_gaps_whatever_lies_ahead() {
    let (tvix, hands) = at(NOON);
    for number in 0_usize..60 {
        let away = [-3, -2, -1, 1, 2][number % 5] * DAY;
        tvix.memory().add(dated(&format!("entry {number}"), NOON + away)).await.expect("added");
        hands.0.fetch_add(1000, Ordering::Relaxed);
    }
    let whole = listed(&tvix, Page::first(100)).await;
    let mut joined = Vec::new();
    while joined.len() < 60 {
        joined.extend(listed(&tvix, Page { offset: joined.len(), limit: 7 }).await);
    }
    assert_eq!((whole.len(), &joined), (60, &whole));
    let last = tvix.memory().recent(&Filter::default(), Page { offset: 53, limit: 7 }).await;
    assert!(!last.expect("listed").has_more);
}

#[tokio::test]
async fn a_call_sent_twice_lands_once_and_is_answered_alike() {
    let tvix = Tvix::in_memory();
    let call = || tvix.speaking_for(Source::named("Codex"), Some(RequestId(Id::new())));
    let caller = call();
    let added = caller.memory().add(memory("once")).await.expect("added");
    assert_eq!(caller.memory().add(memory("once")).await.expect("repeated"), added);
    let caller = call();
    let page = NewDocument::new("Page", "body").expect("page");
    let created = caller.wiki().add(page.clone()).await.expect("added");
    assert_eq!(caller.wiki().add(page).await.expect("repeated"), created);
    let (id, caller) = (created.document.id, call());
    let edit = DocumentEdit {
        content: Some("new".to_owned().try_into().expect("text")),
        ..DocumentEdit::default()
    };
    let updated = caller.wiki().update(id, edit.clone()).await.expect("updated");
    assert_eq!(caller.wiki().update(id, edit).await.expect("repeated"), updated);
    let caller = call();
    let deleted = caller.wiki().delete(id).await.expect("deleted");
    assert_eq!(caller.wiki().delete(id).await.expect("repeated"), deleted);
    assert!(matches!(tvix.wiki().delete(id).await, Err(Error::NotFound { .. })));
    assert_eq!(listed(&tvix, Page::first(10)).await, ["once"]);
}

#[tokio::test]
async fn many_are_added_at_once_and_twins_among_them_are_found() {
    let tvix = Tvix::in_memory();
    let first = tvix.memory().add(memory("known before")).await.expect("added").memory.id;
    let mut many: Vec<NewMemory> = (0..600).map(|n| memory(&format!("number {n}"))).collect();
    many.insert(300, memory("NUMBER 5"));
    many.insert(301, memory("Known  before"));
    many.insert(302, memory("sk-Zt4Kq9Lm2Xw7Pc5Rv8Ny3Hb6Jd1Fg0"));
    let results = tvix.memory().add_many(many).await.expect("stored");
    let statuses: Vec<_> =
        results.iter().map(|result| result.as_ref().ok().map(|added| added.status)).collect();
    assert_eq!(statuses.iter().filter(|status| **status == Some(AddStatus::Stored)).count(), 600);
    assert_eq!(
        (statuses[300], statuses[301]),
        (Some(AddStatus::Duplicate), Some(AddStatus::Duplicate))
    );
    assert_eq!(results[301].as_ref().expect("known").memory.id, first);
    let five = results[5].as_ref().expect("stored").memory.id;
    assert_eq!(results[300].as_ref().expect("known").memory.id, five);
    assert!(matches!(&results[302], Err(Error::InvalidInput { field, .. }) if field == "content"));
    let answer = tvix.search(&query("\"number 599\"")).await.expect("searched");
    assert_eq!(answer.hits.len(), 1);
}

#[tokio::test]
async fn settings_decide_on_secrets_and_quota() {
    let secret = "key sk-Zt4Kq9Lm2Xw7Pc5Rv8Ny3Hb6Jd1Fg0 kept";
    for (secrets, stored) in [
        (SecretPolicy::Redact, Some("key [redacted:API key] kept")),
        (SecretPolicy::Allow, Some(secret)),
        (SecretPolicy::Refuse, None),
    ] {
        let tvix = with(Settings { secrets, ..Settings::default() });
        let added = tvix.memory().add(memory(secret)).await.ok();
        assert_eq!(added.map(|added| added.memory.content).as_deref(), stored);
    }
    let tvix = with(Settings { wiki_quota: Some(2), ..Settings::default() });
    for title in ["one", "two"] {
        tvix.wiki().add(NewDocument::new(title, "x").expect("page")).await.expect("within quota");
    }
    let error = tvix
        .wiki()
        .add(NewDocument::new("three", "x").expect("page"))
        .await
        .expect_err("over quota");
    assert!(matches!(&error, Error::QuotaExceeded { reason } if reason.contains('2')), "{error}");
}

#[tokio::test]
async fn a_move_merges_projects_and_keeps_twins_apart() {
    let tvix = Tvix::in_memory();
    let filed = |content: &str, project: &str| memory(content).in_project(project).expect("slug");
    for (content, project) in [("a", "old"), ("b", "old"), ("B", "new")] {
        tvix.memory().add(filed(content, project)).await.expect("added");
    }
    let (old, new) =
        (ProjectSlug::new("old").expect("slug"), ProjectSlug::new("new").expect("slug"));
    let moved = tvix.projects().move_memories(&old, &new).await.expect("moved");
    assert_eq!((moved.moved, moved.kept), (1, 1));
    let names: Vec<_> = tvix
        .projects()
        .memory_projects()
        .await
        .expect("listed")
        .into_iter()
        .map(|p| (p.name, p.count))
        .collect();
    assert_eq!(names, [("new".to_owned(), 2), ("old".to_owned(), 1)]);
    let nothing = ProjectSlug::new("nothing").expect("slug");
    assert!(matches!(
        tvix.projects().move_memories(&nothing, &new).await,
        Err(Error::NotFound { .. })
    ));
}

/// An index that fails while it is told to.
#[derive(Debug, Default)]
struct Shaky {
    inner: MemoryIndex,
    fails: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl SearchIndex for Shaky {
    async fn cursor(&self) -> Result<Seq> {
        self.inner.cursor().await
    }

    async fn apply(&self, changes: &[Change]) -> Result<()> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(Error::backend("indexing", "told to fail"));
        }
        self.inner.apply(changes).await
    }

    async fn keyword(&self, query: &IndexQuery) -> Result<Vec<Ranked>> {
        self.inner.keyword(query).await
    }

    async fn nearest(&self, query: &IndexQuery, vector: &Vector) -> Result<Vec<Ranked>> {
        self.inner.nearest(query, vector).await
    }

    async fn vector_cursor(&self, model: &Model) -> Result<Seq> {
        self.inner.vector_cursor(model).await
    }

    async fn apply_vectors(&self, embedded: &[Embedded], cursor: Seq) -> Result<()> {
        self.inner.apply_vectors(embedded, cursor).await
    }

    async fn neighbours(&self, keys: &[DocKey]) -> Result<Vec<Neighbours>> {
        self.inner.neighbours(keys).await
    }

    async fn indexed(&self, keys: &[DocKey]) -> Result<Vec<Option<Seq>>> {
        self.inner.indexed(keys).await
    }

    async fn inspect(&self) -> Result<IndexState> {
        self.inner.inspect().await
    }

    async fn reset(&self) -> Result<()> {
        self.inner.reset().await
    }
}

#[tokio::test]
async fn when_indexing_fails_the_write_stands_and_the_answer_says_so() {
    let index = Arc::new(Shaky::default());
    let tvix = Tvix::builder(Arc::new(MemoryStore::default()), index.clone()).build();
    index.fails.store(true, Ordering::Relaxed);
    let added = tvix.memory().add(memory("stored all the same")).await.expect("stored");
    assert_eq!(added.notices, [Notice::IndexBehind]);
    let answer = tvix.search(&query("stored")).await.expect("searched");
    assert!(answer.hits.is_empty() && answer.notices.contains(&Notice::IndexBehind));
    index.fails.store(false, Ordering::Relaxed);
    let answer = tvix.search(&query("stored")).await.expect("searched");
    assert_eq!(answer.hits.len(), 1);
    assert!(!answer.notices.contains(&Notice::IndexBehind));
}

#[tokio::test]
async fn definitions_are_small_and_name_known_projects_within_bounds() {
    let tvix = Tvix::in_memory();
    let context = CallContext::default();
    let definitions = Service::tools(&tvix, &context).await.expect("tools");
    let size = serde_json::to_string(&definitions).expect("json").len();
    assert!(size < 10_000, "{size}");
    for tool in &definitions {
        assert!(
            tool.description.chars().count() <= 350,
            "{}: {}",
            tool.name,
            tool.description.chars().count()
        );
    }
    for number in 0_usize..60 {
        let project = format!("project number {number}");
        tvix.memory().add(memory("x").in_project(&project).expect("slug")).await.expect("added");
    }
    for tool in Service::tools(&tvix, &context).await.expect("tools") {
        let (name, length) = (tool.name.as_str(), tool.description.chars().count());
        let names_projects = name.ends_with("_memory");
        assert_eq!(tool.description.contains("project-number-59"), names_projects, "{name}");
        assert!(length <= 350 + 420, "{name}: {length}");
    }
    let wiki_only = CallContext { toolsets: vec![Toolset::Wiki], ..CallContext::default() };
    let names: Vec<_> = Service::tools(&tvix, &wiki_only)
        .await
        .expect("tools")
        .into_iter()
        .map(|t| t.name)
        .collect();
    assert_eq!(names, ["add_wiki", "search_wiki", "update_wiki", "delete_wiki"]);
}
