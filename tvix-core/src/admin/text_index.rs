//! Whether the text index finds what the store holds.

use super::{Finding, LOG_STEP, Part, Place, Severity};
use crate::{
    Result, Tvix,
    storage::{Change, DocKey, Seq},
};

/// How often the comparison is made anew when others wrote meanwhile.
const ATTEMPTS: usize = 3;
const REBUILD: &str = "builds it again from the documents";
const CATCH_UP: &str = "takes them in now";

/// The index beside the log.
#[derive(Default)]
struct Comparison {
    last: Seq,
    cursor: Seq,
    /// Documents that are found as they are.
    found: u64,
    /// Changes after the cursor that it has still to see.
    behind: u64,
    /// Changes up to the cursor that it must have seen and has not.
    wrong: u64,
    /// Documents that the log does not know.
    strange: u64,
    ahead: bool,
    damage: Vec<String>,
}

impl Comparison {
    fn take(&mut self, change: &Change, indexed: Option<Seq>) {
        self.last = change.seq;
        let wanted = change.document.as_ref().map(|_| change.seq);
        if indexed.is_some() && wanted == indexed {
            self.found += 1;
        } else if indexed != wanted && change.seq > self.cursor {
            self.behind += 1;
        } else if indexed != wanted {
            self.wrong += 1;
        }
    }

    fn is_consistent(&self) -> bool {
        self.wrong == 0 && self.strange == 0 && !self.ahead
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.ahead {
            faults.push(format!(
                "it has seen change {} and the store ends at {}",
                self.cursor, self.last
            ));
        }
        if self.wrong > 0 {
            faults.push(format!("{} documents are missing or found as they were", self.wrong));
        }
        if self.strange > 0 {
            faults.push(format!("it finds {} documents that are not there", self.strange));
        }
        if !self.damage.is_empty() {
            faults.push(format!("damaged files: {}", self.damage.join(", ")));
        }
        faults
    }

    fn finding(&self) -> Finding {
        let faults = self.faults();
        if !faults.is_empty() {
            return Finding::problem(Part::TextIndex, faults.join("; ")).mended_by(REBUILD);
        }
        if self.behind > 0 {
            let what =
                format!("{} changes are not in it yet; the next search takes them in", self.behind);
            return Finding::new(Part::TextIndex, Severity::Note, what).mended_by(CATCH_UP);
        }
        Finding::good(Part::TextIndex, format!("finds all {} documents", self.found))
    }
}

impl Tvix {
    /// Compares the index with the log, key by key. Disagreements count only when nobody wrote during
    /// the pass.
    pub(super) async fn check_index(&self, repair: bool) -> Finding {
        if repair {
            self.rebuilds().ended().await;
        } else if let Some(progress) = self.rebuilds().progress() {
            return Finding::new(Part::TextIndex, Severity::Note, progress.to_string());
        }
        let finding = self.index_finding().await;
        if !repair || finding.remedy.is_none() {
            return finding;
        }
        // To be behind is no fault; all others call for a new index.
        let outcome = match finding.severity {
            Severity::Note => self.catch_up().await,
            _ => self.rebuild_index().await,
        };
        // A thread may have taken over what is left.
        self.rebuilds().ended().await;
        finding.tried(outcome)
    }

    async fn index_finding(&self) -> Finding {
        for _ in 0..ATTEMPTS {
            let comparison = match self.compare_index().await {
                Ok(comparison) => comparison,
                Err(error) => {
                    let what = format!("it cannot be read: {error}");
                    return Finding::problem(Part::TextIndex, what).mended_by(REBUILD);
                }
            };
            // The index is open by now, and opening makes the files.
            if self.folder().is_some_and(Place::index_is_gone) {
                let what = "its files were removed while it is open";
                return Finding::problem(Part::TextIndex, what).mended_by(REBUILD);
            }
            if comparison.is_consistent() || self.is_last(comparison.last).await {
                return comparison.finding();
            }
        }
        let what = "others wrote during each check, so it was not compared with the documents";
        Finding::new(Part::TextIndex, Severity::Note, what)
    }

    async fn compare_index(&self) -> Result<Comparison> {
        let cursor = self.index().cursor().await?;
        let ahead = self.is_ahead(cursor).await?;
        let mut comparison = Comparison { cursor, ahead, ..Comparison::default() };
        let mut known = 0;
        loop {
            let changes = self.store().changes(comparison.last, LOG_STEP).await?;
            let keys: Vec<DocKey> = changes.iter().map(|change| change.key).collect();
            let indexed = self.index().indexed(&keys).await?;
            for (change, indexed) in changes.iter().zip(indexed) {
                known += u64::from(indexed.is_some());
                comparison.take(change, indexed);
            }
            if changes.len() < LOG_STEP {
                break;
            }
        }
        let state = self.index().inspect().await?;
        comparison.strange = state.documents.saturating_sub(known);
        comparison.damage = state.damage;
        Ok(comparison)
    }
}
