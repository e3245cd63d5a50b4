//! Whether the store's log, lists and documents agree.

use std::collections::HashMap;

use super::{Finding, LOG_STEP, Part, Severity};
use crate::{
    Result, Tvix,
    memory::MemoryRecord,
    storage::{Change, Document, Facet, Filter, Kind, Page, Seq},
};

/// How often a check is made anew when others wrote meanwhile.
const ATTEMPTS: usize = 3;
/// How many disagreements are told in full.
const EXAMPLES: usize = 5;
/// How many documents of a list are read at a time.
const SCAN_STEP: usize = 100;
/// What a person can do about a store that disagrees with itself.
const REMEDY: &str =
    "make a `backup` and `restore` it into a new folder, which builds all lists anew";

/// What a pass over the log counted.
#[derive(Default)]
struct Census {
    live: HashMap<Kind, u64>,
    facets: HashMap<(Kind, Facet, String), u64>,
    last: Seq,
    disagreements: u64,
    examples: Vec<String>,
}

impl Census {
    fn count(&mut self, document: &Document) {
        let kind = document.key.kind;
        *self.live.entry(kind).or_default() += 1;
        let scope = document.scope.iter().map(|scope| (Facet::Scope, scope.key.clone()));
        let source = (Facet::Source, document.source.key().as_str().to_owned());
        for (facet, key) in scope.chain([source]) {
            *self.facets.entry((kind, facet, key)).or_default() += 1;
        }
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.disagreements += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(what());
            }
        }
    }

    fn finding(&self) -> Finding {
        if self.disagreements == 0 {
            let live: u64 = self.live.values().sum();
            return Finding::good(
                Part::Store,
                format!("{live} documents, log at change {}", self.last),
            );
        }
        let what = format!(
            "documents, lists and log disagree in {} places: {}",
            self.disagreements,
            self.examples.join("; ")
        );
        Finding::problem(Part::Store, what).by_hand(REMEDY)
    }
}

impl Tvix {
    /// Reads the whole store. Disagreements count only when nobody wrote during the pass.
    pub(super) async fn check_store(&self) -> Finding {
        for _ in 0..ATTEMPTS {
            let checked = self.census().await;
            let census = match checked {
                Ok(census) => census,
                Err(error) => {
                    let what = format!("it cannot be read: {error}");
                    return Finding::problem(Part::Store, what)
                        .by_hand("put the last backup back with `restore`, into a new folder");
                }
            };
            if census.disagreements == 0 || self.is_last(census.last).await {
                return census.finding();
            }
        }
        let what = "others wrote during each check, so its lists were not compared";
        Finding::new(Part::Store, Severity::Note, what)
    }

    /// Whether nothing was written after `seq`.
    pub(super) async fn is_last(&self, seq: Seq) -> bool {
        self.store().changes(seq, 1).await.is_ok_and(|changes| changes.is_empty())
    }

    async fn census(&self) -> Result<Census> {
        let mut census = Census::default();
        loop {
            let changes = self.store().changes(census.last, LOG_STEP).await?;
            for change in &changes {
                self.check_change(change, &mut census).await?;
            }
            if changes.len() < LOG_STEP {
                break;
            }
        }
        for kind in Kind::ALL {
            self.check_list(kind, &mut census).await?;
            self.check_facets(kind, &mut census).await?;
        }
        Ok(census)
    }

    async fn check_change(&self, change: &Change, census: &mut Census) -> Result<()> {
        let Change { seq, key, document } = change;
        let name = || format!("{:?} {}", key.kind, key.id);
        census.expect(*seq > census.last, || format!("change {seq} is out of order"));
        census.last = *seq;
        let Some(document) = document else { return Ok(()) };
        census.count(document);
        census.expect(document.seq == *seq, || {
            format!("{} is of change {} and logged as {seq}", name(), document.seq)
        });
        if key.kind == Kind::Memory {
            let fields = MemoryRecord::from_document(document.clone());
            census.expect(fields.is_ok(), || format!("{} has unknown fields", name()));
        }
        let found = self.store().find(key.kind, &document.fingerprint).await?;
        census.expect(found.contains(key), || format!("{} is not found by its text", name()));
        Ok(())
    }

    /// The list by time holds as many documents as the log.
    async fn check_list(&self, kind: Kind, census: &mut Census) -> Result<()> {
        let mut listed = 0;
        loop {
            let page = Page { offset: listed, limit: SCAN_STEP };
            let found = self.store().scan(kind, &Filter::default(), page).await?.len();
            listed += found;
            if found < SCAN_STEP {
                break;
            }
        }
        let logged = census.live.get(&kind).copied().unwrap_or_default();
        census.expect(listed as u64 == logged, || {
            format!("the list by time has {listed} of kind {kind:?}, the log has {logged}")
        });
        Ok(())
    }

    async fn check_facets(&self, kind: Kind, census: &mut Census) -> Result<()> {
        for facet in [Facet::Scope, Facet::Source] {
            let counts = self.store().facets(kind, facet).await?;
            let known = census.facets.keys().filter(|place| (place.0, place.1) == (kind, facet));
            let known = known.count();
            census.expect(counts.len() == known, || {
                format!("{} entries by {facet:?}, {known} expected", counts.len())
            });
            for row in counts {
                let place = (kind, facet, row.key);
                let counted = census.facets.get(&place).copied().unwrap_or_default();
                census.expect(row.count == counted, || {
                    format!("{} documents under {:?}, {counted} counted", row.count, place.2)
                });
            }
        }
        Ok(())
    }
}
