//! What every index must do, run on the reference and on the local one, and that both agree.

use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::{
    embed::Model,
    search::analyze::TextQuery,
    storage::{
        Change, DocKey, Document, Embedded, Filter, Fingerprint, IndexQuery, Kind, Neighbours,
        PassageVector, Ranked, Scope, ScopeFilter, SearchIndex, Seq,
    },
    types::{EventTime, Id, Source, TimeRange, TimeZone, Timestamp},
};

fn key(number: u8) -> DocKey {
    DocKey::new(Kind::Memory, Id::from_bytes([number; 16]))
}

fn document(number: u8, text: &str) -> Document {
    Document {
        key: key(number),
        scope: None,
        source: Source::library(),
        title: String::new(),
        text: text.to_owned(),
        tags: Vec::new(),
        refs: Vec::new(),
        time: EventTime::At(Timestamp::from_millis(0)),
        created_at: Timestamp::from_millis(0),
        attrs: serde_json::Map::new(),
        fingerprint: Fingerprint::of(&[text]),
        seq: Seq::ZERO,
    }
}

fn put(seq: u64, document: Document) -> Change {
    Change { seq: Seq(seq), key: document.key, document: Some(document) }
}

fn texts(texts: &[&str]) -> Vec<Change> {
    let numbered = texts.iter().zip(1..);
    numbered.map(|(text, number)| put(u64::from(number), document(number, text))).collect()
}

fn query(text: &str) -> IndexQuery {
    let text = TextQuery::parse(text);
    IndexQuery {
        kind: Kind::Memory,
        text,
        filter: Filter::default(),
        limit: 10,
        context: false,
        each_passage: false,
    }
}

async fn keys(index: &dyn SearchIndex, query: &IndexQuery) -> Vec<DocKey> {
    let ranked = index.keyword(query).await.expect("search");
    assert!(ranked.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()), "{ranked:?}");
    ranked.into_iter().map(|hit| hit.key).collect()
}

async fn near(index: &dyn SearchIndex) -> Vec<DocKey> {
    let found = index.nearest(&query(""), &vec![1.0, 0.0]).await.expect("search");
    found.into_iter().map(|hit| hit.key).collect()
}

async fn finds(index: &dyn SearchIndex, text: &str, numbers: &[u8]) {
    let expected: Vec<_> = numbers.iter().copied().map(key).collect();
    assert_eq!(keys(index, &query(text)).await, expected, "{text}");
}

/// Runs `test` on the reference, on a local index that committed nothing, and on one that committed.
macro_rules! on_every_index {
    ($changes:expr, |$index:ident| $test:expr) => {{
        let changes: Vec<Change> = $changes;
        {
            let $index = MemoryIndex::new();
            $index.apply(&changes).await.expect("apply");
            $test
        }
        #[cfg(feature = "local")]
        {
            let folder = TempDir::new().expect("folder");
            let $index = LocalIndex::open(folder.path());
            $index.apply(&changes).await.expect("apply");
            $test
            $index.commit_now().expect("commit");
            $test
        }
    }};
}

#[tokio::test]
async fn what_is_typed_finds_what_was_written() {
    let changes = texts(&[
        "C is the language of the firmware",
        "C++ is the language of the renderer",
        "项目会议改到星期三下午举行",
        "仓库门口有三只猫在睡觉",
        "来週の打ち合わせは大阪で行います",
        "배포일정을 금요일로 옮겼습니다",
        "后端服务用Kotlin重写完成了",
        "raise max_retry_count to seven in the worker",
        "all deployments were postponed",
        "ticket priority: high because build:watch hangs",
    ]);
    on_every_index!(changes, |index| {
        finds(&index, "C++ language", &[2, 1]).await;
        finds(&index, "C++", &[2, 1]).await;
        finds(&index, "会议", &[3]).await;
        finds(&index, "猫", &[4]).await;
        finds(&index, "打ち合わせ", &[5]).await;
        finds(&index, "금요일", &[6]).await;
        finds(&index, "kotlin", &[7]).await;
        finds(&index, "MAX_RETRY_COUNT", &[8]).await;
        finds(&index, "retry", &[8]).await;
        finds(&index, "deployment", &[9]).await;
        finds(&index, "build:watch", &[10]).await;
        finds(&index, "nothing of it", &[]).await;
        finds(&index, "?!", &[]).await;
    });
}

