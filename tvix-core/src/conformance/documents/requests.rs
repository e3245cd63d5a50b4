use crate::{
    conformance::samples::{
        all_at_once, applied, everything, list_all, memory, put, put_if, receipt, request, send,
    },
    storage::{Batch, Condition, DocumentStore, RECEIPT_LIFETIME_MS, Request, Written},
};

fn put_for(number: u64, request: Request) -> Batch {
    Batch { operations: vec![put(memory(number))], request: Some(request) }
}

/// By the same batch; a batch without operations has one too.
pub async fn a_receipt_is_kept_with_the_write(store: &dyn DocumentStore) {
    assert_eq!(receipt(store, 7).await, None);
    applied(send(store, put_for(1, request(7, "{\"id\": \"é\"}", 1_000))).await);
    let empty = Batch { operations: vec![], request: Some(request(8, "", 1_000)) };
    applied(send(store, empty).await);
    assert_eq!(receipt(store, 7).await.as_deref(), Some("{\"id\": \"é\"}"));
    assert_eq!(receipt(store, 8).await.as_deref(), Some(""));
}

/// Whatever the second batch holds.
pub async fn a_repeated_request_is_answered_and_not_applied(store: &dyn DocumentStore) {
    applied(send(store, put_for(1, request(7, "first", 1_000))).await);
    let before = everything(store).await;
    let repeated = Written::Repeated { receipt: "first".into() };
    assert_eq!(send(store, put_for(2, request(7, "second", 2_000))).await, repeated);
    assert_eq!(everything(store).await, before, "a repeated request left something");
    assert_eq!(receipt(store, 7).await.as_deref(), Some("first"));
    let impossible = Batch {
        operations: vec![put_if(memory(3), &[Condition::FewerThan(0)])],
        request: Some(request(7, "third", 3_000)),
    };
    assert_eq!(send(store, impossible).await, repeated, "it is not refused either");
}

/// So it may be sent again, and land.
pub async fn a_refused_request_is_not_remembered(store: &dyn DocumentStore) {
    let refused = Batch {
        operations: vec![put_if(memory(1), &[Condition::FewerThan(0)])],
        request: Some(request(7, "never", 1_000)),
    };
    assert!(matches!(send(store, refused).await, Written::Refused { .. }));
    assert_eq!(receipt(store, 7).await, None);
    applied(send(store, put_for(2, request(7, "landed", 1_000))).await);
    assert_eq!(receipt(store, 7).await.as_deref(), Some("landed"));
}

/// Counted from when it was made to when the next one is.
pub async fn a_request_is_forgotten_after_its_lifetime(store: &dyn DocumentStore) {
    let end = 1_000 + RECEIPT_LIFETIME_MS;
    applied(send(store, put_for(1, request(7, "first", 1_000))).await);
    applied(send(store, put_for(2, request(8, "second", 2_000))).await);
    let repeated = Written::Repeated { receipt: "first".into() };
    assert_eq!(send(store, put_for(3, request(7, "again", end))).await, repeated);
    applied(send(store, put_for(4, request(7, "anew", end + 1))).await);
    assert_eq!(receipt(store, 7).await.as_deref(), Some("anew"));
    assert_eq!(receipt(store, 8).await.as_deref(), Some("second"));
    applied(send(store, put_for(5, request(9, "later", end + 1_001))).await);
    assert_eq!(receipt(store, 8).await, None);
    assert_eq!(receipt(store, 7).await.as_deref(), Some("anew"));
    assert_eq!(list_all(store).await, [5, 4, 2, 1]);
}

/// And all callers get one answer.
pub async fn a_request_sent_many_times_at_once_lands_once(store: &dyn DocumentStore) {
    let calls = (1..=16).map(|number| send(store, put_for(number, request(7, "one", 1_000))));
    let answers = all_at_once(calls.collect()).await;
    let landed = answers.iter().filter(|answer| matches!(answer, Written::Done { .. })).count();
    let repeated = Written::Repeated { receipt: "one".into() };
    let others = answers.iter().filter(|answer| **answer == repeated).count();
    assert_eq!((landed, others), (1, 15));
    assert_eq!(list_all(store).await.len(), 1);
}
