//! An index that is rebuilt while it is in use, step by step.

use std::path::Path;

use async_lock::Semaphore;
use tempfile::TempDir;

use super::*;
use crate::{
    Admin, Memory, Search,
    admin::{Part, Severity},
    memory::NewMemory,
    search::Query,
    settings::{SearchSettings, Settings},
    storage::{Filter, MemoryStore, Page, index::IndexFolder},
    types::{Id, QueryText},
};

/// More than two steps.
const NOTES: usize = 200;

/// Lets a rebuild take one step for each permit.
struct Gate {
    inner: Arc<IndexFolder>,
    steps: Semaphore,
    is_shut: AtomicBool,
}

#[async_trait]
impl Workshop for Gate {
    async fn begin(&self) -> Result<Arc<dyn SearchIndex>> {
        self.inner.begin().await
    }

    async fn save(&self) -> Result<()> {
        self.inner.save().await
    }

    async fn finish(&self) -> Result<()> {
        self.inner.finish().await
    }

    async fn give_up(&self) {
        self.inner.give_up().await;
    }

    async fn hold(&self) -> Result<()> {
        self.inner.hold().await
    }

    async fn reach(&self, seq: Seq, done: bool) -> Result<()> {
        self.inner.reach(seq, done).await
    }

    async fn room(&self) -> Result<()> {
        self.steps.acquire().await.forget();
        if self.is_shut.load(Ordering::Relaxed) {
            return Err(Error::conflict("shut"));
        }
        self.inner.room().await
    }

    fn spawn(&self, work: Work) -> Result<JoinHandle<()>> {
        self.inner.spawn(work)
    }
}

impl Gate {
    fn open(&self) {
        self.steps.add_permits(1_000_000);
    }

    fn shut(&self) {
        self.is_shut.store(true, Ordering::Relaxed);
        self.open();
    }
}

/// The store over the index in `folder`, which is far behind from 50 documents on.
fn open(folder: &Path, store: &Arc<MemoryStore>) -> (Tvix, Arc<Gate>) {
    let index = Arc::new(IndexFolder::open(folder.join("index")));
    let gate = Arc::new(Gate {
        inner: Arc::clone(&index),
        steps: Semaphore::new(0),
        is_shut: AtomicBool::new(false),
    });
    let rebuilds = Rebuilds::new(Some(Arc::clone(&gate) as _));
    rebuilds.far_behind.store(50, Ordering::Relaxed);
    let store = Arc::clone(store);
    // By its own words alone, so that what is found can be counted.
    let search = SearchSettings { context: false, ..SearchSettings::default() };
    let settings = Settings { search, ..Settings::default() };
    let builder = Tvix::builder(store, index).embedder(None).settings(settings);
    (builder.build_holding(None, rebuilds), gate)
}

async fn add(tvix: &Tvix, text: &str) -> Id {
    tvix.add(NewMemory::new(text).expect("text")).await.expect("added").memory.id
}

async fn fill(tvix: &Tvix) -> Vec<Id> {
    let mut ids = Vec::new();
    for number in 0..NOTES {
        ids.push(add(tvix, &format!("note about item{number}")).await);
    }
    ids
}

/// How many are found, and whether the answer says that it is partial.
async fn find(tvix: &Tvix, words: &str) -> (usize, bool) {
    let query = Query {
        kind: Kind::Memory,
        text: QueryText::new(words).expect("query"),
        filter: Filter::default(),
        page: Page::first(1000),
    };
    let answer = tvix.search(&query).await.expect("searched");
    let is_partial = |notice: &Notice| matches!(notice, Notice::IndexRebuilding { .. });
    (answer.hits.len(), answer.notices.iter().any(is_partial))
}

/// Waits until so many documents were taken in.
async fn taken(tvix: &Tvix, documents: u64) {
    let is_there = || tvix.rebuilds().progress().is_some_and(|now| now.done >= documents);
    for _ in 0..2000 {
        if is_there() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(is_there(), "the rebuild does not get on: {:?}", tvix.rebuilds().progress());
}

async fn says_that_it_is_rebuilt(tvix: &Tvix) {
    let report = tvix.doctor(false).await.expect("examined");
    let finding = report.findings.iter().find(|finding| finding.part == Part::TextIndex);
    let finding = finding.expect("checked");
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.what.contains("rebuilt") && finding.what.contains("of 200"), "{finding}");
}

fn nothing_is_left(folder: &Path) {
    let left: Vec<_> = std::fs::read_dir(folder).expect("read").flatten().collect();
    assert!(left.iter().all(|entry| entry.file_name() == "index"), "{left:?}");
}

#[tokio::test]
async fn the_index_in_use_answers_until_the_new_one_is_whole() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, gate) = open(folder.path(), &store);
    let ids = fill(&tvix).await;
    gate.steps.add_permits(2);
    let rebuild = tokio::spawn({
        let tvix = tvix.clone();
        async move { tvix.reindex().await }
    });
    taken(&tvix, 2 * STEP as u64).await;
    assert!(folder.path().join("index.draft").exists());
    says_that_it_is_rebuilt(&tvix).await;
    assert_eq!(find(&tvix, "note").await, (NOTES, false));
    assert_eq!(find(&tvix, "item150").await, (1, false));
    add(&tvix, "written meanwhile").await;
    assert_eq!(find(&tvix, "meanwhile").await, (1, false));
    // One that the draft has already, and one that it has not.
    for number in [5, 190] {
        tvix.delete(ids[number]).await.expect("deleted");
    }
    assert_eq!(find(&tvix, "item5 item190").await, (0, false));
    gate.open();
    let documents = rebuild.await.expect("ran").expect("rebuilt").documents;
    assert_eq!(documents, NOTES as u64 - 1);
    assert_eq!(find(&tvix, "meanwhile").await, (1, false));
    assert_eq!(find(&tvix, "item5 item190").await, (0, false));
    assert_eq!(find(&tvix, "note").await, (NOTES - 2, false));
    add(&tvix, "written afterwards").await;
    assert_eq!(find(&tvix, "afterwards").await, (1, false));
    nothing_is_left(folder.path());
}