#[tokio::test]
async fn a_document_must_hold_every_quoted_phrase() {
    let long = format!("blue cheese. {} green tea.", "filler words. ".repeat(100));
    let changes = texts(&[
        "apples in the garden were red, the pie was not",
        "grandmother's red apple pie needs cinnamon",
        "an apple a day; the red pie dish is broken",
        &long,
        "green tea, cheese that is blue",
    ]);
    on_every_index!(changes, |index| {
        finds(&index, "\"red apple pie\"", &[2]).await;
        finds(&index, "\"blue cheese\" \"green tea\"", &[4]).await;
        finds(&index, "\"no such words\"", &[]).await;
        let among_words = keys(&index, &query("\"red apple pie\" dish")).await;
        assert_eq!(among_words[0], key(2), "among other words a phrase weighs and is not required");
        assert!(among_words.contains(&key(3)));
    });
}

#[tokio::test]
async fn filters_apply_before_the_best_are_chosen() {
    let mut changes: Vec<_> =
        (1..=200).map(|n| put(u64::from(n), document(n, "standup notes"))).collect();
    for number in 201..=205_u8 {
        let mut old = document(number, "old standup notes with a few more words in them");
        old.time = "2029-02-03".parse().expect("a day");
        old.source = Source::named("Slack");
        old.scope = Some(Scope { key: "small".into(), name: "Small".into() });
        changes.push(put(u64::from(number), old));
    }
    let old: Vec<_> = (201..=205).map(key).collect();
    on_every_index!(changes, |index| {
        let mut query = query("standup notes");
        query.limit = 5;
        let time = TimeRange::parse(Some("2029-02-03"), Some("2029-02-03"), &TimeZone::UTC);
        for filter in [
            Filter { time: time.expect("dates"), ..Filter::default() },
            Filter { sources: vec![Source::named("slack").key()], ..Filter::default() },
            Filter { scope: ScopeFilter::Only("small".into()), ..Filter::default() },
        ] {
            query.filter = filter;
            assert_eq!(keys(&index, &query).await, old, "{:?}", query.filter);
        }
        query.filter = Filter { scope: ScopeFilter::Unscoped, ..Filter::default() };
        assert_eq!(keys(&index, &query).await, (1..=5).map(key).collect::<Vec<_>>());
        query.kind = Kind::Wiki;
        assert_eq!(keys(&index, &query).await, []);
    });
}

#[tokio::test]
async fn a_word_at_the_end_of_a_long_document_is_found_in_its_passage() {
    let text = format!("{} The last word is pomegranateworks.", "Some filler text. ".repeat(2000));
    on_every_index!(texts(&[&text]), |index| {
        let found = index.keyword(&query("pomegranateworks")).await.expect("search");
        assert_eq!(found.len(), 1);
        assert!(text[found[0].passage.clone()].contains("pomegranateworks"));
    });
}

#[tokio::test]
async fn replaced_and_deleted_documents_are_gone_at_once() {
    on_every_index!(texts(&["red lantern", "blue lantern", "green lantern"]), |index| {
        let changes = [
            put(10, document(1, "yellow candle")),
            Change { seq: Seq(11), key: key(2), document: None },
        ];
        index.apply(&changes).await.expect("apply");
        index.apply(&changes).await.expect("again");
        finds(&index, "lantern", &[3]).await;
        finds(&index, "red", &[]).await;
        finds(&index, "candle", &[1]).await;
        index.reset().await.expect("reset");
        assert_eq!(index.cursor().await.expect("cursor"), Seq::ZERO);
        finds(&index, "candle lantern", &[]).await;
        index
            .apply(&texts(&["red lantern", "blue lantern", "green lantern"]))
            .await
            .expect("apply");
    });
}

fn model() -> Model {
    Model { name: "two numbers".into(), dimension: 2 }
}

