//! Export and import, backup and restore, and what `doctor` finds and mends.
#![cfg(feature = "local")]
#![allow(clippy::panic, reason = "these are tests")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use tvix_core::{
    Search, Settings, Tvix,
    admin::{
        BackupWriter, Entry, Finding, ImportStatus, Part, Record, Report, Severity, examine,
        restore,
    },
    memory::NewMemory,
    search::Query,
    settings::SecretPolicy,
    storage::{Filter, Kind, Page, Seq},
    types::{Id, Metadata, QueryText, Source, Timestamp},
    wiki::{DocumentEdit, NewDocument},
};

fn fields(json: &str) -> Metadata {
    serde_json::from_str(json).expect("metadata")
}

/// Stores memories and documents with everything that a record can have, one of them edited and one
/// deleted.
async fn fill(tvix: &Tvix) {
    for number in 0..40 {
        let mut memory = NewMemory::new(format!("note{number} about rye")).expect("content");
        if number % 3 == 0 {
            memory = memory.in_project("Bakery Plans").expect("slug");
        }
        if number % 4 == 0 {
            memory.metadata = fields(r#"{"event_time": "2031-03-10", "tags": ["a", 1]}"#);
            memory.source = Some(Source::named("Claude Code"));
        }
        tvix.memory().add(memory).await.expect("added");
    }
    let mut page = NewDocument::new("Oven", "# Oven\n\nStone, 300 degrees.\n").expect("page");
    page.metadata = fields(r#"{"path": "oven.md"}"#);
    let id = tvix.wiki().add(page).await.expect("added").document.id;
    let page = NewDocument::new("Starter", "Feed it daily.").expect("page");
    let page = page.in_project("Sour Dough").expect("name");
    tvix.wiki().add(page).await.expect("added");
    let edit = DocumentEdit {
        title: Some("The oven".to_owned().try_into().expect("title")),
        ..DocumentEdit::default()
    };
    tvix.wiki().update(id, edit).await.expect("edited");
    let gone = tvix.memory().add(NewMemory::new("soon gone").expect("content")).await;
    tvix.memory().delete(gone.expect("added").memory.id).await.expect("deleted");
}

async fn exported(tvix: &Tvix) -> Vec<Record> {
    let (mut records, mut next) = (Vec::new(), Some(Seq::ZERO));
    while let Some(after) = next {
        let page = tvix.admin().records(after, 7).await.expect("a page");
        assert!(page.records.len() <= 7);
        records.extend(page.records);
        next = page.next;
    }
    records
}

async fn statuses(tvix: &Tvix, records: Vec<Record>, dry_run: bool) -> Vec<ImportStatus> {
    let results = tvix.admin().import(records, dry_run).await.expect("imported");
    results.into_iter().map(|result| result.status).collect()
}

async fn backup(tvix: &Tvix, file: &Path) {
    let files = tvix.admin().backup_files().await.expect("files");
    let output = fs::File::create(file).expect("a file");
    let at = Timestamp::from_millis(1_800_000_000_000);
    let mut writer = BackupWriter::start(output, at, &files).expect("started");
    let mut next = Some(Seq::ZERO);
    while let Some(after) = next {
        let page = tvix.admin().backup_page(after, 7).await.expect("a page");
        page.entries.iter().for_each(|entry| writer.entry(entry).expect("written"));
        next = page.next;
    }
    writer.finish().expect("finished");
}

async fn finds(tvix: &Tvix, words: &str) -> usize {
    let query = Query {
        kind: Kind::Memory,
        // Quoted: what is only alike does not count.
        text: QueryText::new(format!("\"{words}\"")).expect("query"),
        filter: Filter::default(),
        page: Page::first(100),
    };
    tvix.search(&query).await.expect("searched").hits.len()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("folder");
    let path = place.path().join("data");
    (place, path)
}

/// What is said of `part`; for the file system a test can promise nothing.
fn about(report: &Report, part: Part) -> &Finding {
    report.findings.iter().find(|finding| finding.part == part).expect("the part was checked")
}

fn assert_healthy(report: &Report) {
    let bad = |finding: &&Finding| {
        finding.part != Part::FileSystem
            && finding.severity > Severity::Note
            && finding.repaired != Some(true)
    };
    assert_eq!(report.findings.iter().find(bad), None, "{report:?}");
}

/// Opens the folder, lets `doctor` find `severity` in the text index and mend it, and searches.
async fn is_mended(path: &Path, severity: Severity) {
    let tvix = Tvix::open(path).expect("opened");
    let found = tvix.admin().doctor(false).await.expect("examined");
    assert_eq!(about(&found, Part::TextIndex).severity, severity, "{found:?}");
    let mended = tvix.admin().doctor(true).await.expect("examined");
    assert_eq!(about(&mended, Part::TextIndex).repaired, Some(true), "{mended:?}");
    let after = tvix.admin().doctor(false).await.expect("examined");
    assert_healthy(&after);
    assert_eq!(about(&after, Part::TextIndex).severity, Severity::Good, "{after:?}");
    assert_eq!(finds(&tvix, "rye").await, 40);
    assert_eq!(after.memories, 40, "no document was removed");
}

/// Closes a filled folder after its index was committed.
async fn filled(path: &Path) {
    let tvix = Tvix::open(path).expect("opened");
    fill(&tvix).await;
    committed(path, &tvix).await;
}

/// Waits until everything is committed: a fresh index opens as far as that.
async fn committed(path: &Path, tvix: &Tvix) {
    let last = exported(tvix).await.len();
    for _ in 0..600 {
        let meta = fs::read_to_string(path.join("index/text/meta.json")).unwrap_or_default();
        // 42 live documents took 44 writes and a deletion.
        if last == 42 && meta.contains("\"2 45\"") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the index was not committed");
}

#[tokio::test]
async fn a_round_trip_gives_the_same_records() {
    let (first, second) = (Tvix::in_memory(), Tvix::in_memory());
    fill(&first).await;
    let records = exported(&first).await;
    assert_eq!(records.len(), 42);
    for record in &records {
        let line = serde_json::to_string(record).expect("json");
        let back: Record = serde_json::from_str(&line).expect("read");
        assert_eq!(&back, record);
    }
    let stored = statuses(&second, records.clone(), false).await;
    assert!(stored.iter().all(|status| *status == ImportStatus::Stored), "{stored:?}");
    assert_eq!(exported(&second).await, records);
    assert_eq!(finds(&second, "rye").await, 40);
    let again = statuses(&second, records.clone(), false).await;
    assert!(again.iter().all(|status| *status == ImportStatus::Unchanged), "{again:?}");
    assert_eq!(exported(&second).await, records);
}

#[tokio::test]
async fn what_is_there_is_not_stored_again_and_what_differs_is_not_overwritten() {
    let tvix = Tvix::in_memory();
    fill(&tvix).await;
    let before = exported(&tvix).await;
    let memory = before.iter().find(|record| record.kind == Kind::Memory).expect("one").clone();
    let page = before.iter().find(|record| record.kind == Kind::Wiki).expect("one").clone();
    let renamed = |record: &Record| Record { id: Some(Id::new()), ..record.clone() };
    let other = |record: &Record| Record { content: "other".into(), ..record.clone() };
    let records = vec![renamed(&memory), renamed(&page), other(&memory), other(&page)];
    let wanted = [
        ImportStatus::Duplicate,
        ImportStatus::Duplicate,
        ImportStatus::Refused,
        ImportStatus::Refused,
    ];
    assert_eq!(statuses(&tvix, records, false).await, wanted);
    assert_eq!(exported(&tvix).await, before);
    let edited_at = page.updated_at.map(|at| Timestamp::from_millis(at.as_millis() + 1));
    let later = Record { updated_at: edited_at, ..other(&page) };
    assert_eq!(statuses(&tvix, vec![later.clone()], true).await, [ImportStatus::Stored]);
    assert_eq!(exported(&tvix).await, before, "a dry run stores nothing");
    assert_eq!(statuses(&tvix, vec![later.clone()], false).await, [ImportStatus::Stored]);
    assert_eq!(exported(&tvix).await.last(), Some(&later));
}

#[tokio::test]
async fn limits_and_policies_hold_for_an_import() {
    let settings = Settings { wiki_quota: Some(1), ..Settings::default() };
    let builder = Tvix::builder(
        std::sync::Arc::new(tvix_core::storage::MemoryStore::default()),
        std::sync::Arc::new(tvix_core::storage::index::MemoryIndex::default()),
    );
    let tvix = builder.settings(settings).build();
    let memory = |content: &str| Record::new(Kind::Memory, content);
    let page = |title: &str| Record { title: Some(title.into()), ..Record::new(Kind::Wiki, "x") };
    let records = vec![
        memory("fine"),
        memory(" FINE "),
        memory("  "),
        memory("key sk-Zt4Kq9Lm2Xw7Pc5Rv8Ny3Hb6Jd1Fg0"),
        Record { project: Some("x".repeat(61)), ..memory("long slug") },
        page("one"),
        page("two"),
        Record::new(Kind::Wiki, "no title"),
    ];
    assert_eq!(tvix.settings().secrets, SecretPolicy::Refuse);
    for dry_run in [true, false] {
        let results = tvix.admin().import(records.clone(), dry_run).await.expect("imported");
        let outcome: Vec<&str> = results
            .iter()
            .map(|result| match (&result.status, &result.error) {
                (ImportStatus::Stored, None) => "stored",
                (ImportStatus::Duplicate, None) => "duplicate",
                (_, Some(error)) => error.field.as_deref().unwrap_or("quota"),
                _ => "?",
            })
            .collect();
        let wanted =
            ["stored", "duplicate", "content", "content", "project", "stored", "quota", "title"];
        assert_eq!(outcome, wanted, "{results:?}");
    }
    let many = vec![memory("x"); 1001];
    assert!(tvix.admin().import(many, false).await.is_err());
}

#[tokio::test]
async fn a_backup_comes_back_whole() {
    let (place, path) = folder();
    let file = place.path().join("backup.jsonl");
    let tvix = Tvix::open(&path).expect("opened");
    fill(&tvix).await;
    fs::write(path.join("profile.toml"), "# mine\nrole = \"baker\"\n").expect("written");
    backup(&tvix, &file).await;
    let records = exported(&tvix).await;
    let target = place.path().join("restored");
    let restored = restore(&file, &target).await.expect("restored");
    assert_eq!((restored.documents, restored.kept.len()), (42, 0));
    let profile = fs::read_to_string(target.join("profile.toml")).expect("read");
    assert_eq!(profile, "# mine\nrole = \"baker\"\n");
    let back = Tvix::open(&target).expect("opened");
    assert_eq!(exported(&back).await, records);
    assert_eq!(finds(&back, "rye").await, 40);
    assert_healthy(&back.admin().doctor(false).await.expect("examined"));
}

#[tokio::test]
async fn what_changes_during_a_backup_counts_as_it_is_at_the_end() {
    let (place, path) = folder();
    let file = place.path().join("backup.jsonl");
    let tvix = Tvix::in_memory();
    fill(&tvix).await;
    let page = tvix.admin().backup_page(Seq::ZERO, 10).await.expect("a page");
    let Some(Entry::Document(first)) = page.entries.first() else { panic!("{page:?}") };
    tvix.memory().delete(first.key.id).await.expect("deleted");
    let output = fs::File::create(&file).expect("a file");
    let mut writer = BackupWriter::start(output, Timestamp::from_millis(0), &[]).expect("started");
    page.entries.iter().for_each(|entry| writer.entry(entry).expect("written"));
    let rest = tvix.admin().backup_page(page.next.expect("more"), 1000).await.expect("a page");
    assert_eq!(rest.next, None);
    rest.entries.iter().for_each(|entry| writer.entry(entry).expect("written"));
    writer.finish().expect("finished");
    restore(&file, &path).await.expect("restored");
    assert_eq!(exported(&Tvix::open(&path).expect("opened")).await, exported(&tvix).await);
}

#[tokio::test]
async fn a_backup_that_is_not_what_was_written_is_refused_and_nothing_is_made() {
    let (place, path) = folder();
    let file = place.path().join("backup.jsonl");
    let tvix = Tvix::in_memory();
    fill(&tvix).await;
    backup(&tvix, &file).await;
    let whole = fs::read(&file).expect("read");
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let at = whole.windows(5).position(|window| window == b"note7").expect("a note");
    let mut changed = whole.clone();
    changed[at] = b'N';
    let without_one = [lines[..5].concat(), lines[6..].concat()].concat();
    let path_outside =
        [lines[0], b"{\"file\":\"../x\",\"text\":\"\"}\n".as_slice(), &lines[1..].concat()]
            .concat();
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("no backup", b"{}\n".to_vec()),
        ("cut in a line", whole[..whole.len() / 2].to_vec()),
        ("cut between lines", lines[..lines.len() - 1].concat()),
        ("changed", changed),
        ("a line is missing", without_one),
        ("more after the end", [whole.clone(), b"{}\n".to_vec()].concat()),
        ("a file outside", path_outside),
    ] {
        fs::write(&file, bytes).expect("written");
        let error = restore(&file, &path).await.expect_err(name).to_string();
        assert!(error.contains("the backup is damaged: line"), "{name}: {error}");
        assert!(!path.exists(), "{name}");
    }
}

#[tokio::test]
async fn a_folder_in_use_or_with_documents_is_not_restored_over() {
    let (place, path) = folder();
    let file = place.path().join("backup.jsonl");
    let tvix = Tvix::open(&path).expect("opened");
    backup(&tvix, &file).await;
    let error = restore(&file, &path).await.expect_err("in use").to_string();
    assert!(error.contains("in use"), "{error}");
    tvix.memory().add(NewMemory::new("here").expect("content")).await.expect("added");
    drop(tvix);
    let error = restore(&file, &path).await.expect_err("documents").to_string();
    assert!(error.contains("holds documents"), "{error}");
    let tvix = Tvix::open(&path).expect("opened");
    assert_eq!(exported(&tvix).await.len(), 1);
}

#[tokio::test]
async fn a_healthy_folder_is_found_healthy() {
    let (_place, path) = folder();
    let report = examine(&path, false).await;
    assert!(report.is_healthy() && !path.exists(), "{report:?}");
    filled(&path).await;
    let report = examine(&path, false).await;
    assert_healthy(&report);
    assert_eq!((report.memories, report.wiki_documents), (40, 2));
    assert_eq!(about(&report, Part::TextIndex).severity, Severity::Good, "{report:?}");
    let vectors = &about(&report, Part::Vectors).what;
    assert!(vectors.contains("of 42 documents are found by meaning"), "{vectors}");
}

#[tokio::test]
async fn an_index_that_is_missing_cut_off_or_emptied_is_found_and_mended() {
    let (_place, path) = folder();
    filled(&path).await;
    let index = path.join("index/text");
    fs::remove_dir_all(path.join("index")).expect("removed");
    is_mended(&path, Severity::Note).await;
    for length in [0, 20] {
        let tvix = Tvix::open(&path).expect("opened");
        tvix.catch_up().await.expect("caught up");
        committed(&path, &tvix).await;
        drop(tvix);
        for entry in fs::read_dir(&index).expect("the index") {
            let file = fs::File::options().write(true).open(entry.expect("entry").path());
            file.and_then(|file| file.set_len(length)).expect("cut off");
        }
        is_mended(&path, Severity::Note).await;
    }
}

#[tokio::test]
async fn an_index_ahead_of_the_store_or_behind_it_is_found_and_mended() {
    let (place, path) = folder();
    let store = path.join("store/tvix.redb");
    let (early, late) = (place.path().join("early"), place.path().join("late"));
    filled(&path).await;
    fs::copy(&store, &early).expect("copied");
    let old_index = place.path().join("old index");
    copy(&path.join("index"), &old_index);
    let tvix = Tvix::open(&path).expect("opened");
    let added = tvix.memory().add(NewMemory::new("later, about barley").expect("content")).await;
    added.expect("added");
    while !fs::read_to_string(path.join("index/text/meta.json"))
        .unwrap_or_default()
        .contains("\"2 46\"")
    {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(tvix);
    fs::copy(&store, &late).expect("copied");
    fs::copy(&early, &store).expect("put back");
    is_mended(&path, Severity::Problem).await;
    let tvix = Tvix::open(&path).expect("opened");
    assert_eq!(finds(&tvix, "barley").await, 0);
    drop(tvix);
    fs::remove_dir_all(path.join("index")).expect("removed");
    copy(&old_index, &path.join("index"));
    fs::copy(&late, &store).expect("put back");
    let tvix = Tvix::open(&path).expect("opened");
    let report = tvix.admin().doctor(true).await.expect("examined");
    assert_eq!(about(&report, Part::TextIndex).repaired, Some(true), "{report:?}");
    assert_eq!(finds(&tvix, "barley").await, 1);
}

#[tokio::test]
async fn the_first_write_does_not_hide_that_the_index_is_ahead() {
    let (place, path) = folder();
    let store = path.join("store/tvix.redb");
    filled(&path).await;
    let early = place.path().join("early");
    fs::copy(&store, &early).expect("copied");
    let tvix = Tvix::open(&path).expect("opened");
    let barley = NewMemory::new("barley").expect("content");
    tvix.memory().add(barley).await.expect("added");
    while !fs::read_to_string(path.join("index/text/meta.json"))
        .unwrap_or_default()
        .contains("\"2 46\"")
    {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    drop(tvix);
    fs::copy(&early, &store).expect("put back");
    let tvix = Tvix::open(&path).expect("opened");
    tvix.memory().add(NewMemory::new("spelt").expect("content")).await.expect("added");
    assert_eq!((finds(&tvix, "spelt").await, finds(&tvix, "barley").await), (1, 0));
    assert_healthy(&tvix.admin().doctor(false).await.expect("examined"));
}

#[tokio::test]
async fn an_index_deleted_at_run_time_is_found_and_mended() {
    let (_place, path) = folder();
    let tvix = Tvix::open(&path).expect("opened");
    fill(&tvix).await;
    fs::remove_dir_all(path.join("index")).expect("removed");
    let report = tvix.admin().doctor(false).await.expect("examined");
    assert_eq!(about(&report, Part::TextIndex).severity, Severity::Problem, "{report:?}");
    assert_healthy(&tvix.admin().doctor(true).await.expect("examined"));
    assert_eq!(finds(&tvix, "rye").await, 40);
    assert_eq!(tvix.admin().reindex().await.expect("rebuilt").documents, 42);
    assert_healthy(&tvix.admin().doctor(false).await.expect("examined"));
}

#[cfg(unix)]
#[tokio::test]
async fn files_and_permissions_that_are_wrong_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let (_place, path) = folder();
    filled(&path).await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    fs::write(path.join("config.toml"), "colour = 1\n").expect("written");
    fs::write(path.join("profile.toml"), "role = \n").expect("written");
    let report = examine(&path, false).await;
    assert_eq!(about(&report, Part::Folder).severity, Severity::Warning);
    for part in [Part::Config, Part::Profile] {
        assert_eq!(about(&report, part).severity, Severity::Problem, "{report:?}");
    }
    assert_eq!(about(&report, Part::Store).severity, Severity::Good, "{report:?}");
    let report = examine(&path, true).await;
    assert_eq!(about(&report, Part::Folder).repaired, Some(true));
    let mode = fs::metadata(&path).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    fs::write(path.join("store/tvix.redb"), "no store").expect("written");
    let report = examine(&path, true).await;
    assert_eq!(about(&report, Part::Store).severity, Severity::Problem, "{report:?}");
    assert_eq!(fs::read_to_string(path.join("store/tvix.redb")).expect("read"), "no store");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("read") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}