#[tokio::test]
async fn two_who_ask_at_once_are_both_served() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, gate) = open(folder.path(), &store);
    fill(&tvix).await;
    gate.open();
    let asked = [tvix.clone(), tvix.clone()].map(|tvix| {
        tokio::spawn(async move { tvix.reindex().await.map(|rebuilt| rebuilt.documents) })
    });
    for rebuild in asked {
        assert_eq!(rebuild.await.expect("ran").expect("rebuilt"), NOTES as u64);
    }
    assert_eq!(find(&tvix, "note").await, (NOTES, false));
    nothing_is_left(folder.path());
}

#[tokio::test]
async fn a_rebuild_that_is_broken_off_leaves_the_index_as_it_was() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, gate) = open(folder.path(), &store);
    fill(&tvix).await;
    gate.steps.add_permits(1);
    let rebuild = tokio::spawn({
        let tvix = tvix.clone();
        async move { tvix.reindex().await }
    });
    taken(&tvix, STEP as u64).await;
    gate.shut();
    assert!(rebuild.await.expect("ran").is_err());
    assert_eq!(find(&tvix, "note").await, (NOTES, false));
    nothing_is_left(folder.path());
}

#[tokio::test]
async fn searches_answer_from_what_is_there_while_a_lost_index_is_filled() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, _) = open(folder.path(), &store);
    let ids = fill(&tvix).await;
    drop(tvix);
    std::fs::remove_dir_all(folder.path().join("index")).expect("removed");

    let (tvix, gate) = open(folder.path(), &store);
    assert_eq!(find(&tvix, "note").await, (0, true));
    gate.steps.add_permits(1);
    taken(&tvix, STEP as u64).await;
    says_that_it_is_rebuilt(&tvix).await;
    assert_eq!(find(&tvix, "note").await, (STEP, true));
    add(&tvix, "written meanwhile").await;
    assert_eq!(find(&tvix, "meanwhile").await, (1, true));
    for number in [5, 190] {
        tvix.delete(ids[number]).await.expect("deleted");
    }
    assert_eq!(find(&tvix, "item5 item190").await, (0, true));
    gate.open();
    tvix.rebuilds().ended().await;
    assert_eq!(find(&tvix, "note").await, (NOTES - 2, false));
    assert_eq!(find(&tvix, "item5 item190").await, (0, false));
    assert_eq!(find(&tvix, "meanwhile").await, (1, false));
    add(&tvix, "written afterwards").await;
    let report = tvix.doctor(false).await.expect("examined");
    assert!(report.is_healthy(), "{report:?}");
}

#[tokio::test]
async fn filling_goes_on_where_it_was_broken_off_and_leaves_no_gap() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, _) = open(folder.path(), &store);
    fill(&tvix).await;
    drop(tvix);
    std::fs::remove_dir_all(folder.path().join("index")).expect("removed");

    let (tvix, gate) = open(folder.path(), &store);
    add(&tvix, "written meanwhile").await;
    gate.steps.add_permits(2);
    taken(&tvix, 2 * STEP as u64).await;
    // Everything reaches the disk, and with it how far the index holds all.
    let cursor = loop {
        let cursor = tvix.index().cursor().await.expect("cursor");
        if cursor > Seq::ZERO {
            break cursor;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(cursor <= Seq(2 * STEP as u64), "{cursor} was not reached");
    gate.shut();
    drop(tvix);

    let (tvix, gate) = open(folder.path(), &store);
    assert!(find(&tvix, "note").await.0 >= STEP, "what was committed is there");
    gate.open();
    tvix.rebuilds().ended().await;
    assert_eq!(find(&tvix, "note").await, (NOTES, false));
    assert_eq!(find(&tvix, "meanwhile").await, (1, false));
}

#[tokio::test]
async fn what_a_killed_rebuild_left_is_put_right_at_the_next_open() {
    let (folder, store) = (TempDir::new().expect("folder"), Arc::default());
    let (tvix, _) = open(folder.path(), &store);
    add(&tvix, "a red lantern").await;
    drop(tvix);
    let path = |name: &str| folder.path().join(name);
    // Killed between the two renames.
    std::fs::rename(path("index"), path("index.old")).expect("moved");
    std::fs::create_dir(path("index.draft")).expect("made");
    let (tvix, _) = open(folder.path(), &store);
    nothing_is_left(folder.path());
    assert_eq!(find(&tvix, "lantern").await, (1, false));
    drop(tvix);
    // Killed after them, and another time in the middle of the draft.
    for name in ["index.old", "index.draft"] {
        std::fs::create_dir(path(name)).expect("made");
    }
    let (tvix, _) = open(folder.path(), &store);
    nothing_is_left(folder.path());
    assert_eq!(find(&tvix, "lantern").await, (1, false));
}
