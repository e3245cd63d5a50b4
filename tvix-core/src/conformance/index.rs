//! The contract of a [`SearchIndex`].

use serde_json::Map;

use crate::{
    embed::Model,
    search::analyze::TextQuery,
    storage::{
        Change, DocKey, Document, Embedded, Filter, Fingerprint, IndexQuery, Kind, PassageVector,
        Scope, ScopeFilter, SearchIndex, Seq,
    },
    types::{EventTime, Id, Source, TimeRange, TimeZone, Timestamp},
};

/// Checks that `index` keeps the contract of [`SearchIndex`]. What it holds is forgotten.
///
/// # Panics
/// When a sentence of the contract does not hold, with that sentence.
pub async fn index(index: &dyn SearchIndex) {
    an_index_that_was_reset_is_empty(index).await;
    changes_are_seen_by_the_next_query_and_may_be_repeated(index).await;
    filters_apply_before_the_best_are_chosen(index).await;
    what_is_replaced_or_deleted_is_gone_at_once(index).await;
    vectors_may_follow_their_text(index).await;
    passages_can_be_ranked_one_by_one(index).await;
    an_index_says_what_it_holds(index).await;
    an_index_that_was_reset_is_empty(index).await;
}

async fn an_index_that_was_reset_is_empty(index: &dyn SearchIndex) {
    index.apply(&[put(1, document(1, "a red lantern"))]).await.expect("apply");
    index.reset().await.expect("reset");
    assert_eq!(found(index, &query("lantern")).await, [], "a reset index finds nothing");
    let cursor = index.cursor().await.expect("cursor");
    assert_eq!(cursor, Seq::ZERO, "a reset index asks to be rebuilt");
}

async fn changes_are_seen_by_the_next_query_and_may_be_repeated(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let changes = [put(1, document(1, "a red lantern")), put(2, document(2, "a blue candle"))];
    for _ in 0..2 {
        index.apply(&changes).await.expect("apply");
        assert_eq!(found(index, &query("lanterns")).await, [key(1)], "a change is seen at once");
        assert_eq!(found(index, &query("\"a blue\"")).await, [key(2)], "quotes match as phrases");
    }
    let cursor = index.cursor().await.expect("cursor");
    assert!(cursor <= Seq(2), "the cursor is a change that was applied");
}

async fn filters_apply_before_the_best_are_chosen(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let mut changes: Vec<_> =
        (1..=50).map(|number| put(u64::from(number), document(number, "lantern"))).collect();
    let mut other = document(51, "a lantern among many other and longer words");
    other.source = Source::named("Slack");
    other.scope = Some(Scope { key: "house".into(), name: "House".into() });
    other.time = "2031-03-10".parse().expect("a day");
    changes.push(put(51, other));
    index.apply(&changes).await.expect("apply");
    let day = TimeRange::parse(Some("2031-03-10"), None, &TimeZone::UTC).expect("a range");
    for filter in [
        Filter { scope: ScopeFilter::Only("house".into()), ..Filter::default() },
        Filter { sources: vec![Source::named("Slack").key()], ..Filter::default() },
        Filter { time: day, ..Filter::default() },
    ] {
        let query = IndexQuery { filter, limit: 3, ..query("lantern") };
        let found = found(index, &query).await;
        assert_eq!(found, [key(51)], "a filter applies before the best are chosen");
    }
}

async fn what_is_replaced_or_deleted_is_gone_at_once(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let before: Vec<_> =
        (1..=3).map(|number| put(u64::from(number), document(number, "lantern"))).collect();
    index.apply(&before).await.expect("apply");
    let after =
        [put(4, document(1, "candle")), Change { seq: Seq(5), key: key(2), document: None }];
    index.apply(&after).await.expect("apply");
    let left = found(index, &query("lantern")).await;
    assert_eq!(left, [key(3)], "what is replaced or deleted is gone at once");
}

