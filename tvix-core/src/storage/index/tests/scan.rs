//! The scan of vectors against a slow reference: all cosines in `f32`, sorted.

use super::*;

const DIMENSION: usize = 48;
const DOCUMENTS: u8 = 200;

fn wide() -> Model {
    Model { name: "many numbers".into(), dimension: DIMENSION }
}

/// Vectors of length 1 that point anywhere, the same in every run of one `seed`.
struct Directions(u64);

impl Directions {
    fn number(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % 2001) as f32 / 1000.0 - 1.0
    }

    fn vector(&mut self) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..DIMENSION).map(|_| self.number()).collect();
        crate::embed::normalise(&mut vector);
        vector
    }
}

/// Documents, each with one to three vectors; every third is in a project.
fn collection(directions: &mut Directions) -> (Vec<Change>, Vec<Embedded>) {
    let made = (1..=DOCUMENTS).map(|number| {
        let mut document = document(number, "text");
        document.scope = (number % 3 == 0).then(|| Scope { key: "third".into(), name: "T".into() });
        let vectors = (0..=number % 3).map(|_| directions.vector());
        let vectors = vectors.map(|vector| PassageVector { passage: 0..4, vector }).collect();
        let embedded = Embedded { key: key(number), seq: Seq(number.into()), vectors };
        (put(number.into(), document), embedded)
    });
    made.unzip()
}

/// The best ten of `embedded`, by exact cosines.
fn reference(embedded: &[Embedded], query: &[f32], third_only: bool) -> Vec<DocKey> {
    let cosine = |vector: &[f32]| -> f32 { vector.iter().zip(query).map(|(a, b)| a * b).sum() };
    let mut all: Vec<(f32, DocKey)> = embedded
        .iter()
        .filter(|document| !third_only || document.key.id.as_bytes()[0].is_multiple_of(3))
        .map(|document| {
            let cosines = document.vectors.iter().map(|row| cosine(&row.vector));
            (cosines.fold(f32::NEG_INFINITY, f32::max), document.key)
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(10).map(|(_, key)| key).collect()
}

async fn found_by(index: &dyn SearchIndex, vector: &Vec<f32>, third_only: bool) -> Vec<DocKey> {
    let mut query = query("");
    if third_only {
        query.filter.scope = ScopeFilter::Only("third".into());
    }
    let found = index.nearest(&query, vector).await.expect("search");
    found.into_iter().map(|hit| hit.key).collect()
}

/// How many of the reference's ten the scan found, and of how many.
fn agreement(found: &[DocKey], wanted: &[DocKey]) -> (usize, usize) {
    (wanted.iter().filter(|key| found.contains(key)).count(), wanted.len())
}

#[tokio::test]
async fn a_scan_of_bytes_finds_what_exact_cosines_find() {
    let mut directions = Directions(0x9e37_79b9_7f4a_7c15);
    let (changes, embedded) = collection(&mut directions);
    on_every_index!(changes.clone(), |index| {
        index.vector_cursor(&wide()).await.expect("cursor");
        index.apply_vectors(&embedded, Seq(DOCUMENTS.into())).await.expect("vectors");
        let (mut found, mut wanted) = (0, 0);
        for _ in 0..100 {
            let vector = directions.vector();
            for third_only in [false, true] {
                let ours = found_by(&index, &vector, third_only).await;
                let exact = reference(&embedded, &vector, third_only);
                let (of_ten, ten) = agreement(&ours, &exact);
                (found, wanted) = (found + of_ten, wanted + ten);
            }
        }
        assert!(found * 1000 >= wanted * 999, "{found} of {wanted}");
    });
}

#[tokio::test]
async fn vectors_that_were_replaced_or_deleted_are_not_found_however_many() {
    let mut directions = Directions(7);
    let (changes, embedded) = collection(&mut directions);
    on_every_index!(changes.clone(), |index| {
        index.vector_cursor(&wide()).await.expect("cursor");
        index.apply_vectors(&embedded, Seq(DOCUMENTS.into())).await.expect("vectors");
        // More than half, so that the gaps are closed.
        let gone = |number: u8| !number.is_multiple_of(4);
        let seq = |number: u8| Seq(1000 + u64::from(number));
        let deleted: Vec<Change> = (1..=DOCUMENTS)
            .filter(|number| gone(*number))
            .map(|number| Change { seq: seq(number), key: key(number), document: None })
            .collect();
        let none: Vec<Embedded> = deleted
            .iter()
            .map(|change| Embedded { key: change.key, seq: change.seq, vectors: Vec::new() })
            .collect();
        index.apply(&deleted).await.expect("apply");
        index.apply_vectors(&none, seq(DOCUMENTS)).await.expect("vectors");
        let left: Vec<Embedded> =
            embedded.iter().filter(|e| !gone(e.key.id.as_bytes()[0])).cloned().collect();
        for _ in 0..20 {
            let vector = directions.vector();
            let found = found_by(&index, &vector, false).await;
            assert_eq!(found, reference(&left, &vector, false));
        }
        index.reset().await.expect("reset");
        index.apply(&changes).await.expect("apply");
    });
}

/// All of `embedded` in tables that have a graph of them.
#[cfg(feature = "hnsw")]
fn linked(changes: &[Change], embedded: &[Embedded]) -> (documents::Documents, vectors::Vectors) {
    let (mut documents, mut vectors) =
        (documents::Documents::default(), vectors::Vectors::of(DIMENSION));
    for document in changes.iter().filter_map(|change| change.document.as_ref()) {
        let seq = Seq(document.key.id.as_bytes()[0].into());
        let entry = entry::Entry::of(document, seq);
        documents.insert(&entry.meta, &entry.lengths());
    }
    for embedded in embedded {
        vectors.insert(embedded, &documents);
    }
    vectors.link_from(100);
    while !vectors.is_linked(Kind::Memory) {
        std::thread::yield_now();
    }
    (documents, vectors)
}

#[cfg(feature = "hnsw")]
#[test]
fn a_graph_finds_what_exact_cosines_find_but_for_what_was_deleted_and_with_what_was_added() {
    let mut directions = Directions(0x1234_5678_9abc_def1);
    let (changes, embedded) = collection(&mut directions);
    let (early, late) = embedded.split_at(150);
    let (mut documents, mut vectors) = linked(&changes, early);
    for embedded in late {
        vectors.insert(embedded, &documents);
    }
    let gone: Vec<DocKey> = (1..=30).map(key).collect();
    for key in &gone {
        documents.remove(*key);
    }
    let left: Vec<Embedded> = embedded.iter().filter(|e| !gone.contains(&e.key)).cloned().collect();
    let (mut found, mut wanted) = (0, 0);
    for third_only in [false, true] {
        for _ in 0..100 {
            let vector = directions.vector();
            let mut query = query("");
            if third_only {
                query.filter.scope = ScopeFilter::Only("third".into());
            }
            let ours = nearest::nearest(&query, &vector, &documents, &vectors);
            let ours: Vec<DocKey> = ours.into_iter().map(|hit| hit.key).collect();
            let (of_ten, ten) = agreement(&ours, &reference(&left, &vector, third_only));
            (found, wanted) = (found + of_ten, wanted + ten);
        }
    }
    assert!(found * 100 >= wanted * 98, "{found} of {wanted}");
}
