//! What `RedbStore` promises beyond the contract of every store: files, crashes of I/O, sharing of
//! commits, and the same answers as the reference.
#![cfg(feature = "local")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use redb::{StorageBackend, TableDefinition, backends::InMemoryBackend};
use tempfile::TempDir;
use tvix_core::{
    ErrorKind,
    storage::{
        Batch, DocKey, Document, DocumentStore, Filter, Fingerprint, Kind, MemoryStore, Operation,
        Page, RECEIPTS_MAX, RedbStore, Request, Seq, Written,
    },
    types::{EventTime, Id, RequestId, Source, Timestamp},
};

fn memory(number: u64) -> Document {
    Document {
        key: key(number),
        scope: None,
        source: Source::library(),
        title: String::new(),
        text: format!("text {number}"),
        tags: Vec::new(),
        refs: Vec::new(),
        time: EventTime::At(Timestamp::from_millis(0)),
        created_at: Timestamp::from_millis(0),
        attrs: serde_json::Map::new(),
        fingerprint: Fingerprint::of(&[&number.to_string()]),
        seq: Seq::ZERO,
    }
}

fn key(number: u64) -> DocKey {
    DocKey::new(Kind::Memory, Id::from_bytes(u128::from(number).to_be_bytes()))
}

fn put(number: u64) -> Batch {
    let document = Box::new(memory(number));
    Batch { operations: vec![Operation::Put { document, conditions: vec![] }], request: None }
}

fn called(number: u64) -> Batch {
    let id = RequestId(key(number).id);
    let (at, receipt) = (Timestamp::from_millis(0), number.to_string());
    Batch { operations: vec![], request: Some(Request { id, receipt, at }) }
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.redb");
    (folder, file)
}

async fn stored(store: &RedbStore, number: u64) -> bool {
    store.get(&[key(number)]).await.unwrap()[0].is_some()
}

#[tokio::test]
async fn a_reopened_store_holds_everything_and_counts_on() {
    let (_folder, file) = folder();
    for number in 1..=3 {
        let store = RedbStore::open(&file).unwrap();
        assert_eq!(store.write(put(number)).await.unwrap(), Written::Done { seq: Seq(number) });
    }
    let store = RedbStore::open(&file).unwrap();
    let all = store.scan(Kind::Memory, &Filter::default(), Page::first(9)).await.unwrap();
    assert_eq!(all.len(), 3);
}

#[tokio::test]
async fn dropping_the_store_finishes_what_is_queued() {
    let (_folder, file) = folder();
    let store = Arc::new(RedbStore::open(&file).unwrap());
    let mut writes: Vec<_> = (0..50).map(|number| store.write(put(number))).collect();
    for write in &mut writes {
        // The first poll queues the batch; then the caller loses interest.
        assert!(futures_poll(write.as_mut()).is_none_or(|written| written.is_ok()));
    }
    drop(writes);
    drop(store);
    let store = RedbStore::open(&file).unwrap();
    for number in 0..50 {
        assert!(stored(&store, number).await, "{number}");
    }
}

fn futures_poll<T>(future: std::pin::Pin<&mut (dyn Future<Output = T> + Send + '_)>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.poll(&mut context) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn a_half_made_file_of_an_earlier_process_is_in_nobodys_way() {
    let (folder, file) = folder();
    let draft = folder.path().join(format!("store.redb.{}.new", std::process::id()));
    std::fs::write(&draft, vec![0; 4096]).unwrap();
    drop(RedbStore::open(&file).unwrap());
    assert!(file.exists() && !draft.exists());
}

#[test]
fn a_file_in_use_is_a_conflict_that_names_it() {
    let (_folder, file) = folder();
    let _first = RedbStore::open(&file).unwrap();
    let error = RedbStore::open(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("store.redb"), "{error}");
}

#[test]
fn a_missing_folder_is_a_failure_that_names_the_file() {
    let error = RedbStore::open("/nowhere/at/all.redb").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Backend);
    assert!(error.to_string().starts_with("open /nowhere/at/all.redb failed: "), "{error}");
}

#[test]
fn a_later_format_is_refused() {
    let (_folder, file) = folder();
    drop(RedbStore::open(&file).unwrap());
    change(&file, TableDefinition::<&str, u64>::new("numbers"), "format", 2);
    let error = RedbStore::open(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("format 2"), "{error}");
}

