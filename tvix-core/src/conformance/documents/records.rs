use serde_json::json;

use crate::{
    conformance::samples::{
        NOTHING, delete, done, find, get, id, key, list_all, log, memory, put, put_all, scoped,
        tallies, time, write,
    },
    storage::{DocKey, Document, DocumentStore, Facet, Fingerprint, Kind, Reference, Seq},
    types::Source,
};

/// A document with every field in use.
fn full() -> Document {
    let json = json!({"n": 1.5, "big": 9_007_199_254_740_993_u64, "deep": [null, {"ok": true}]});
    let reference = Reference { role: "parent".into(), target: id(7).to_string() };
    Document {
        source: Source::named("Claude Code"),
        title: "A title".into(),
        tags: vec!["b".into(), "a".into(), "b".into()],
        refs: vec![reference],
        time: time("2031-03-10"),
        attrs: json.as_object().cloned().unwrap_or_default(),
        ..scoped(1, "field-notes", "Field Notes")
    }
}

/// Every field comes back; only `seq` is the store's.
pub async fn a_document_comes_back_as_it_went_in(store: &dyn DocumentStore) {
    let seq = write(store, vec![put(full())]).await;
    assert_eq!(get(store, key(1)).await, Some(Document { seq, ..full() }));
}

/// No script, control character or length of text is special.
pub async fn text_of_any_script_comes_back_as_it_went_in(store: &dyn DocumentStore) {
    let texts =
        ["", "日本語 ру́сский العربية 🦀👩‍🔬", "a\0b\r\n\t\u{7f}\u{feff}\u{10ffff}", "e\u{301} ≠ é"];
    let long = "ü".repeat(300_000);
    for (number, text) in (1..).zip(texts.into_iter().chain([long.as_str()])) {
        let scope = format!("scope {text:.40}");
        let document = Document {
            title: text.into(),
            text: text.into(),
            tags: vec![text.into()],
            ..scoped(number, &scope, &scope)
        };
        let seq = write(store, vec![put(document.clone())]).await;
        let stored = get(store, key(number)).await;
        assert!(stored == Some(Document { seq, ..document }), "{text:.40?} came back changed");
    }
}

/// One answer per key, also for absent and repeated keys.
pub async fn a_get_answers_in_the_order_of_its_keys(store: &dyn DocumentStore) {
    put_all(store, [memory(1), memory(2)]).await;
    let keys = [key(2), key(9), key(1), key(2)];
    let documents = done(store.get(&keys).await, "get");
    let texts: Vec<_> = documents.into_iter().map(|it| it.map(|it| it.text)).collect();
    let expected = [Some("text 2"), None, Some("text 1"), Some("text 2")];
    assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
    assert_eq!(done(store.get(&[]).await, "get of no key"), []);
}

/// Nothing of the former document is left.
pub async fn a_put_replaces_the_whole_document(store: &dyn DocumentStore) {
    let seq = write(store, vec![put(full()), put(memory(1))]).await;
    assert_eq!(get(store, key(1)).await, Some(Document { seq, ..memory(1) }));
    assert_eq!(list_all(store).await, [1]);
    assert_eq!(tallies(store, Facet::Scope).await, []);
    assert_eq!(tallies(store, Facet::Source).await, [("Library".to_owned(), 1)]);
}

/// It is neither read nor listed nor found.
pub async fn a_deleted_document_is_gone(store: &dyn DocumentStore) {
    put_all(store, [memory(1), memory(2)]).await;
    write(store, vec![delete(key(1))]).await;
    assert_eq!(get(store, key(1)).await, None);
    assert_eq!(list_all(store).await, [2]);
    assert!(find(store, &memory(1)).await.is_empty());
}

/// It changes nothing, so the log does not grow.
pub async fn deleting_an_absent_key_is_no_error(store: &dyn DocumentStore) {
    assert_eq!(write(store, vec![delete(key(1))]).await, Seq::ZERO);
    let seq = write(store, vec![put(memory(2))]).await;
    assert_eq!(write(store, vec![delete(key(1)), delete(key(1))]).await, seq);
    assert_eq!(log(store).await, [(2, true)]);
}

