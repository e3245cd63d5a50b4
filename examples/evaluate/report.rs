//! A run in Markdown.

use std::fmt::{Display, Write};

use crate::{
    ask::HITS,
    flags::Mode,
    metrics::{Difference, Estimate},
    run::{Load, Run, SetResult, Timing},
};

/// Everything that `run` found, and how it differs from `old`.
pub(crate) fn report(run: &Run, old: Option<&Run>) -> String {
    let mut text = head(run);
    for metrics in kinds(run) {
        text += &results(run, metrics);
    }
    text += &legs(run);
    if let Some(old) = old {
        text += &differences(run, old);
    }
    for result in &run.results {
        text += &categories(result);
    }
    text + &data(run)
}

fn head(run: &Run) -> String {
    let Run { commit, machine, command, .. } = run;
    let mut text = format!(
        "# How well search finds\n\n\
         Written by `examples/evaluate`: means over the queries of a set, ± their standard error. \
         Times are of one query after the other, each for its {HITS} best.\n\n\
         - commit: {commit}\n- machine: {machine}\n- command: `{command}`\n"
    );
    text.extend(run.skipped.iter().map(|skipped| format!("- left out: {skipped}\n")));
    text
}

/// The different lists of metrics, in order: sets of passages are not measured as the others are.
fn kinds(run: &Run) -> Vec<&[String]> {
    let mut kinds: Vec<&[String]> = Vec::new();
    for result in &run.results {
        if !kinds.contains(&result.metrics.as_slice()) {
            kinds.push(&result.metrics);
        }
    }
    kinds
}

/// The results of all sets that are measured by `metrics`.
fn results(run: &Run, metrics: &[String]) -> String {
    let mut columns = cells(["set", "mode", "queries"]);
    columns.extend_from_slice(metrics);
    columns.extend(cells(["ms p50", "ms p95", "CPU ms"]));
    let rows = run.results.iter().filter(|result| result.metrics == metrics);
    table(&format!("By {}", metrics[0]), &columns, rows.map(result_row))
}

fn result_row(result: &SetResult) -> Vec<String> {
    let mut row =
        vec![result.set.clone(), result.mode.to_string(), result.queries.len().to_string()];
    row.extend((0..result.metrics.len()).map(|metric| shown(result.estimate(metric, None))));
    let Timing { p50, p95, processor } = result.timing;
    row.extend([format!("{p50:.2}"), format!("{p95:.2}")]);
    row.push(processor.map_or_else(|| "unknown".to_owned(), |spent| format!("{spent:.2}")));
    row
}

/// Hybrid search beside the better of its legs, for each set that ran in all three modes.
fn legs(run: &Run) -> String {
    let columns =
        ["set", "metric", "keyword", "vector", "hybrid", "hybrid - better leg", "verdict"];
    let hybrids = run.results.iter().filter(|result| result.mode == Mode::Hybrid);
    let rows: Vec<Vec<String>> = hybrids.filter_map(|hybrid| legs_row(run, hybrid)).collect();
    if rows.is_empty() { String::new() } else { table("Legs", &cells(columns), rows.into_iter()) }
}

fn legs_row(run: &Run, hybrid: &SetResult) -> Option<Vec<String>> {
    let leg = |mode: Mode| {
        run.results.iter().find(|result| result.set == hybrid.set && result.mode == mode)
    };
    let (keyword, vector) = (leg(Mode::Keyword)?, leg(Mode::Vector)?);
    let mean = |result: &SetResult| result.estimate(0, None).mean;
    let better = if mean(vector) > mean(keyword) { vector } else { keyword };
    let difference = hybrid.difference(better, 0);
    let mut row = vec![hybrid.set.clone(), hybrid.metrics.first()?.clone()];
    row.extend([keyword, vector, hybrid].map(|result| format!("{:.3}", mean(result))));
    row.extend([changed(difference.estimate), verdict(difference).to_owned()]);
    Some(row)
}

fn verdict(difference: Difference) -> &'static str {
    if difference.is_worse() { "**below**" } else { "not below" }
}

/// What changed since `old`.
fn differences(run: &Run, old: &Run) -> String {
    let mut text = format!("\nCompared with commit {}, `{}`:\n", old.commit, old.command);
    for metrics in kinds(run) {
        let mut columns = cells(["set", "modes"]);
        columns.extend_from_slice(metrics);
        columns.extend([format!("{}: wins", metrics[0]), "losses".to_owned()]);
        let results = run.results.iter().filter(|result| result.metrics == metrics);
        let rows = results.filter_map(|new| Some(difference_row(new, old.counterpart(new)?)));
        text += &table("Paired differences", &columns, rows);
    }
    text
}

fn difference_row(new: &SetResult, old: &SetResult) -> Vec<String> {
    let mut row = vec![new.set.clone(), format!("{} - {}", new.mode, old.mode)];
    row.extend((0..new.metrics.len()).map(|metric| changed(new.difference(old, metric).estimate)));
    let Difference { wins, losses, .. } = new.difference(old, 0);
    row.extend([wins.to_string(), losses.to_string()]);
    row
}

/// One set by category; nothing for a set of one category.
fn categories(result: &SetResult) -> String {
    let categories = result.categories();
    if categories.len() < 2 {
        return String::new();
    }
    let mut columns = cells(["category", "queries"]);
    columns.extend_from_slice(&result.metrics);
    let rows = categories.into_iter().map(|(name, count)| {
        let estimates = 0..result.metrics.len();
        let estimates = estimates.map(|metric| shown(result.estimate(metric, Some(name))));
        [name.to_owned(), count.to_string()].into_iter().chain(estimates).collect()
    });
    table(&format!("{}, {}", result.set, result.mode), &columns, rows)
}

/// What was stored, and which files it came from.
fn data(run: &Run) -> String {
    let columns = [
        "set",
        "stored as",
        "texts",
        "records",
        "duplicates",
        "refused",
        "texts a second",
        "SHA-256 of corpus, queries and labels",
    ];
    let mut sets: Vec<&SetResult> = Vec::new();
    for result in &run.results {
        if sets.iter().all(|known| known.set != result.set) {
            sets.push(result);
        }
    }
    table("Data", &cells(columns), sets.into_iter().map(data_row))
}

fn data_row(result: &SetResult) -> Vec<String> {
    let Load { kind, texts, stored, duplicates, refused, rate, sha256 } = &result.load;
    let counts = [texts, stored, duplicates, refused].map(ToString::to_string);
    let mut row = vec![result.set.clone(), kind.clone()];
    row.extend(counts);
    row.extend([format!("{rate:.0}"), format!("`{sha256}`")]);
    row
}

fn shown(Estimate { mean, error }: Estimate) -> String {
    format!("{mean:.3} ± {error:.3}")
}

fn changed(Estimate { mean, error }: Estimate) -> String {
    format!("{mean:+.4} ± {error:.4}")
}

fn cells<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

fn table(title: &str, columns: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("\n## {title}\n\n{}", line(columns));
    text += &line(&vec!["---"; columns.len()]);
    for row in rows {
        text += &line(&row);
    }
    text
}

fn line<T: Display>(cells: &[T]) -> String {
    let mut text = cells.iter().fold("|".to_owned(), |mut text, cell| {
        // Writing into a string cannot fail.
        let _ = write!(text, " {cell} |");
        text
    });
    text.push('\n');
    text
}
