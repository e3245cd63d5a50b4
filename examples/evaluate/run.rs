//! What a run found, in a form that is saved and compared.

use std::{collections::HashMap, fs, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    flags::Mode,
    metrics::{Difference, Estimate},
};

/// Everything measured by one call of the program.
#[derive(Serialize, Deserialize)]
pub(crate) struct Run {
    /// The commit that was measured.
    pub(crate) commit: String,
    /// The machine it ran on.
    pub(crate) machine: String,
    /// How the program was called.
    pub(crate) command: String,
    /// One entry for each set and mode.
    pub(crate) results: Vec<SetResult>,
    /// Sets that were left out, and why.
    pub(crate) skipped: Vec<String>,
}

/// One set in one mode.
#[derive(Serialize, Deserialize)]
pub(crate) struct SetResult {
    /// The set.
    pub(crate) set: String,
    /// The mode.
    pub(crate) mode: Mode,
    /// What was stored.
    pub(crate) load: Load,
    /// The names of the values; the first is what runs are compared by.
    pub(crate) metrics: Vec<String>,
    /// One entry for each query.
    pub(crate) queries: Vec<Outcome>,
    /// How long the queries took.
    pub(crate) timing: Timing,
}

/// What was stored, and how fast.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Load {
    /// `memories` or `documents`.
    pub(crate) kind: String,
    /// Texts of the set.
    pub(crate) texts: usize,
    /// Records in the store.
    pub(crate) stored: usize,
    /// Texts that were there already.
    pub(crate) duplicates: usize,
    /// Texts the store refused.
    pub(crate) refused: usize,
    /// Texts a second.
    pub(crate) rate: f64,
    /// The digest of the set's files.
    pub(crate) sha256: String,
}

/// One query.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Its name in the set.
    pub(crate) id: String,
    /// What kind of question it is.
    pub(crate) category: String,
    /// The values, in the order of [`SetResult::metrics`].
    pub(crate) values: Vec<f64>,
}

/// Milliseconds a query.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// Half of the queries took no longer.
    pub(crate) p50: f64,
    /// 19 of 20 took no longer.
    pub(crate) p95: f64,
    /// The mean time of the processor, where it is known.
    pub(crate) processor: Option<f64>,
}

impl Run {
    /// Reads what [`Run::save`] wrote.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("--against: {}: {error}", path.display()))?;
        let run = serde_json::from_str(&text);
        Ok(run.map_err(|error| format!("--against: {}: {error}", path.display()))?)
    }

    /// Writes the run, with the values of every query.
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self)?;
        Ok(fs::write(path, text).map_err(|error| format!("--save: {}: {error}", path.display()))?)
    }

    /// The result to compare `other` with: the same data in the same mode, or in the only mode there is.
    pub(crate) fn counterpart(&self, other: &SetResult) -> Option<&SetResult> {
        let same = |result: &&SetResult| {
            result.set == other.set
                && result.load.sha256 == other.load.sha256
                && result.metrics == other.metrics
        };
        let candidates: Vec<&SetResult> = self.results.iter().filter(same).collect();
        let of_mode = candidates.iter().find(|result| result.mode == other.mode);
        of_mode.or(candidates.first().filter(|_| candidates.len() == 1)).copied()
    }
}

impl SetResult {
    /// The estimate of value number `metric` over the queries of `category`, or over all.
    pub(crate) fn estimate(&self, metric: usize, category: Option<&str>) -> Estimate {
        let of_category = |outcome: &&Outcome| category.is_none_or(|name| outcome.category == name);
        let outcomes = self.queries.iter().filter(of_category);
        Estimate::of(
            &outcomes.filter_map(|outcome| outcome.values.get(metric).copied()).collect::<Vec<_>>(),
        )
    }

    /// The categories with the number of their queries, the greatest first.
    pub(crate) fn categories(&self) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for outcome in &self.queries {
            *counts.entry(outcome.category.as_str()).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        counts
    }

    /// How this differs from `old` in value number `metric`, over the queries both have.
    pub(crate) fn difference(&self, old: &Self, metric: usize) -> Difference {
        let old: HashMap<&str, &Outcome> =
            old.queries.iter().map(|outcome| (outcome.id.as_str(), outcome)).collect();
        let pair = |new: &Outcome| {
            let old = old.get(new.id.as_str())?;
            Some((*new.values.get(metric)?, *old.values.get(metric)?))
        };
        Difference::of(&self.queries.iter().filter_map(pair).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(mode: Mode, values: &[f64]) -> SetResult {
        let outcome = |(at, value): (usize, &f64)| Outcome {
            id: format!("q{at}"),
            category: if at == 0 { "rare" } else { "common" }.to_owned(),
            values: vec![*value],
        };
        SetResult {
            set: "set".to_owned(),
            mode,
            load: Load {
                kind: "documents".to_owned(),
                texts: 1,
                stored: 1,
                duplicates: 0,
                refused: 0,
                rate: 1.0,
                sha256: "digest".to_owned(),
            },
            metrics: vec!["nDCG@10".to_owned()],
            queries: values.iter().enumerate().map(outcome).collect(),
            timing: Timing { p50: 1.0, p95: 1.0, processor: None },
        }
    }

    fn run(results: Vec<SetResult>) -> Run {
        let (commit, machine, command) = (String::new(), String::new(), String::new());
        Run { commit, machine, command, results, skipped: Vec::new() }
    }

    #[test]
    fn a_saved_run_is_read_again_and_compared_query_by_query() {
        let file = tempfile::NamedTempFile::new().unwrap();
        run(vec![result(Mode::Keyword, &[0.5, 0.25])]).save(file.path()).unwrap();
        let old = Run::read(file.path()).unwrap();
        // The third query is new, so it is in no pair.
        let new = result(Mode::Keyword, &[1.0, 0.25, 0.0]);
        let difference = new.difference(old.counterpart(&new).unwrap(), 0);
        assert_eq!((difference.wins, difference.losses), (1, 0));
        assert!((difference.estimate.mean - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_counterpart_has_the_mode_or_is_the_only_one_and_has_the_data() {
        let hybrid = result(Mode::Hybrid, &[1.0]);
        let both = run(vec![result(Mode::Keyword, &[1.0]), result(Mode::Hybrid, &[0.5])]);
        assert_eq!(both.counterpart(&hybrid).map(|old| old.mode), Some(Mode::Hybrid));
        let one = run(vec![result(Mode::Keyword, &[1.0])]);
        assert_eq!(one.counterpart(&hybrid).map(|old| old.mode), Some(Mode::Keyword));
        let mut other = result(Mode::Hybrid, &[1.0]);
        other.load.sha256 = "another".to_owned();
        assert!(both.counterpart(&other).is_none());
    }

    #[test]
    fn categories_come_by_size_and_have_estimates_of_their_own() {
        let result = result(Mode::Default, &[1.0, 0.0, 0.5]);
        assert_eq!(result.categories(), [("common", 2), ("rare", 1)]);
        assert!((result.estimate(0, Some("common")).mean - 0.25).abs() < 1e-12);
        assert!((result.estimate(0, None).mean - 0.5).abs() < 1e-12);
    }
}
