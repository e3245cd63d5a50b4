use crate::{
    conformance::samples::{
        ALL, all_at_once, changes, delete, done, get, key, log, memory, number, put, put_all, write,
    },
    storage::{Change, Document, DocumentStore, Seq},
};

/// Than all before it, by any operation.
pub async fn every_write_gets_a_greater_seq(store: &dyn DocumentStore) {
    let mut last = Seq::ZERO;
    for operation in
        [put(memory(1)), put(memory(2)), put(memory(1)), delete(key(1)), put(memory(1))]
    {
        let seq = write(store, vec![operation]).await;
        assert!(seq > last, "{seq} came after {last}");
        last = seq;
    }
    let seq = write(store, vec![put(memory(3)), put(memory(4)), put(memory(5))]).await;
    let stored: Vec<Seq> = changes(store, last).await.iter().map(|change| change.seq).collect();
    assert_eq!(stored.len(), 3, "each operation of a batch has a seq of its own");
    assert_eq!(stored.last(), Some(&seq), "that of the last operation is returned");
}

/// What the caller put there is ignored.
pub async fn the_store_sets_the_seq_of_a_document(store: &dyn DocumentStore) {
    let seq = write(store, vec![put(Document { seq: Seq(77), ..memory(1) })]).await;
    assert_eq!(get(store, key(1)).await.map(|document| document.seq), Some(seq));
    let expected = Change { seq, key: key(1), document: Some(Document { seq, ..memory(1) }) };
    assert_eq!(changes(store, Seq::ZERO).await, [expected]);
}

/// Its last.
pub async fn the_log_holds_one_change_per_live_document(store: &dyn DocumentStore) {
    for round in 0..3 {
        put_all(store, [memory(1), Document { text: format!("round {round}"), ..memory(2) }]).await;
    }
    write(store, vec![put(memory(1)), put(memory(1))]).await;
    assert_eq!(log(store).await, [(2, true), (1, true)]);
    let texts: Vec<_> = changes(store, Seq::ZERO).await.into_iter().map(|it| it.document).collect();
    assert_eq!(texts[0].as_ref().map(|document| document.text.as_str()), Some("round 2"));
}

/// The deletion.
pub async fn the_log_holds_one_change_per_deleted_key(store: &dyn DocumentStore) {
    put_all(store, [memory(1), memory(2)]).await;
    let seq = write(store, vec![delete(key(1))]).await;
    write(store, vec![delete(key(1))]).await;
    assert_eq!(log(store).await, [(2, true), (1, false)]);
    let last = changes(store, Seq::ZERO).await.pop();
    assert_eq!(last, Some(Change { seq, key: key(1), document: None }));
}

/// Its deletion is no longer in the log.
pub async fn a_deleted_key_that_is_put_again_is_one_live_change(store: &dyn DocumentStore) {
    for _ in 0..2 {
        put_all(store, [memory(1), memory(2)]).await;
        write(store, vec![delete(key(1))]).await;
        assert_eq!(log(store).await, [(2, true), (1, false)]);
        write(store, vec![put(memory(1))]).await;
        assert_eq!(log(store).await, [(2, true), (1, true)]);
    }
}

/// Reading it in pieces is reading all of it.
pub async fn changes_come_oldest_first_after_a_seq_up_to_a_limit(store: &dyn DocumentStore) {
    put_all(store, (1..=6).map(memory)).await;
    write(store, vec![put(memory(2)), delete(key(4))]).await;
    let mut seen = Vec::new();
    let mut after = Seq::ZERO;
    loop {
        let some = done(store.changes(after, 2).await, "changes");
        let Some(last) = some.last() else { break };
        assert!(some.len() <= 2 && some.iter().all(|change| change.seq > after));
        after = last.seq;
        seen.extend(some.into_iter().map(|change| number(change.key)));
    }
    assert_eq!(seen, [1, 3, 5, 6, 2, 4]);
    assert_eq!(done(store.changes(Seq::ZERO, 0).await, "changes"), []);
    assert_eq!(done(store.changes(Seq(u64::MAX), ALL).await, "changes"), []);
}

/// None is lost, none shares a seq.
pub async fn concurrent_writers_all_land_with_seqs_of_their_own(store: &dyn DocumentStore) {
    let writes = (1..=32).map(|number| write(store, vec![put(memory(number))])).collect();
    let mut seqs = all_at_once(writes).await;
    for (number, seq) in (1..).zip(&seqs) {
        let document = get(store, key(number)).await;
        assert_eq!(document.map(|document| document.seq), Some(*seq));
    }
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), 32);
}