async fn an_index_says_what_it_holds(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let mut long = document(3, &"a long evening by the lantern. ".repeat(200));
    long.title = "Evening".into();
    let changes = [put(1, document(1, "one")), put(2, document(2, "two")), put(3, long)];
    index.apply(&changes).await.expect("apply");
    let deleted = Change { seq: Seq(4), key: key(1), document: None };
    index.apply(&[deleted, put(5, document(2, "other"))]).await.expect("apply");
    let indexed = index.indexed(&[key(1), key(2), key(3), key(4)]).await.expect("indexed");
    let wanted = [None, Some(Seq(5)), Some(Seq(3)), None];
    assert_eq!(indexed, wanted, "an index knows the change of which a document is found");
    let state = index.inspect().await.expect("inspect");
    assert_eq!(state.documents, 2, "documents are counted, whatever their length");
    assert_eq!(state.damage, Vec::<String>::new(), "a sound index reports no damage");
}

async fn vectors_may_follow_their_text(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let model = Model { name: "two numbers".into(), dimension: 2 };
    let cursor = index.vector_cursor(&model).await.expect("cursor");
    assert_eq!(cursor, Seq::ZERO, "a reset index asks for vectors");
    let changes = [put(1, document(1, "one")), put(2, document(2, "two"))];
    index.apply(&changes).await.expect("apply");
    let nearest = |limit| {
        let query = IndexQuery { limit, ..query("") };
        async move {
            let found = index.nearest(&query, &vec![1.0, 0.0]).await.expect("search");
            found.into_iter().map(|hit| hit.key).collect::<Vec<_>>()
        }
    };
    assert_eq!(nearest(9).await, [], "text without vectors is not found by meaning");
    let embedded = |number: u8, vector: Vec<f32>| {
        let vectors = vec![PassageVector { passage: 0..3, vector }];
        Embedded { key: key(number), seq: Seq(number.into()), vectors }
    };
    let embedded = [embedded(1, vec![0.6, 0.8]), embedded(2, vec![1.0, 0.0])];
    index.apply_vectors(&embedded, Seq(2)).await.expect("vectors");
    assert_eq!(nearest(9).await, [key(2), key(1)], "the nearest comes first");
    assert_eq!(nearest(1).await, [key(2)], "no more than the limit is returned");
    let other = Model { name: "other".into(), ..model };
    let cursor = index.vector_cursor(&other).await.expect("cursor");
    assert_eq!(cursor, Seq::ZERO, "another model asks for vectors of its own");
    assert_eq!(nearest(9).await, [], "vectors of another model are not compared");
}

async fn passages_can_be_ranked_one_by_one(index: &dyn SearchIndex) {
    index.reset().await.expect("reset");
    let text = "a long evening by the lantern. ".repeat(100);
    index.apply(&[put(1, document(1, &text))]).await.expect("apply");
    let query = IndexQuery { each_passage: true, ..query("lantern") };
    let passages = index.keyword(&query).await.expect("search");
    assert!(passages.len() > 2, "every passage is an entry of its own when asked for");
}

/// The keys found, in order of rank.
async fn found(index: &dyn SearchIndex, query: &IndexQuery) -> Vec<DocKey> {
    let ranked = index.keyword(query).await.expect("search");
    let falling = ranked.is_sorted_by(|a, b| a.score >= b.score);
    assert!(falling && ranked.iter().all(|hit| hit.score > 0.0), "scores are positive and fall");
    ranked.into_iter().map(|hit| hit.key).collect()
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

fn key(number: u8) -> DocKey {
    DocKey::new(Kind::Memory, Id::from_bytes([number; 16]))
}

fn put(seq: u64, document: Document) -> Change {
    Change { seq: Seq(seq), key: document.key, document: Some(document) }
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
        attrs: Map::new(),
        fingerprint: Fingerprint::of(&[text]),
        seq: Seq::ZERO,
    }
}