/// One identifier may name a record of each kind.
pub async fn kinds_do_not_mix(store: &dyn DocumentStore) {
    let wiki = Document { key: DocKey::new(Kind::Wiki, id(1)), ..memory(1) };
    write(store, vec![put(memory(1)), put(wiki.clone())]).await;
    assert_eq!(list_all(store).await, [1]);
    assert_eq!(done(store.find(Kind::Wiki, &wiki.fingerprint).await, "find"), [wiki.key]);
    write(store, vec![delete(key(1))]).await;
    assert_eq!(list_all(store).await, NOTHING);
    let left = get(store, wiki.key).await;
    assert_eq!(left.map(|document| document.key), Some(wiki.key));
}

/// A fingerprint finds the documents that carry it now.
pub async fn find_follows_puts_replacements_and_deletions(store: &dyn DocumentStore) {
    assert!(find(store, &memory(1)).await.is_empty());
    write(store, vec![put(memory(1))]).await;
    assert_eq!(find(store, &memory(1)).await, [1]);
    write(store, vec![put(Document { key: key(1), ..memory(2) })]).await;
    assert!(find(store, &memory(1)).await.is_empty());
    assert_eq!(find(store, &memory(2)).await, [1]);
    write(store, vec![delete(key(1))]).await;
    assert!(find(store, &memory(2)).await.is_empty());
}

/// Whatever order they were stored in.
pub async fn find_lists_the_lowest_id_first(store: &dyn DocumentStore) {
    let fingerprint = Fingerprint::of(&["same"]);
    put_all(store, [3, 1, 300, 2].map(|n| Document { fingerprint, ..memory(n) })).await;
    let same = Document { fingerprint, ..memory(0) };
    assert_eq!(find(store, &same).await, [1, 2, 3, 300]);
}

async fn scope_name(store: &dyn DocumentStore, number: u64) -> Option<String> {
    get(store, key(number)).await.and_then(|document| document.scope).map(|scope| scope.name)
}

/// Later documents of the scope are stored under that name, in the same batch too.
pub async fn the_first_document_names_the_scope(store: &dyn DocumentStore) {
    let first = [put(scoped(1, "notes", "Notes")), put(scoped(2, "notes", "NOTES"))];
    write(store, first.into()).await;
    write(store, vec![put(scoped(3, "notes", "notes"))]).await;
    for number in 1..=3 {
        assert_eq!(scope_name(store, number).await.as_deref(), Some("Notes"));
    }
    write(store, vec![delete(key(1))]).await;
    write(store, vec![put(scoped(4, "notes", "nOtes"))]).await;
    assert_eq!(scope_name(store, 4).await.as_deref(), Some("Notes"), "the first one is deleted");
    assert_eq!(tallies(store, Facet::Scope).await, [("Notes".to_owned(), 3)]);
    let wiki = Document { key: DocKey::new(Kind::Wiki, id(1)), ..scoped(1, "notes", "NOTES") };
    write(store, vec![put(wiki.clone())]).await;
    let stored = get(store, wiki.key).await.and_then(|document| document.scope);
    assert_eq!(stored, wiki.scope, "each kind has scopes of its own");
}

/// The next document names it anew.
pub async fn a_scope_without_documents_forgets_its_name(store: &dyn DocumentStore) {
    let operations = [put(scoped(1, "notes", "Notes")), delete(key(1))];
    write(store, operations.into()).await;
    write(store, vec![put(scoped(2, "notes", "NOTES"))]).await;
    assert_eq!(scope_name(store, 2).await.as_deref(), Some("NOTES"));
}

/// The document being replaced still lives when the new one comes.
pub async fn a_scope_keeps_its_name_when_its_only_document_is_replaced(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "notes", "Notes"), scoped(1, "notes", "NOTES")]).await;
    assert_eq!(scope_name(store, 1).await.as_deref(), Some("Notes"));
}
