//! The measures: how good one ranked list is, and what many of them say together.

use std::{cmp::Reverse, collections::HashMap, ops::Range};

/// What a ranked list is measured by.
pub(crate) const RANKING: [&str; 4] = ["nDCG@10", "Recall@5", "Recall@10", "MRR"];
/// What returned passages are measured by: the share of the reference inside this many characters.
pub(crate) const COVERAGE: [&str; 2] = ["coverage@4000", "coverage@1600"];
/// The characters that may be returned, in the order of [`COVERAGE`].
pub(crate) const BUDGETS: [usize; 2] = [4_000, 1_600];

/// The place of each name in a ranked list, from 1. A hit that stands for several names puts them all
/// at its place; one whose names all came before takes no place.
pub(crate) fn places<'a>(hits: impl IntoIterator<Item = Vec<&'a str>>) -> HashMap<&'a str, usize> {
    let mut places = HashMap::new();
    let mut last = 0;
    for names in hits {
        let new: Vec<&str> = names.into_iter().filter(|name| !places.contains_key(name)).collect();
        last += usize::from(!new.is_empty());
        places.extend(new.into_iter().map(|name| (name, last)));
    }
    places
}

/// The values of [`RANKING`] for one query: `labels` holds the grade of everything relevant.
pub(crate) fn ranking(labels: &HashMap<String, f64>, places: &HashMap<&str, usize>) -> Vec<f64> {
    let found: Vec<(usize, f64)> = labels
        .iter()
        .filter(|(_, grade)| **grade > 0.0)
        .filter_map(|(name, grade)| Some((*places.get(name.as_str())?, *grade)))
        .collect();
    let relevant = labels.values().filter(|grade| **grade > 0.0).count().max(1) as f64;
    let within = |k: usize| found.iter().filter(|(place, _)| *place <= k).count() as f64;
    let first = found.iter().map(|(place, _)| *place).min();
    vec![
        ndcg(labels, &found, 10),
        within(5) / relevant,
        within(10) / relevant,
        first.map_or(0.0, |place| 1.0 / place as f64),
    ]
}

/// nDCG with linear gain; the ideal list holds everything labelled. Duplicates share a place, which
/// could lift a list above the ideal one.
fn ndcg(labels: &HashMap<String, f64>, found: &[(usize, f64)], k: usize) -> f64 {
    let gain = |place: usize, grade: f64| grade / (place as f64 + 1.0).log2();
    let mut grades: Vec<f64> = labels.values().copied().collect();
    grades.sort_by(|one, other| other.total_cmp(one));
    let ideal: f64 = (1..=k).zip(grades).map(|(place, grade)| gain(place, grade)).sum();
    // Sorted, since a sum depends on its order in the last digit and a map has none.
    let mut found: Vec<(usize, f64)> = found.iter().copied().filter(|hit| hit.0 <= k).collect();
    found.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let reached: f64 = found.into_iter().map(|(place, grade)| gain(place, grade)).sum();
    if ideal > 0.0 { (reached / ideal).min(1.0) } else { 0.0 }
}

/// Characters of one page: which page, and where.
pub(crate) type Stretch = (usize, Range<usize>);

/// The share of the characters of `reference` that stand in the first `budget` characters of
/// `passages`. What two passages of a page share is returned and counted once; the last passage is cut
/// where the budget ends.
pub(crate) fn coverage(reference: &[Stretch], passages: &[Stretch], budget: usize) -> f64 {
    let (mut wanted, mut returned) = (Stretches::default(), Stretches::default());
    for (page, range) in reference {
        wanted.add(*page, range.clone(), usize::MAX);
    }
    let mut left = budget;
    for (page, range) in passages {
        left -= returned.add(*page, range.clone(), left);
    }
    if wanted.len() == 0 { 0.0 } else { returned.shared(&wanted) as f64 / wanted.len() as f64 }
}

/// Sets of characters, by page: ranges that neither touch nor overlap, in order.
#[derive(Default)]
struct Stretches(HashMap<usize, Vec<Range<usize>>>);

