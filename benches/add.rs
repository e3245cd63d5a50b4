//! One memory added by `Memory::add`, beside one redb commit of the same bytes.
//!
//! Both end with a sync of the disk: the ratio is what checking, the duplicate test, the change log and
//! the index cost on top of it.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

mod common;

use common::Texts;
use criterion::{BatchSize, Criterion};
use redb::{Database, TableDefinition};
use tvix_core::{Memory, Tvix, memory::NewMemory};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("texts");

fn main() {
    common::announce("add one memory");
    let mut criterion = Criterion::default().sample_size(30).configure_from_args();
    let mut group = criterion.benchmark_group("add");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let tvix = Tvix::open(folder.path().join("data")).unwrap();
    let mut input = numbered();
    group.bench_function("tvix", |bencher| {
        let add = |(_, text)| runtime.block_on(tvix.add(NewMemory::new(text).unwrap())).unwrap();
        bencher.iter_batched(&mut input, add, BatchSize::PerIteration);
    });

    let database = Database::create(folder.path().join("bare.redb")).unwrap();
    let mut input = numbered();
    group.bench_function("redb alone", |bencher| {
        let commit = |(number, text): (u64, String)| {
            let transaction = database.begin_write().unwrap();
            transaction.open_table(TABLE).unwrap().insert(number, text.as_bytes()).unwrap();
            transaction.commit().unwrap();
        };
        bencher.iter_batched(&mut input, commit, BatchSize::PerIteration);
    });

    group.finish();
    criterion.final_summary();
}

/// The same texts for both, each only once.
fn numbered() -> impl FnMut() -> (u64, String) {
    let mut texts = Texts::new();
    let mut number = 0;
    move || {
        number += 1;
        (number as u64, texts.memory(number))
    }
}