/// Puts a value where the store would not.
fn change<K: redb::Key + 'static, V: redb::Value + 'static>(
    file: &Path,
    table: TableDefinition<'_, K, V>,
    key: K::SelfType<'_>,
    value: V::SelfType<'_>,
) {
    let database = redb::Database::open(file).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(table).unwrap().insert(key, value).unwrap();
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_named_and_harms_no_other() {
    let (_folder, file) = folder();
    let store = RedbStore::open(&file).unwrap();
    for number in 1..=2 {
        let _ = store.write(put(number)).await.unwrap();
    }
    drop(store);
    let documents = TableDefinition::<&[u8; 17], &[u8]>::new("documents");
    let mut place = [0; 17];
    place[0] = 1;
    place[16] = 1;
    change(&file, documents, &place, b"{\"key\": 7}");
    let store = RedbStore::open(&file).unwrap();
    let error = store.get(&[key(1)]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&key(1).id.to_string()), "{error}");
    let (broken, well) = tokio::join!(store.write(put(1)), store.write(put(3)));
    assert_eq!(broken.unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(matches!(well.unwrap(), Written::Done { .. }));
    assert!(stored(&store, 2).await && stored(&store, 3).await);
}

/// Opens `file`, reads and writes; whatever lies there, that must not panic.
async fn use_whatever_is_there(file: &Path) -> Result<(), ErrorKind> {
    let store = RedbStore::open(file).map_err(|error| error.kind())?;
    let page = Page::first(1000);
    let found = store.scan(Kind::Memory, &Filter::default(), page).await;
    let written = store.write(put(5)).await;
    let log = store.changes(Seq::ZERO, 1000).await;
    let failed = [found.err(), written.err(), log.err()].into_iter().flatten().next();
    failed.map_or(Ok(()), |error| Err(error.kind()))
}

fn assert_no_fault_of_the_caller(result: Result<(), ErrorKind>) {
    if let Err(kind) = result {
        assert!(matches!(kind, ErrorKind::Corrupt | ErrorKind::Backend), "{kind:?}");
    }
}

#[tokio::test]
async fn garbage_is_no_store() {
    let (_folder, file) = folder();
    for garbage in [b"x".to_vec(), b"# Notes\n".repeat(3000), vec![0xff; 100_000], vec![0; 4096]] {
        std::fs::write(&file, &garbage).unwrap();
        assert_eq!(use_whatever_is_there(&file).await, Err(ErrorKind::Corrupt));
        assert_eq!(std::fs::read(&file).unwrap(), garbage, "the file was changed");
    }
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_never_a_panic() {
    let (_folder, file) = folder();
    let store = RedbStore::open(&file).unwrap();
    for number in 0..40 {
        let _ = store.write(put(number)).await.unwrap();
    }
    drop(store);
    let whole = std::fs::read(&file).unwrap();
    for eighth in 0..8 {
        std::fs::write(&file, &whole[..whole.len() * eighth / 8]).unwrap();
        assert_no_fault_of_the_caller(use_whatever_is_there(&file).await);
    }
    for page in 0..24 {
        let mut damaged = whole.clone();
        damaged[page * 4096 + 64..page * 4096 + 400].fill(0xa5);
        std::fs::write(&file, damaged).unwrap();
        assert_no_fault_of_the_caller(use_whatever_is_there(&file).await);
    }
}

/// A backend in memory that counts its syncs, and fails when told to. What is in it outlives it.
#[derive(Debug, Default)]
struct Counting {
    inner: Arc<InMemoryBackend>,
    control: Arc<Control>,
}

#[derive(Debug, Default)]
struct Control {
    syncs: AtomicUsize,
    /// What fails, by [`Fails`].
    fails: AtomicUsize,
}

/// What a disk in trouble cannot do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fails {
    Nothing,
    /// Syncing.
    Sync,
    /// Writing, growing and syncing.
    Write,
    /// Growing only: the disk is full, and what has its place can be written.
    Grow,
    /// Everything, reading included.
    All,
}

impl Control {
    fn set(&self, fails: Fails) {
        self.fails.store(fails as usize, Relaxed);
    }

    /// Fails if one of these is set.
    fn check(&self, when: &[Fails]) -> Result<(), io::Error> {
        let fails = self.fails.load(Relaxed);
        if when.iter().any(|when| *when as usize == fails) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(())
    }
}

impl StorageBackend for Counting {
    fn len(&self) -> Result<u64, io::Error> {
        self.control.check(&[Fails::All])?;
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.control.check(&[Fails::All])?;
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.control.check(&[Fails::All, Fails::Write, Fails::Grow])?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.control.syncs.fetch_add(1, Relaxed);
        self.control.check(&[Fails::All, Fails::Write, Fails::Sync])?;
        // Long enough for other writers to queue up, as on a disk.
        std::thread::sleep(std::time::Duration::from_millis(2));
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.control.check(&[Fails::All, Fails::Write])?;
        self.inner.write(offset, data)
    }
}

#[test]
fn concurrent_writers_share_syncs() {
    let backend = Counting::default();
    let control = Arc::clone(&backend.control);
    let store = RedbStore::with_backend(backend).unwrap();
    let before = control.syncs.load(Relaxed);
    let barrier = Barrier::new(32);
    std::thread::scope(|scope| {
        for thread in 0..32 {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                barrier.wait();
                for number in 0..4 {
                    let _ = runtime.block_on(store.write(put(thread * 4 + number))).unwrap();
                }
            });
        }
    });
    let syncs = control.syncs.load(Relaxed) - before;
    assert!(syncs < 64, "{syncs} syncs for 128 writes");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let log = runtime.block_on(store.changes(Seq::ZERO, 1000)).unwrap();
    assert_eq!(log.last().map(|change| change.seq), Some(Seq(128)));
    assert_eq!(log.len(), 128);
}

