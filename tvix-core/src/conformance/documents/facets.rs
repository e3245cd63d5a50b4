use crate::{
    conformance::samples::{
        delete, done, facets, from_source, id, key, memory, put, put_all, scoped, tallies, write,
    },
    storage::{DocKey, Document, DocumentStore, Facet, FacetCount, Kind, Scope, Seq},
};

fn names(rows: &[FacetCount]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

/// By key, under the name that people see.
pub async fn facets_count_live_documents(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "a", "Alpha"), scoped(2, "a", "Alpha"), scoped(2, "a", "Alpha")])
        .await;
    let last_change = write(store, vec![put(scoped(3, "a", "Alpha"))]).await;
    let row = |key: &str, name: &str| FacetCount {
        key: key.into(),
        name: name.into(),
        count: 3,
        last_change,
    };
    assert_eq!(facets(store, Facet::Scope).await, [row("a", "Alpha")]);
    assert_eq!(facets(store, Facet::Source).await, [row("library", "Library")]);
}

/// A put is a change of its scope and source.
pub async fn facets_list_the_last_changed_first(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "b", "b"), scoped(2, "c", "c"), scoped(3, "a", "a")]).await;
    assert_eq!(names(&facets(store, Facet::Scope).await), ["a", "c", "b"]);
    put_all(store, [scoped(1, "b", "b")]).await;
    assert_eq!(names(&facets(store, Facet::Scope).await), ["b", "a", "c"]);
    put_all(store, [from_source(4, "Cursor"), from_source(5, "Codex")]).await;
    assert_eq!(names(&facets(store, Facet::Source).await), ["Codex", "Cursor", "Library"]);
}

/// While other documents are left.
pub async fn a_deletion_is_a_change_of_its_facets(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "a", "a"), scoped(2, "a", "a"), scoped(3, "b", "b")]).await;
    let last_change = write(store, vec![delete(key(1))]).await;
    let rows = facets(store, Facet::Scope).await;
    assert_eq!(names(&rows), ["a", "b"]);
    assert_eq!((rows[0].count, rows[0].last_change), (1, last_change));
}

/// The one it leaves and the one it joins.
pub async fn a_document_that_moves_changes_both_scopes(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "a", "a"), scoped(2, "a", "a"), scoped(3, "b", "b")]).await;
    let seq = write(store, vec![put(scoped(1, "b", "b"))]).await;
    let mut rows = facets(store, Facet::Scope).await;
    rows.sort_by(|one, other| one.key.cmp(&other.key));
    let rows: Vec<_> =
        rows.iter().map(|row| (row.key.as_str(), row.count, row.last_change)).collect();
    assert_eq!(rows, [("a", 1, seq), ("b", 2, seq)]);
}

/// By deletion and by replacement.
pub async fn a_facet_without_documents_disappears(store: &dyn DocumentStore) {
    put_all(store, [scoped(1, "a", "a"), from_source(2, "Cursor")]).await;
    write(store, vec![delete(key(1)), put(memory(2))]).await;
    assert_eq!(tallies(store, Facet::Scope).await, []);
    assert_eq!(tallies(store, Facet::Source).await, [("Library".to_owned(), 1)]);
    write(store, vec![put(scoped(3, "a", "a"))]).await;
    assert_eq!(tallies(store, Facet::Scope).await, [("a".to_owned(), 1)], "it may come back");
}

/// A scope with an empty key is one, though.
pub async fn documents_without_a_scope_are_not_counted_among_scopes(store: &dyn DocumentStore) {
    put_all(store, [memory(1), scoped(2, "", "none")]).await;
    assert_eq!(tallies(store, Facet::Scope).await, [("none".to_owned(), 1)]);
    assert_eq!(tallies(store, Facet::Source).await, [("Library".to_owned(), 2)]);
}

/// Nor do scopes with sources.
pub async fn facets_of_kinds_do_not_mix(store: &dyn DocumentStore) {
    let scope = Some(Scope { key: "library".into(), name: "The Library".into() });
    let wiki = Document { key: DocKey::new(Kind::Wiki, id(1)), scope, ..memory(1) };
    write(store, vec![put(memory(1)), put(wiki)]).await;
    assert_eq!(tallies(store, Facet::Scope).await, []);
    let rows = done(store.facets(Kind::Wiki, Facet::Scope).await, "facets");
    let row = FacetCount {
        key: "library".into(),
        name: "The Library".into(),
        count: 1,
        last_change: Seq(2),
    };
    assert_eq!(rows.len(), 1);
    assert_eq!(FacetCount { last_change: Seq(2), ..rows[0].clone() }, row);
}
