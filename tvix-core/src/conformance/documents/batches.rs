use Condition::{FewerThan, NoTwin, Unchanged};

use crate::{
    conformance::samples::{
        all_at_once, applied, delete, delete_if, everything, get, id, key, list_all, log, memory,
        put, put_all, put_if, scoped, try_write, write,
    },
    storage::{
        Condition, DocKey, Document, DocumentStore, Fingerprint, Kind, Operation, Seq, Written,
    },
};

/// A memory that says what all of these say.
fn same(number: u64) -> Document {
    Document { fingerprint: Fingerprint::of(&["same"]), ..memory(number) }
}

async fn expect_refusal(
    store: &dyn DocumentStore,
    operations: Vec<Operation>,
    (operation, condition, existing): (usize, Condition, Option<DocKey>),
) {
    let before = everything(store).await;
    let written = try_write(store, operations).await;
    assert_eq!(written, Written::Refused { operation, condition, existing });
    assert_eq!(everything(store).await, before, "a refused batch left something");
}

/// The last one to touch a key wins.
pub async fn operations_are_applied_in_order(store: &dyn DocumentStore) {
    let operations = [
        put(memory(1)),
        delete(key(1)),
        put(memory(2)),
        delete(key(3)),
        put(memory(3)),
        put(memory(1)),
    ];
    write(store, operations.into()).await;
    assert_eq!(list_all(store).await, [3, 2, 1]);
    assert_eq!(log(store).await, [(2, true), (3, true), (1, true)]);
}

/// Its seq is the last of the store.
pub async fn an_empty_batch_is_applied(store: &dyn DocumentStore) {
    assert_eq!(write(store, vec![]).await, Seq::ZERO);
    let seq = write(store, vec![put(memory(1))]).await;
    assert_eq!(write(store, vec![]).await, seq);
}

/// The refusal names the twin of the lowest id.
pub async fn a_twin_refuses_a_put(store: &dyn DocumentStore) {
    write(store, vec![put_if(same(5), &[NoTwin])]).await;
    expect_refusal(store, vec![put_if(same(1), &[NoTwin])], (0, NoTwin, Some(key(5)))).await;
    write(store, vec![put(same(3))]).await;
    expect_refusal(store, vec![put_if(same(4), &[NoTwin])], (0, NoTwin, Some(key(3)))).await;
}

/// It may be put again.
pub async fn a_document_is_not_its_own_twin(store: &dyn DocumentStore) {
    write(store, vec![put(same(1))]).await;
    write(store, vec![put_if(same(1), &[NoTwin])]).await;
}

/// Another kind may hold the same.
pub async fn twins_are_looked_for_in_one_kind(store: &dyn DocumentStore) {
    let wiki = Document { key: DocKey::new(Kind::Wiki, id(1)), ..same(1) };
    write(store, vec![put(wiki.clone())]).await;
    write(store, vec![put_if(same(2), &[NoTwin])]).await;
    let other = Document { key: DocKey::new(Kind::Wiki, id(2)), ..wiki.clone() };
    expect_refusal(store, vec![put_if(other, &[NoTwin])], (0, NoTwin, Some(wiki.key))).await;
}

/// Conditions see the operations before them.
pub async fn a_twin_in_the_same_batch_refuses_a_put(store: &dyn DocumentStore) {
    let operations = vec![put(memory(9)), put(same(1)), put_if(same(2), &[NoTwin])];
    expect_refusal(store, operations, (2, NoTwin, Some(key(1)))).await;
}

/// Nor one that says something else by then.
pub async fn a_twin_deleted_in_the_same_batch_does_not(store: &dyn DocumentStore) {
    write(store, vec![put(same(1))]).await;
    write(store, vec![delete(key(1)), put_if(same(2), &[NoTwin])]).await;
    write(store, vec![put(memory(2)), put_if(same(3), &[NoTwin])]).await;
    assert_eq!(list_all(store).await, [3, 2]);
}

/// Replaced, deleted or never there.
pub async fn a_changed_document_refuses(store: &dyn DocumentStore) {
    let first = write(store, vec![put(memory(1))]).await;
    let second = write(store, vec![put_if(memory(1), &[Unchanged(first)])]).await;
    let attempt = |seq| vec![put_if(memory(1), &[Unchanged(seq)])];
    expect_refusal(store, attempt(first), (0, Unchanged(first), None)).await;
    write(store, vec![delete_if(key(1), &[Unchanged(second)])]).await;
    expect_refusal(store, attempt(second), (0, Unchanged(second), None)).await;
    expect_refusal(store, attempt(Seq::ZERO), (0, Unchanged(Seq::ZERO), None)).await;
}