#[tokio::test]
async fn a_failed_commit_is_reported_to_every_waiter() {
    let backend = Counting::default();
    let control = Arc::clone(&backend.control);
    let store = RedbStore::with_backend(backend).unwrap();
    let _ = store.write(put(1)).await.unwrap();
    control.set(Fails::Sync);
    let (one, other) = tokio::join!(store.write(put(2)), store.write(put(3)));
    assert!(one.unwrap_err().to_string().starts_with("store documents failed: "));
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Backend);
    control.set(Fails::Nothing);
    let later = store.write(put(4)).await.unwrap_err();
    assert_eq!(later.kind(), ErrorKind::Backend);
    assert!(later.to_string().contains("cannot be opened again"), "{later}");
}

/// A store on a disk that can fail, and the disk's switch.
fn on_a_failing_disk() -> (RedbStore, Arc<Control>) {
    let (inner, control) = (Arc::new(InMemoryBackend::new()), Arc::new(Control::default()));
    let kept = Arc::clone(&control);
    let make = move || {
        // Opening may fail as well, as a file may be gone for a while.
        control.check(&[Fails::All])?;
        Ok(Counting { inner: Arc::clone(&inner), control: Arc::clone(&control) })
    };
    (RedbStore::with_backends(make).unwrap(), kept)
}

/// A batch that lands once, however often it is sent, and is too long for the pages that are free.
fn long_call(number: u64) -> Batch {
    let mut document = memory(number);
    document.text = "long ".repeat(2_000_000);
    let put = Operation::Put { document: Box::new(document), conditions: vec![] };
    Batch { operations: vec![put], ..called(number) }
}

#[tokio::test]
async fn a_disk_in_trouble_is_reported_and_the_store_works_when_it_is_well() {
    for fails in [Fails::Sync, Fails::Write, Fails::Grow, Fails::All] {
        let (store, control) = on_a_failing_disk();
        let _ = store.write(put(1)).await.unwrap();
        control.set(fails);
        for _ in 0..3 {
            let error = store.write(long_call(2)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Backend, "{fails:?}");
            let text = error.to_string();
            assert!(text.contains("no storage space"), "{fails:?}: {text}");
        }
        control.set(Fails::Nothing);
        assert!(stored(&store, 1).await, "{fails:?}");
        let landed = stored(&store, 2).await;
        let again = store.write(long_call(2)).await.unwrap();
        assert_eq!(matches!(again, Written::Repeated { .. }), landed, "{fails:?}: {again:?}");
        let _ = store.write(put(3)).await.unwrap();
        let log = store.changes(Seq::ZERO, 10).await.unwrap();
        assert_eq!(log.len(), 3, "{fails:?}");
    }
}

#[tokio::test]
async fn a_full_disk_keeps_answering_reads() {
    let (store, control) = on_a_failing_disk();
    let _ = store.write(put(1)).await.unwrap();
    control.set(Fails::Grow);
    assert_eq!(store.write(long_call(2)).await.unwrap_err().kind(), ErrorKind::Backend);
    assert!(stored(&store, 1).await && !stored(&store, 2).await);
}

async fn remembers_the_last_receipts(store: &dyn DocumentStore) {
    let count = RECEIPTS_MAX as u64 + 2;
    let mut writes: Vec<_> = (0..count).map(|number| store.write(called(number))).collect();
    // All are queued before the first is awaited, so that few commits take them.
    let early: Vec<_> = writes.iter_mut().map(|write| futures_poll(write.as_mut())).collect();
    for (write, early) in writes.into_iter().zip(early) {
        let written = match early {
            Some(written) => written,
            None => write.await,
        };
        assert!(matches!(written.unwrap(), Written::Done { .. }));
    }
    let mut known = Vec::new();
    for number in [0, 1, 2, count - 1] {
        known.push(store.receipt(RequestId(key(number).id)).await.unwrap().is_some());
    }
    assert_eq!(known, [false, false, true, true]);
}

#[tokio::test]
async fn both_stores_remember_as_many_receipts_as_they_should() {
    remembers_the_last_receipts(&MemoryStore::new()).await;
    let (_folder, file) = folder();
    remembers_the_last_receipts(&RedbStore::open(&file).unwrap()).await;
}
