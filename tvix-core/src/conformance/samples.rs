//! What the sentences are about: small documents, and calls that must not fail.

use std::{
    fmt::Debug,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use super::Checking;
use crate::{
    Result,
    storage::{
        Batch, Change, Condition, DocKey, Document, DocumentStore, Facet, FacetCount, Filter,
        Fingerprint, Kind, Operation, Page, Request, Scope, Seq, Written,
    },
    types::{EventTime, Id, RequestId, Source, Timestamp},
};

/// More than any sentence stores.
pub(super) const ALL: usize = 1000;

/// No documents.
pub(super) const NOTHING: [u64; 0] = [];

/// An identifier that holds `number`.
pub(super) fn id(number: u64) -> Id {
    Id::from_bytes(u128::from(number).to_be_bytes())
}

pub(super) fn key(number: u64) -> DocKey {
    DocKey::new(Kind::Memory, id(number))
}

/// The number in an identifier.
pub(super) fn number(key: DocKey) -> u64 {
    u128::from_be_bytes(*key.id.as_bytes()) as u64
}

/// A memory without scope whose id, time and text tell `number`.
pub(super) fn memory(number: u64) -> Document {
    let text = format!("text {number}");
    Document {
        key: key(number),
        scope: None,
        source: Source::library(),
        title: String::new(),
        fingerprint: Fingerprint::of(&[&text]),
        text,
        tags: Vec::new(),
        refs: Vec::new(),
        time: at(number),
        created_at: Timestamp::from_millis(number.cast_signed()),
        attrs: serde_json::Map::new(),
        seq: Seq::ZERO,
    }
}

pub(super) fn scoped(number: u64, key: &str, name: &str) -> Document {
    let scope = Scope { key: key.to_owned(), name: name.to_owned() };
    Document { scope: Some(scope), ..memory(number) }
}

pub(super) fn from_source(number: u64, source: &str) -> Document {
    Document { source: Source::named(source), ..memory(number) }
}

/// The moment `millis` after the beginning of 1970.
pub(super) fn at(millis: u64) -> EventTime {
    EventTime::At(Timestamp::from_millis(millis.cast_signed()))
}

pub(super) fn time(text: &str) -> EventTime {
    done(text.parse(), text)
}

pub(super) fn put(document: Document) -> Operation {
    put_if(document, &[])
}

pub(super) fn put_if(document: Document, conditions: &[Condition]) -> Operation {
    Operation::Put { document: Box::new(document), conditions: conditions.to_vec() }
}

pub(super) fn delete(key: DocKey) -> Operation {
    delete_if(key, &[])
}

pub(super) fn delete_if(key: DocKey, conditions: &[Condition]) -> Operation {
    Operation::Delete { key, conditions: conditions.to_vec() }
}

pub(super) fn request(number: u64, receipt: &str, at: i64) -> Request {
    let (id, at) = (RequestId(id(number)), Timestamp::from_millis(at));
    Request { id, receipt: receipt.to_owned(), at }
}

/// The value, or a panic that says what failed.
pub(super) fn done<T>(result: Result<T>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what} failed: {error}"))
}

pub(super) async fn send(store: &dyn DocumentStore, batch: Batch) -> Written {
    done(store.write(batch).await, "write")
}

pub(super) async fn try_write(store: &dyn DocumentStore, operations: Vec<Operation>) -> Written {
    send(store, Batch { operations, request: None }).await
}

/// Writes a batch that must be applied; returns the last change.
pub(super) async fn write(store: &dyn DocumentStore, operations: Vec<Operation>) -> Seq {
    applied(try_write(store, operations).await)
}

pub(super) fn applied(written: Written) -> Seq {
    match written {
        Written::Done { seq } => seq,
        other => panic!("the batch was not applied: {other:?}"),
    }
}

/// Stores each document by a write of its own.
pub(super) fn put_all(
    store: &dyn DocumentStore,
    documents: impl IntoIterator<Item = Document>,
) -> Checking<'_> {
    let documents: Vec<Document> = documents.into_iter().collect();
    Box::pin(async move {
        for document in documents {
            write(store, vec![put(document)]).await;
        }
    })
}

pub(super) async fn get(store: &dyn DocumentStore, key: DocKey) -> Option<Document> {
    let mut documents = done(store.get(&[key]).await, "get");
    assert_eq!(documents.len(), 1, "get answers once per key");
    documents.pop().flatten()
}

pub(super) async fn scan(store: &dyn DocumentStore, filter: &Filter, page: Page) -> Vec<u64> {
    let documents = done(store.scan(Kind::Memory, filter, page).await, "scan");
    documents.into_iter().map(|document| number(document.key)).collect()
}

/// The numbers of all memories that pass `filter`, in the order of the list.
pub(super) async fn list(store: &dyn DocumentStore, filter: &Filter) -> Vec<u64> {
    scan(store, filter, Page::first(ALL)).await
}

pub(super) async fn list_all(store: &dyn DocumentStore) -> Vec<u64> {
    list(store, &Filter::default()).await
}

pub(super) async fn facets(store: &dyn DocumentStore, facet: Facet) -> Vec<FacetCount> {
    done(store.facets(Kind::Memory, facet).await, "facets")
}

/// Names and counts, in the order of the list.
pub(super) async fn tallies(store: &dyn DocumentStore, facet: Facet) -> Vec<(String, u64)> {
    facets(store, facet).await.into_iter().map(|row| (row.name, row.count)).collect()
}

pub(super) async fn find(store: &dyn DocumentStore, document: &Document) -> Vec<u64> {
    let keys = done(store.find(document.key.kind, &document.fingerprint).await, "find");
    keys.into_iter().map(number).collect()
}

pub(super) async fn changes(store: &dyn DocumentStore, after: Seq) -> Vec<Change> {
    done(store.changes(after, ALL).await, "changes")
}

/// Numbers of the changed keys, oldest change first, with whether the document lives.
pub(super) async fn log(store: &dyn DocumentStore) -> Vec<(u64, bool)> {
    let rows = changes(store, Seq::ZERO).await;
    rows.into_iter().map(|row| (number(row.key), row.document.is_some())).collect()
}

pub(super) async fn receipt(store: &dyn DocumentStore, number: u64) -> Option<String> {
    done(store.receipt(RequestId(id(number))).await, "receipt")
}

/// Everything a caller can see, to compare before and after.
pub(super) async fn everything(store: &dyn DocumentStore) -> impl PartialEq + Debug + use<> {
    let (scopes, sources) = (facets(store, Facet::Scope).await, facets(store, Facet::Source).await);
    let page = Page::first(ALL);
    let documents = done(store.scan(Kind::Memory, &Filter::default(), page).await, "scan");
    (changes(store, Seq::ZERO).await, documents, scopes, sources)
}

/// Runs all of `calls` at once on this task; their results in the same order.
pub(super) async fn all_at_once<T>(calls: Vec<impl Future<Output = T> + Send>) -> Vec<T> {
    let mut calls: Vec<Pin<Box<_>>> = calls.into_iter().map(Box::pin).collect();
    let mut results: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(value) = call.as_mut().poll(context)
            {
                *result = Some(value);
            }
        }
        if results.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}