impl Stretches {
    /// Adds at most `budget` characters of `range` that are not in it yet; says how many.
    fn add(&mut self, page: usize, range: Range<usize>, budget: usize) -> usize {
        let ranges = self.0.entry(page).or_default();
        let mut left = budget;
        let mut at = range.start;
        let mut new = Vec::new();
        for known in
            ranges.iter().filter(|known| known.start < range.end && known.end > range.start)
        {
            if known.start > at {
                new.push(at..known.start);
            }
            at = known.end;
        }
        if at < range.end {
            new.push(at..range.end);
        }
        for gap in new {
            let end = gap.end.min(gap.start.saturating_add(left));
            left -= end - gap.start;
            ranges.push(gap.start..end);
        }
        *ranges = merged(std::mem::take(ranges));
        budget - left
    }

    fn len(&self) -> usize {
        self.0.values().flatten().map(Range::len).sum()
    }

    /// How many characters it shares with `other`.
    fn shared(&self, other: &Self) -> usize {
        let pairs = self.0.iter().filter_map(|(page, ranges)| Some((ranges, other.0.get(page)?)));
        let overlap = |one: &Range<usize>, other: &Range<usize>| {
            one.end.min(other.end).saturating_sub(one.start.max(other.start))
        };
        let of_pair = |(ours, theirs): (&Vec<Range<usize>>, &Vec<Range<usize>>)| -> usize {
            ours.iter().flat_map(|one| theirs.iter().map(move |other| overlap(one, other))).sum()
        };
        pairs.map(of_pair).sum()
    }
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, Reverse(range.end)));
    let mut whole: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match whole.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => whole.push(range),
        }
    }
    whole
}

/// A mean and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// Its standard error; 0 for fewer than two values.
    pub(crate) error: f64,
}

impl Estimate {
    /// The mean of `values`, with the standard error of the sample.
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / count };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error =
            if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() / count.sqrt() };
        Self { mean, error }
    }
}

/// What changed between two runs over the same queries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    /// The mean of the differences, with the paired standard error.
    pub(crate) estimate: Estimate,
    /// How many queries are better.
    pub(crate) wins: usize,
    /// How many are worse.
    pub(crate) losses: usize,
}

impl Difference {
    /// Less than this is rounding, not a win.
    const EQUAL: f64 = 1e-9;

    /// The differences of `(new, old)`.
    pub(crate) fn of(pairs: &[(f64, f64)]) -> Self {
        let differences: Vec<f64> = pairs.iter().map(|(new, old)| new - old).collect();
        let count = |is: fn(f64) -> bool| differences.iter().filter(|by| is(**by)).count();
        let (wins, losses) = (count(|by| by > Self::EQUAL), count(|by| by < -Self::EQUAL));
        Self { estimate: Estimate::of(&differences), wins, losses }
    }

    /// Whether the new run is worse by more than one paired standard error.
    pub(crate) fn is_worse(&self) -> bool {
        self.estimate.mean < -self.estimate.error.max(Self::EQUAL)
    }
}

