//! A migration that is killed: two steps that take a while, on a folder with documents.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tvix_core::{
    Admin, Memory, Result, Search, Tvix,
    conformance::migration::{self, TestStep},
    memory::NewMemory,
    search::Query,
    storage::{
        Batch, Change, Document, DocumentStore, Filter, Kind, Operation, Page, RedbStore, Seq,
    },
    types::QueryText,
};

use crate::random::{Random, Seed, wanted};

const FOLDER: &str = "TVIX_CRASH_MIGRATE";
const RECORDS: usize = 300;
/// Documents a transaction.
const BATCH: usize = 10;
/// What the first step adds to each text.
const MARK: &str = " migratedtext";
const LATEST: u32 = 3;
/// So often a folder is killed before it may end.
const KILLS_EACH: u64 = 4;

const STEPS: [TestStep; 2] = [(1, change_texts), (2, move_store)];

/// Changes all documents in many transactions; those that are done are passed over.
fn change_texts(store: &Path) -> Result<()> {
    let store = RedbStore::open(file(store))?;
    runtime().block_on(async {
        let documents = all(&store).await?;
        let old: Vec<_> = documents.into_iter().filter(|old| !old.text.ends_with(MARK)).collect();
        for documents in old.chunks(BATCH) {
            let operations = documents.iter().cloned().map(|mut document| {
                document.text.push_str(MARK);
                Operation::Put { document: Box::new(document), conditions: Vec::new() }
            });
            let batch = Batch { operations: operations.collect(), request: None };
            let _ = store.write(batch).await?;
        }
        Ok(())
    })
}

/// Writes the store into a new file, piece by piece, and puts that in its place.
fn move_store(store: &Path) -> Result<()> {
    let (old, new) = (file(store), store.join("draft"));
    let copied = (|| {
        let (mut from, mut to) = (fs::File::open(&old)?, fs::File::create(&new)?);
        while io::copy(&mut io::Read::take(&mut from, 1 << 16), &mut to)? > 0 {
            to.sync_all()?;
        }
        fs::rename(&new, &old)
    })();
    copied.map_err(|error| tvix_core::Error::backend("moving the store", error))
}

fn file(store: &Path) -> PathBuf {
    store.join("tvix.redb")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

async fn all(store: &RedbStore) -> Result<Vec<Document>> {
    let changes = store.changes(Seq::ZERO, usize::MAX).await?;
    Ok(changes.into_iter().filter_map(|Change { document, .. }| document).collect())
}

/// The process that is killed.
pub(crate) fn run_if_wanted() {
    if let Some(folder) = env::var_os(FOLDER) {
        drop(migration::open(Path::new(&folder), LATEST, &STEPS).unwrap());
    }
}

pub(crate) fn kill_and_look(kills: u64) {
    let seed = wanted("TVIX_SEED", 1);
    let (_seed, mut random) = (Seed(seed), Random::new(seed));
    let (mut killed, mut halfway) = (0, 0);
    let whole = Case::new().time_it_takes();
    while killed < kills {
        let case = Case::new();
        for _ in 0..KILLS_EACH {
            let after = whole.mul_f64(random.below(1000) as f64 / 1000.0);
            killed += u64::from(case.kill(after));
            let has_begun = case.assert_whole();
            if case.format() == LATEST {
                break;
            }
            halfway += u64::from(has_begun);
        }
        case.run_to_the_end();
    }
    println!("{killed} kills of a migration of {whole:?}, {halfway} of them halfway");
    assert!(halfway * 4 > kills, "few kills met the migration: this proves little");
}

/// A folder of the old format.
struct Case(tempfile::TempDir);

impl Case {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("data");
        let memories = (0..RECORDS).map(|number| NewMemory::new(text(number)).unwrap());
        let memories = memories.collect();
        runtime().block_on(async {
            let tvix = Tvix::open(&folder).unwrap();
            let added = tvix.add_many(memories).await.unwrap();
            assert!(added.iter().all(std::result::Result::is_ok));
        });
        Self(place)
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn child(&self) -> Command {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "the_migrator"]).env(FOLDER, self.folder());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn time_it_takes(&self) -> Duration {
        let began = Instant::now();
        assert!(self.child().status().unwrap().success());
        began.elapsed()
    }

    /// Whether it was still running.
    fn kill(&self, after: Duration) -> bool {
        let mut child = self.child().spawn().unwrap();
        thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap().code().is_none()
    }

    fn format(&self) -> u32 {
        let text = fs::read_to_string(self.folder().join("format.toml")).unwrap();
        let format: toml::Table = text.parse().unwrap();
        format["format"].as_integer().unwrap().try_into().unwrap()
    }

    /// The folder has the old format or the new one, with every document, and once a step has begun
    /// there is a copy of what was before. Whether one has.
    fn assert_whole(&self) -> bool {
        let format = self.format();
        assert!(format == 1 || format == LATEST, "format {format} was never to be seen");
        let changed = changed_of_all(&self.folder().join("store"));
        assert!(format == 1 || changed == RECORDS, "{changed} in the new format");
        if changed > 0 {
            let copy = self.0.path().join("copy");
            fs::create_dir_all(&copy).unwrap();
            fs::copy(file(&self.folder().join("backups/format-1")), file(&copy)).unwrap();
            assert_eq!(changed_of_all(&copy), 0, "the copy is of what was before");
        }
        changed > 0
    }

    /// The next open completes it.
    fn run_to_the_end(&self) {
        let tvix = migration::open(&self.folder(), LATEST, &STEPS).unwrap();
        runtime().block_on(async {
            let query = Query {
                kind: Kind::Memory,
                text: QueryText::new(MARK.trim()).unwrap(),
                filter: Filter::default(),
                page: Page::first(RECORDS + 1),
            };
            assert_eq!(tvix.search(&query).await.unwrap().hits.len(), RECORDS);
            let report = tvix.doctor(false).await.unwrap();
            assert!(report.is_healthy(), "{report:?}");
        });
        drop(tvix);
        assert_eq!(self.format(), LATEST);
        assert!(self.assert_whole());
    }
}

/// How many documents of a store are changed; all are there, once and whole.
fn changed_of_all(store: &Path) -> usize {
    let store = RedbStore::open(file(store)).unwrap();
    let documents = runtime().block_on(all(&store)).unwrap();
    let mut texts: Vec<_> = documents.iter().map(|found| found.text.as_str()).collect();
    let changed = texts.iter().filter(|text| text.ends_with(MARK)).count();
    for text in &mut texts {
        *text = text.strip_suffix(MARK).unwrap_or(text);
    }
    texts.sort_unstable();
    let mut wanted: Vec<_> = (0..RECORDS).map(text).collect();
    wanted.sort_unstable();
    assert_eq!(texts, wanted);
    changed
}

fn text(number: usize) -> String {
    format!("record{number} of a format that was")
}
