//! Whether two stores answer alike, by everything that a caller can ask.

use std::collections::BTreeSet;

use tvix_core::storage::{
    Change, DocKey, DocumentStore, Facet, Filter, Fingerprint, Kind, Page, ScopeFilter, Seq,
};

const ALL: Page = Page { offset: 0, limit: usize::MAX };

/// Panics where `store` and `reference` differ: log, documents, lists, counts, fingerprints.
pub(crate) async fn assert_alike(store: &dyn DocumentStore, reference: &dyn DocumentStore) {
    let log = reference.changes(Seq::ZERO, usize::MAX).await.unwrap();
    assert_eq!(store.changes(Seq::ZERO, usize::MAX).await.unwrap(), log, "change log");
    let keys: Vec<DocKey> = log.iter().map(|change| change.key).collect();
    assert_eq!(store.get(&keys).await.unwrap(), reference.get(&keys).await.unwrap());
    for kind in Kind::ALL {
        for filter in filters(&log) {
            let scans = (store.scan(kind, &filter, ALL).await, reference.scan(kind, &filter, ALL));
            assert_eq!(scans.0.unwrap(), scans.1.await.unwrap(), "{filter:?}");
        }
        for facet in [Facet::Scope, Facet::Source] {
            let facets = (store.facets(kind, facet).await, reference.facets(kind, facet).await);
            assert_eq!(facets.0.unwrap(), facets.1.unwrap(), "{facet:?}");
        }
        for print in prints(&log) {
            let found = (store.find(kind, &print).await, reference.find(kind, &print).await);
            assert_eq!(found.0.unwrap(), found.1.unwrap(), "{print:?}");
        }
    }
}

fn filters(log: &[Change]) -> Vec<Filter> {
    let documents = log.iter().filter_map(|change| change.document.as_ref());
    let scopes: BTreeSet<_> =
        documents.filter_map(|it| Some(it.scope.as_ref()?.key.clone())).collect();
    let scopes = scopes.into_iter().map(ScopeFilter::Only);
    let scopes = scopes.chain([ScopeFilter::Any, ScopeFilter::Unscoped]);
    scopes.map(|scope| Filter { scope, ..Filter::default() }).collect()
}

fn prints(log: &[Change]) -> BTreeSet<Fingerprint> {
    log.iter().filter_map(|change| Some(change.document.as_ref()?.fingerprint)).collect()
}