/// The least of `sorted` that `percent` of it do not exceed; 0 of nothing.
pub(crate) fn quantile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-6, "got {value}, wanted {wanted}");
    }

    fn labels(grades: &[(&str, f64)]) -> HashMap<String, f64> {
        grades.iter().map(|(name, grade)| ((*name).to_owned(), *grade)).collect()
    }

    #[test]
    fn a_list_is_measured_as_by_hand() {
        let labels = labels(&[("a", 3.0), ("b", 1.0), ("c", 2.0)]);
        let values =
            ranking(&labels, &places(["x", "a", "y", "z", "w", "b"].map(|name| vec![name])));
        // (3/log2 3 + 1/log2 7) / (3/log2 2 + 2/log2 3 + 1/log2 4)
        near(values[0], (1.892_789_26 + 0.356_207_19) / (3.0 + 1.261_859_51 + 0.5));
        near(values[1], 1.0 / 3.0);
        near(values[2], 2.0 / 3.0);
        near(values[3], 0.5);
    }

    #[test]
    fn the_best_order_is_1_and_nothing_found_is_0() {
        let labels = labels(&[("a", 2.0), ("b", 1.0)]);
        assert_eq!(ranking(&labels, &places([vec!["a"], vec!["b"]])), [1.0; 4]);
        assert_eq!(ranking(&labels, &places([vec!["x"]])), [0.0; 4]);
    }

    #[test]
    fn the_eleventh_counts_for_the_reciprocal_rank_only() {
        let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a"];
        let values = ranking(&labels(&[("a", 1.0)]), &places(names.map(|name| vec![name])));
        assert_eq!(values[..3], [0.0; 3]);
        near(values[3], 1.0 / 11.0);
    }

    #[test]
    fn the_ideal_list_ends_at_ten() {
        let names: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let labels = names.iter().map(|name| (name.clone(), 1.0)).collect();
        let values =
            ranking(&labels, &places(names.iter().take(10).map(|name| vec![name.as_str()])));
        near(values[0], 1.0);
        near(values[2], 0.5);
    }

    #[test]
    fn a_second_part_takes_no_place_and_duplicates_share_one() {
        let places = places([vec!["a"], vec!["a"], vec!["b", "c"], vec!["d"]]);
        assert_eq!(places, HashMap::from([("a", 1), ("b", 2), ("c", 2), ("d", 3)]));
        // Both twins at place 1 would count 2 against an ideal of 1.63.
        let twins = super::places([vec!["a", "b"]]);
        near(ranking(&labels(&[("a", 1.0), ("b", 1.0)]), &twins)[0], 1.0);
    }

    #[test]
    fn coverage_counts_characters_once_and_stops_at_the_budget() {
        let reference = [(0, 10..20), (0, 30..40)];
        near(coverage(&reference, &[(0, 0..15)], 100), 0.25);
        near(coverage(&reference, &[(1, 0..100)], 100), 0.0);
        // 15 characters, then 5..15 again, of which nothing is new, then 5 of the last.
        near(coverage(&reference, &[(0, 0..15), (0, 5..15), (0, 15..40)], 20), 0.5);
        // A passage around one before it is counted on both sides: 20 characters, 8..12 and 32..34.
        near(coverage(&reference, &[(0, 12..32), (0, 8..40)], 26), 14.0 / 20.0);
        near(coverage(&[(0, 0..10), (0, 5..20)], &[(0, 10..20)], 100), 0.5);
        near(coverage(&[], &[(0, 0..5)], 100), 0.0);
    }

    #[test]
    fn errors_are_those_of_the_sample() {
        // Squares around 0.5: 1, spread over n - 1 = 3, and over n = 4.
        let estimate = Estimate::of(&[0.0, 0.0, 1.0, 1.0]);
        near(estimate.mean, 0.5);
        near(estimate.error, (1.0_f64 / 3.0).sqrt() / 2.0);
        assert_eq!(Estimate::of(&[0.7]), Estimate { mean: 0.7, error: 0.0 });
        assert_eq!(Estimate::of(&[]), Estimate { mean: 0.0, error: 0.0 });
    }

    #[test]
    fn differences_are_paired() {
        let difference = Difference::of(&[(0.9, 0.5), (0.4, 0.6), (0.3, 0.3)]);
        near(difference.estimate.mean, 0.2 / 3.0);
        assert_eq!((difference.wins, difference.losses), (1, 1));
        assert!(!difference.is_worse());
        assert!(Difference::of(&[(0.4, 0.5), (0.2, 0.3)]).is_worse());
        assert!(!Difference::of(&[(0.4, 0.4), (0.2, 0.2)]).is_worse());
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        near(quantile(&sorted, 50), 2.0);
        near(quantile(&sorted, 95), 4.0);
        near(quantile(&[], 50), 0.0);
    }
}
