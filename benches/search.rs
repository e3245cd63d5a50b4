//! Search: one embedding, the scan of all vectors, and a whole hybrid search beside its two legs alone.
//!
//! The bare legs are tantivy with its plain tokenizer, reading the same ten texts, and the scan. Tvix
//! also analyses the query, looks at what is not committed yet, fuses, compares the best forty with the
//! query, reads documents and scores.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

mod common;

use std::{hint::black_box, iter};

use common::Texts;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, measurement::WallTime};
use tantivy::{
    Index, IndexReader, TantivyDocument, Term,
    collector::TopDocs,
    doc,
    query::{BooleanQuery, Occur, Query as TextQuery, TermQuery},
    schema::{Field, IndexRecordOption, STORED, Schema, TEXT, Value as _},
};
use tokio::runtime::Runtime;
use tvix_core::{
    Memory, Search, Tvix,
    embed::{BuiltIn, Embedder},
    memory::{MemoryRecord, NewMemory},
    search::Query,
    storage::{
        Change, Embedded, Filter, IndexQuery, Kind, Page, PassageVector, SearchIndex, Seq,
        index::{MemoryIndex, kernel},
    },
    types::{Id, Metadata, QueryText, Source, Timestamp},
};

const QUERIES: usize = 64;
const HITS: usize = 10;
/// Twenty tokens.
const SENTENCE: &str = "What did Caroline say about her trip to the mountains with her family last summer \
    in July of that year";

fn main() {
    common::announce("search, the ten best, three words");
    let mut criterion = Criterion::default().configure_from_args();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

    let model = BuiltIn::default();
    criterion.bench_function("embed/20 tokens", |bencher| {
        bencher.iter(|| black_box(model.vector(black_box(SENTENCE)).unwrap()));
    });

    let mut group = criterion.benchmark_group("scan");
    for size in [10_000, 100_000] {
        scan(&mut group, &runtime, size);
    }
    group.finish();

    let mut group = criterion.benchmark_group("search");
    for size in [1_000, 10_000, 100_000] {
        search_and_its_legs(&mut group, &runtime, size);
    }
    group.finish();
    criterion.final_summary();
}

/// The list by meaning, beside the kernel over as many bytes.
fn scan(group: &mut BenchmarkGroup<'_, WallTime>, runtime: &Runtime, size: usize) {
    let mut texts = Texts::new();
    let memories: Vec<String> = (0..size).map(|number| texts.memory(number)).collect();
    let index = vectors(runtime, &memories);
    let model = BuiltIn::default();
    let query = model.vector(&texts.query()).unwrap();
    group.bench_function(BenchmarkId::new("nearest", size), |bencher| {
        bencher.iter(|| black_box(runtime.block_on(index.nearest(&asked(), &query)).unwrap()));
    });
    let rows = vec![3_i8; size * model.model().dimension];
    let (row, mut sums) = (vec![5_i8; model.model().dimension], vec![0; size]);
    group.bench_function(BenchmarkId::new("kernel alone", size), |bencher| {
        bencher.iter(|| kernel::dots(black_box(&row), &rows, &mut sums));
    });
}

fn search_and_its_legs(group: &mut BenchmarkGroup<'_, WallTime>, runtime: &Runtime, size: usize) {
    let mut texts = Texts::new();
    let memories: Vec<String> = (0..size).map(|number| texts.memory(number)).collect();
    let queries: Vec<String> = iter::repeat_with(|| texts.query()).take(QUERIES).collect();
    let folder = tempfile::tempdir().unwrap();
    let tvix = filled(runtime, &folder.path().join("data"), &memories);
    let mut words = queries.iter().cycle();
    group.bench_function(BenchmarkId::new("tvix", size), |bencher| {
        bencher.iter(|| black_box(search(runtime, &tvix, words.next().unwrap())));
    });
    let bare = Bare::filled(&memories);
    let mut words = queries.iter().cycle();
    group.bench_function(BenchmarkId::new("tantivy alone", size), |bencher| {
        bencher.iter(|| black_box(bare.search(words.next().unwrap())));
    });
    let (index, model) = (vectors(runtime, &memories), BuiltIn::default());
    let mut words = queries.iter().cycle();
    group.bench_function(BenchmarkId::new("scan alone", size), |bencher| {
        bencher.iter(|| {
            let vector = model.vector(words.next().unwrap()).unwrap();
            black_box(runtime.block_on(index.nearest(&asked(), &vector)).unwrap())
        });
    });
}