/// It is a change like any other.
pub async fn a_change_in_the_same_batch_is_seen(store: &dyn DocumentStore) {
    let seq = write(store, vec![put(memory(1))]).await;
    let changed = vec![put(memory(1)), put_if(memory(1), &[Unchanged(seq)])];
    expect_refusal(store, changed, (1, Unchanged(seq), None)).await;
    let deleted = vec![delete(key(1)), put_if(memory(1), &[Unchanged(seq)])];
    expect_refusal(store, deleted, (1, Unchanged(seq), None)).await;
    let others = vec![put(memory(2)), delete(key(9)), put_if(memory(1), &[Unchanged(seq)])];
    write(store, others).await;
}

/// Only documents of the kind that live are counted.
pub async fn a_full_kind_refuses(store: &dyn DocumentStore) {
    let wiki = Document { key: DocKey::new(Kind::Wiki, id(1)), ..memory(1) };
    put_all(store, [wiki, memory(1), memory(1), memory(2)]).await;
    expect_refusal(store, vec![put_if(memory(3), &[FewerThan(2)])], (0, FewerThan(2), None)).await;
    expect_refusal(store, vec![put_if(memory(3), &[FewerThan(0)])], (0, FewerThan(0), None)).await;
    write(store, vec![put_if(memory(3), &[FewerThan(3)])]).await;
    write(store, vec![delete(key(1)), delete(key(2))]).await;
    write(store, vec![put_if(memory(4), &[FewerThan(2)])]).await;
}

/// Each put and deletion before counts.
pub async fn the_count_follows_the_operations_of_a_batch(store: &dyn DocumentStore) {
    let guarded = |number| put_if(memory(number), &[FewerThan(2)]);
    expect_refusal(store, (1..=3).map(guarded).collect(), (2, FewerThan(2), None)).await;
    let replaced = vec![put(memory(1)), put(memory(1)), guarded(2)];
    write(store, replaced).await;
    write(store, vec![delete(key(1)), delete(key(1)), guarded(3)]).await;
    assert_eq!(list_all(store).await, [3, 2]);
}

/// Of every sort.
pub async fn deletions_have_conditions_too(store: &dyn DocumentStore) {
    put_all(store, [same(1), same(2)]).await;
    let attempt = |condition| vec![delete_if(key(1), &[condition])];
    expect_refusal(store, attempt(NoTwin), (0, NoTwin, Some(key(2)))).await;
    expect_refusal(store, attempt(FewerThan(2)), (0, FewerThan(2), None)).await;
    expect_refusal(store, attempt(Unchanged(Seq(99))), (0, Unchanged(Seq(99)), None)).await;
    write(store, vec![delete_if(key(1), &[FewerThan(3)])]).await;
    write(store, vec![delete_if(key(1), &[NoTwin])]).await;
}

/// The first that does not is named.
pub async fn all_conditions_of_an_operation_must_hold(store: &dyn DocumentStore) {
    let seq = write(store, vec![put(same(1))]).await;
    let conditions = [Unchanged(seq), FewerThan(1), NoTwin];
    let refused = (0, FewerThan(1), None);
    expect_refusal(store, vec![put_if(same(1), &conditions)], refused).await;
    write(store, vec![put_if(same(1), &[Unchanged(seq), FewerThan(2), NoTwin])]).await;
}

/// Of any of its operations, before or after the one that was refused.
pub async fn a_refused_batch_leaves_nothing(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "a", "a"), scoped(2, "b", "b")]).await;
    let operations = vec![
        put(scoped(3, "c", "c")),
        delete(key(1)),
        put(memory(2)),
        put_if(memory(4), &[FewerThan(1)]),
        put(memory(5)),
    ];
    expect_refusal(store, operations, (3, FewerThan(1), None)).await;
    let before = get(store, key(1)).await.map(|document| document.seq);
    let seq = write(store, vec![put(memory(6))]).await;
    assert!(before.is_some_and(|before| before < seq));
}

/// The others name it.
pub async fn of_concurrent_twins_one_lands(store: &dyn DocumentStore) {
    let writes = (1..=16).map(|n| try_write(store, vec![put_if(same(n), &[NoTwin])])).collect();
    let (landed, refused): (Vec<_>, Vec<_>) = all_at_once(writes)
        .await
        .into_iter()
        .partition(|written| matches!(written, Written::Done { .. }));
    assert_eq!((landed.len(), refused.len()), (1, 15));
    for written in landed {
        assert!(applied(written) > Seq::ZERO);
    }
    let [winner] = list_all(store).await[..] else { panic!("more than one landed") };
    let existing = Some(key(winner));
    let refusal = Written::Refused { operation: 0, condition: NoTwin, existing };
    assert!(refused.iter().all(|written| *written == refusal), "{refused:?}");
}
