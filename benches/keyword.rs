//! Keyword search by `Search::search`, beside tantivy alone over the same texts.
//!
//! Both return the texts of the ten best. Tvix also analyses the query for languages, exact forms and
//! phrases, looks at what is not committed yet, reads the documents from the store and scores them.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

mod common;

use std::{hint::black_box, iter};

use common::Texts;
use criterion::{BenchmarkId, Criterion};
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
    memory::NewMemory,
    search::Query,
    storage::{Filter, Kind, Page},
    types::QueryText,
};

const SIZES: [usize; 2] = [1_000, 10_000];
const QUERIES: usize = 64;
const HITS: usize = 10;

fn main() {
    common::announce("keyword search, the ten best, three words");
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("keyword");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

    for size in SIZES {
        let mut texts = Texts::new();
        let memories: Vec<String> = (0..size).map(|number| texts.memory(number)).collect();
        let queries: Vec<String> = iter::repeat_with(|| texts.query()).take(QUERIES).collect();
        let folder = tempfile::tempdir().unwrap();

        let tvix = filled(&runtime, &folder.path().join("data"), &memories);
        let mut asked = queries.iter().cycle();
        group.bench_function(BenchmarkId::new("tvix", size), |bencher| {
            bencher.iter(|| black_box(search(&runtime, &tvix, asked.next().unwrap())));
        });

        let bare = Bare::filled(&memories);
        let mut asked = queries.iter().cycle();
        group.bench_function(BenchmarkId::new("tantivy alone", size), |bencher| {
            bencher.iter(|| black_box(bare.search(asked.next().unwrap())));
        });
    }

    group.finish();
    criterion.final_summary();
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