fn embedded(number: u8, seq: u64, text: &str, vector: &[f32]) -> Embedded {
    let vectors = vec![PassageVector { passage: 0..text.len(), vector: vector.to_vec() }];
    Embedded { key: key(number), seq: Seq(seq), vectors }
}

#[tokio::test]
async fn vectors_may_follow_and_are_found_for_the_change_they_were_made_of() {
    on_every_index!(texts(&["one", "two", "three"]), |index| {
        assert_eq!(index.vector_cursor(&model()).await.expect("cursor"), Seq::ZERO);
        let vectors = [
            embedded(1, 1, "one", &[0.6, 0.8]),
            embedded(2, 2, "two", &[1.0, 0.0]),
            embedded(3, 3, "three", &[1.0, 0.0, 0.0]),
        ];
        index.apply_vectors(&vectors, Seq(3)).await.expect("vectors");
        assert_eq!(near(&index).await, [key(2), key(1)], "other dimensions are left out");
        index.apply(&texts(&["one", "two", "three"])).await.expect("again");
        assert_eq!(near(&index).await, [key(2), key(1)]);
        index.apply(&[put(9, document(2, "two, once more"))]).await.expect("apply");
        assert_eq!(near(&index).await, [key(1)], "the vectors of an earlier text are not found");
        index.apply_vectors(&vectors[1..2], Seq(3)).await.expect("late vectors");
        assert_eq!(near(&index).await, [key(1)], "nor when they come late");
        let gone = Change { seq: Seq(10), key: key(1), document: None };
        index.apply(&[gone]).await.expect("apply");
        assert_eq!(near(&index).await, []);
        index.reset().await.expect("reset");
        index.apply(&texts(&["one", "two", "three"])).await.expect("apply");
    });
}

#[tokio::test]
async fn another_model_forgets_the_vectors() {
    on_every_index!(texts(&["one", "two"]), |index| {
        index.vector_cursor(&model()).await.expect("cursor");
        let vectors = [embedded(1, 1, "one", &[0.6, 0.8]), embedded(2, 2, "two", &[1.0, 0.0])];
        index.apply_vectors(&vectors, Seq(2)).await.expect("vectors");
        assert_eq!(near(&index).await, [key(2), key(1)]);
        let other = Model { name: "another".into(), dimension: 2 };
        assert_eq!(index.vector_cursor(&other).await.expect("cursor"), Seq::ZERO);
        assert_eq!(near(&index).await, []);
        assert_eq!(index.vector_cursor(&model()).await.expect("cursor"), Seq::ZERO);
    });
}

#[tokio::test]
async fn a_memory_is_also_found_by_what_stands_next_to_it() {
    let mut changes = texts(&["do you like lanterns?", "yes, very much", "and cats?"]);
    for (change, minute) in changes.iter_mut().zip([0, 10, 50]) {
        let moment = Timestamp::from_millis(minute * 60_000);
        change.document.as_mut().expect("a document").time = EventTime::At(moment);
    }
    on_every_index!(changes, |index| {
        let query = IndexQuery { context: true, ..query("lanterns") };
        assert_eq!(keys(&index, &query).await, [key(1), key(2)], "but not from 40 minutes away");
        let ranked = index.keyword(&query).await.expect("search");
        assert_eq!([ranked[0].terms.is_empty(), ranked[1].terms.is_empty()], [false, true]);
        assert!(!ranked[1].around.is_empty());
        let neighbours = index.neighbours(&[key(1), key(2), key(3)]).await.expect("neighbours");
        let beside = |before: Option<u8>, after: Option<u8>| Neighbours {
            before: before.map(key),
            after: after.map(key),
        };
        assert_eq!(neighbours, [beside(None, Some(2)), beside(Some(1), None), beside(None, None)]);
    });
}

#[cfg(feature = "local")]
mod local;
mod scan;

#[cfg(feature = "conformance")]
#[tokio::test]
async fn every_index_keeps_the_contract() {
    on_every_index!(Vec::new(), |index| {
        crate::conformance::index(&index).await;
    });
}