fn asked() -> IndexQuery {
    IndexQuery {
        kind: Kind::Memory,
        text: tvix_core::search::analyze::TextQuery::default(),
        filter: Filter::default(),
        limit: HITS,
        context: false,
        each_passage: false,
    }
}

/// An index of the vectors of `memories`.
fn vectors(runtime: &Runtime, memories: &[String]) -> MemoryIndex {
    let (index, model) = (MemoryIndex::new(), BuiltIn::default());
    let (mut changes, mut embedded) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(memories) {
        let record = MemoryRecord {
            id: Id::new(),
            content: text.clone(),
            project: None,
            source: Source::library(),
            captured_at: Timestamp::from_millis(0),
            event_time: None,
            metadata: Metadata::default(),
        };
        let document = record.into_document();
        let (key, seq) = (document.key, Seq(number));
        let vector = model.vector(text).unwrap();
        let vectors = vec![PassageVector { passage: 0..text.len(), vector }];
        embedded.push(Embedded { key, seq, vectors });
        changes.push(Change { seq, key, document: Some(document) });
    }
    runtime.block_on(async {
        index.apply(&changes).await.unwrap();
        index.vector_cursor(model.model()).await.unwrap();
        index.apply_vectors(&embedded, Seq(changes.len() as u64)).await.unwrap();
    });
    index
}

fn filled(runtime: &Runtime, folder: &std::path::Path, memories: &[String]) -> Tvix {
    let tvix = Tvix::open(folder).unwrap();
    let memories = memories.iter().map(|text| NewMemory::new(text.as_str()).unwrap()).collect();
    for added in runtime.block_on(tvix.add_many(memories)).unwrap() {
        added.unwrap();
    }
    tvix
}

fn search(runtime: &Runtime, tvix: &Tvix, words: &str) -> Vec<String> {
    let query = Query {
        kind: Kind::Memory,
        text: QueryText::new(words).unwrap(),
        filter: Filter::default(),
        page: Page::first(HITS),
    };
    let answer = runtime.block_on(tvix.search(&query)).unwrap();
    answer.hits.into_iter().map(|hit| hit.document.text).collect()
}

/// Tantivy with its plain tokenizer: words in lower case.
struct Bare {
    reader: IndexReader,
    text: Field,
    _folder: tempfile::TempDir,
}

impl Bare {
    fn filled(memories: &[String]) -> Self {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", TEXT | STORED);
        let folder = tempfile::tempdir().unwrap();
        let index = Index::create_in_dir(folder.path(), schema.build()).unwrap();
        let mut writer = index.writer_with_num_threads(1, 50_000_000).unwrap();
        for memory in memories {
            writer.add_document(doc!(text => memory.as_str())).unwrap();
        }
        writer.commit().unwrap();
        Self { reader: index.reader().unwrap(), text, _folder: folder }
    }

    fn search(&self, words: &str) -> Vec<String> {
        let terms = words.split(' ').map(|word| {
            let term = Term::from_field_text(self.text, word);
            let term = TermQuery::new(term, IndexRecordOption::WithFreqs);
            (Occur::Should, Box::new(term) as Box<dyn TextQuery>)
        });
        let query = BooleanQuery::new(terms.collect());
        let searcher = self.reader.searcher();
        let best = searcher.search(&query, &TopDocs::with_limit(HITS).order_by_score()).unwrap();
        let read = |(_, address)| {
            let document: TantivyDocument = searcher.doc(address).unwrap();
            document.get_first(self.text).unwrap().as_str().unwrap_or_default().to_owned()
        };
        best.into_iter().map(read).collect()
    }
}
