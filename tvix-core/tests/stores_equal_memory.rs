//! Any sequence of batches leaves the stores on disk and the reference in the same state, as far as
//! anybody can see, and so does reopening them.
#![cfg(any(feature = "local", feature = "sled"))]
#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::path::PathBuf;

use proptest::{collection::vec, option, prelude::*};
use tvix_core::{
    Result,
    storage::{
        Batch, Condition, DocKey, Document, DocumentStore, Facet, Filter, Fingerprint, Kind,
        MemoryStore, Operation, Page, RECEIPT_LIFETIME_MS, Request, Scope, ScopeFilter, Seq,
    },
    types::{EventTime, Id, RequestId, Source, SourceKey, TimeRange, TimeZone, Timestamp},
};

/// Few values of everything, so that operations meet.
const TIMES: &[&str] = &[
    "2031-03-09T20:00:00Z",
    "2031-03-10",
    "2031-03-10T00:00:00Z",
    "2031-03-10T23:59:59.999Z",
    "2031-03-11",
    "1969-07-20",
    "9999-12-31",
    "-009999-01-01",
];
const ZONES: &[&str] = &["UTC", "Asia/Kolkata", "America/Los_Angeles"];
const SOURCES: &[&str] = &["Cursor", "my-agent", "My Agent"];
const SCOPES: &[(&str, &str)] = &[("a", "A"), ("a", "Aa"), ("b", "B"), ("", "none")];

fn id(number: u8) -> Id {
    Id::from_bytes([number; 16])
}

fn keys() -> impl Strategy<Value = DocKey> {
    (prop::sample::select(&Kind::ALL[..]), 0..6_u8).prop_map(|(kind, n)| DocKey::new(kind, id(n)))
}

fn times() -> impl Strategy<Value = EventTime> {
    prop::sample::select(TIMES).prop_map(|text| text.parse().unwrap())
}

fn fingerprints() -> impl Strategy<Value = Fingerprint> {
    (0..4_u8).prop_map(|number| Fingerprint::of(&[&number.to_string()]))
}

fn documents() -> impl Strategy<Value = Document> {
    let scope = option::of(prop::sample::select(SCOPES));
    let source = prop::sample::select(SOURCES);
    (keys(), scope, source, times(), fingerprints()).prop_map(
        |(key, scope, source, time, print)| Document {
            key,
            scope: scope.map(|(key, name)| Scope { key: key.into(), name: name.into() }),
            source: Source::named(source),
            title: String::new(),
            text: format!("{print:?}"),
            tags: vec![],
            refs: vec![],
            time,
            created_at: Timestamp::from_millis(0),
            attrs: serde_json::Map::new(),
            fingerprint: print,
            seq: Seq::ZERO,
        },
    )
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let condition = prop_oneof![
        3 => Just(Condition::NoTwin),
        1 => (0..20_u64).prop_map(|seq| Condition::Unchanged(Seq(seq))),
        2 => (0..7_u64).prop_map(Condition::FewerThan),
    ];
    prop_oneof![3 => Just(vec![]), 2 => vec(condition, 1..3)]
}

fn operations() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (documents(), conditions()).prop_map(|(document, conditions)| Operation::Put {
            document: Box::new(document),
            conditions,
        }),
        1 => (keys(), conditions())
            .prop_map(|(key, conditions)| Operation::Delete { key, conditions }),
    ]
}

fn batches() -> impl Strategy<Value = Batch> {
    let request = (0..5_u8, 0..4_i64).prop_map(|(number, days)| Request {
        id: RequestId(id(number)),
        receipt: format!("{number} {days}"),
        at: Timestamp::from_millis(days * RECEIPT_LIFETIME_MS * 2 / 3),
    });
    (vec(operations(), 0..5), option::weighted(0.3, request))
        .prop_map(|(operations, request)| Batch { operations, request })
}

fn filters() -> impl Strategy<Value = Filter> {
    let scope = prop_oneof![
        Just(ScopeFilter::Any),
        Just(ScopeFilter::Unscoped),
        prop::sample::select(SCOPES).prop_map(|(key, _)| ScopeFilter::Only(key.into())),
    ];
    let source = prop::sample::select(SOURCES).prop_map(SourceKey::of);
    let zone = prop::sample::select(ZONES).prop_map(|name| TimeZone::named(name).unwrap());
    let range = (option::of(times()), option::of(times()), zone)
        .prop_map(|(from, to, zone)| TimeRange::new(from, to, &zone));
    (scope, vec(source, 0..2), option::of(range)).prop_map(|(scope, sources, time)| Filter {
        scope,
        sources,
        time,
    })
}

fn pages() -> impl Strategy<Value = Page> {
    (0..4_usize, prop_oneof![0..5_usize, Just(usize::MAX)])
        .prop_map(|(offset, limit)| Page { offset, limit })
}

async fn assert_same(one: &dyn DocumentStore, other: &dyn DocumentStore, looks: &[(Filter, Page)]) {
    let all: Vec<DocKey> =
        Kind::ALL.iter().flat_map(|kind| (0..6).map(|n| DocKey::new(*kind, id(n)))).collect();
    assert_eq!(one.get(&all).await.unwrap(), other.get(&all).await.unwrap());
    for kind in Kind::ALL {
        for (filter, page) in looks {
            let scans =
                (one.scan(kind, filter, *page).await, other.scan(kind, filter, *page).await);
            assert_eq!(scans.0.unwrap(), scans.1.unwrap(), "{filter:?} {page:?}");
        }
        for facet in [Facet::Scope, Facet::Source] {
            let facets = (one.facets(kind, facet).await, other.facets(kind, facet).await);
            assert_eq!(facets.0.unwrap(), facets.1.unwrap());
        }
        for number in 0..4 {
            let print = Fingerprint::of(&[&number.to_string()]);
            let found = (one.find(kind, &print).await, other.find(kind, &print).await);
            assert_eq!(found.0.unwrap(), found.1.unwrap());
        }
    }
    for number in 0..5 {
        let request = RequestId(id(number));
        assert_eq!(one.receipt(request).await.unwrap(), other.receipt(request).await.unwrap());
    }
    for (after, limit) in [(0, usize::MAX), (3, 4)] {
        let logs = (one.changes(Seq(after), limit).await, other.changes(Seq(after), limit).await);
        assert_eq!(logs.0.unwrap(), logs.1.unwrap());
    }
}

/// What a store is put through, and how it is looked at then.
type Life = (Vec<Batch>, Vec<(Filter, Page)>);

fn lives() -> impl Strategy<Value = Life> {
    (vec(batches(), 1..16), vec((filters(), pages()), 8))
}

fn assert_equal_to_memory<S: DocumentStore>(
    (batches, looks): Life,
    open: impl Fn(PathBuf) -> Result<S>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let (reference, store) = (MemoryStore::new(), open(path.clone()).unwrap());
    runtime.block_on(async {
        for batch in batches {
            let expected = reference.write(batch.clone()).await.unwrap();
            assert_eq!(store.write(batch).await.unwrap(), expected);
        }
        assert_same(&store, &reference, &looks).await;
    });
    drop(store);
    let reopened = open(path).unwrap();
    runtime.block_on(assert_same(&reopened, &reference, &looks));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[cfg(feature = "local")]
    #[test]
    fn any_batches_leave_redb_like_memory(life in lives()) {
        assert_equal_to_memory(life, tvix_core::storage::RedbStore::open);
    }

    #[cfg(feature = "sled")]
    #[test]
    fn any_batches_leave_sled_like_memory(life in lives()) {
        assert_equal_to_memory(life, tvix_core::storage::SledStore::open);
    }
}
