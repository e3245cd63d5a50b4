//! Runs the queries of a set and measures answers and time.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    time::Instant,
};

use tvix_core::{
    Search, Tvix,
    search::{Answer, Query},
    storage::{DocKey, Filter, Page, ScopeFilter},
    types::{ProjectSlug, QueryText},
};

use crate::{
    Result,
    data::{Question, Set},
    engine::{self, Passage},
    metrics::{self, Stretch},
    run::{Outcome, Timing},
    store::{Part, Stored},
};

/// How many hits are asked for.
pub(crate) const HITS: usize = 100;

/// What the search found for one query.
enum Found {
    Texts(Vec<DocKey>),
    Passages(Vec<Passage>),
}

/// Asks every query of `set`, one after the other.
pub(crate) async fn ask(tvix: &Tvix, set: &Set, stored: &Stored) -> Result<(Vec<Outcome>, Timing)> {
    let queries = set.queries.iter().map(|question| query(set, question));
    let queries = queries.collect::<Result<Vec<Query>>>()?;
    let mut asked = Asked { by_passage: set.is_by_passage(), notices: BTreeSet::new() };
    let (mut found, mut milliseconds) = (Vec::new(), Vec::new());
    let before = processor_milliseconds();
    for query in &queries {
        let started = Instant::now();
        found.push(asked.find(tvix, query).await?);
        milliseconds.push(started.elapsed().as_secs_f64() * 1_000.0);
    }
    let spent = processor_milliseconds().zip(before).map(|(after, before)| after - before);
    for notice in asked.notices {
        eprintln!("  an answer says: {notice}");
    }
    let scorer = Scorer::new(set, stored);
    let outcomes =
        set.queries.iter().zip(&found).map(|(query, found)| scorer.outcome(query, found));
    Ok((outcomes.collect(), timing(milliseconds, spent)))
}

fn query(set: &Set, question: &Question) -> Result<Query> {
    let text: String = question.text.chars().take(QueryText::MAX).collect();
    let scope = match question.scope.as_str() {
        "" => ScopeFilter::Any,
        scope => ScopeFilter::Only(ProjectSlug::new(scope)?.into()),
    };
    Ok(Query {
        kind: set.kind,
        text: QueryText::new(text)?,
        filter: Filter { scope, ..Filter::default() },
        page: Page::first(HITS),
    })
}

struct Asked {
    by_passage: bool,
    /// What answers said beside their hits, once each.
    notices: BTreeSet<String>,
}

impl Asked {
    async fn find(&mut self, tvix: &Tvix, query: &Query) -> Result<Found> {
        if self.by_passage {
            return Ok(Found::Passages(engine::ranked_passages(tvix, query).await?));
        }
        let Answer { hits, notices, .. } = tvix.search(query).await?;
        self.notices.extend(notices.iter().map(ToString::to_string));
        Ok(Found::Texts(hits.into_iter().map(|hit| hit.document.key).collect()))
    }
}

/// Turns what was found into values.
struct Scorer<'a> {
    set: &'a Set,
    stored: &'a Stored,
    /// The byte at which each character of each text begins; only for sets that label characters.
    characters: HashMap<usize, Vec<usize>>,
}

impl<'a> Scorer<'a> {
    fn new(set: &'a Set, stored: &'a Stored) -> Self {
        let texts = set.texts.iter().enumerate().filter(|_| set.is_by_passage());
        let begins = |text: &str| text.char_indices().map(|(at, _)| at).collect();
        let characters = texts.map(|(at, text)| (at, begins(&text.text))).collect();
        Self { set, stored, characters }
    }

    fn outcome(&self, question: &Question, found: &Found) -> Outcome {
        let values = match found {
            Found::Texts(hits) => self.ranking(question, hits),
            Found::Passages(passages) => self.coverage(question, passages),
        };
        Outcome { id: question.id.clone(), category: question.category.clone(), values }
    }

    fn ranking(&self, question: &Question, hits: &[DocKey]) -> Vec<f64> {
        let unit = |part: &Part| self.set.texts[part.text].unit.as_str();
        let names = hits.iter().map(|key| self.parts(*key).iter().map(unit).collect());
        metrics::ranking(&question.labels, &metrics::places(names))
    }

    fn coverage(&self, question: &Question, passages: &[Passage]) -> Vec<f64> {
        let stretches: Vec<Stretch> =
            passages.iter().flat_map(|passage| self.stretches(passage)).collect();
        let within = |budget| metrics::coverage(&question.reference, &stretches, budget);
        metrics::BUDGETS.map(within).to_vec()
    }

    /// Where in the set's texts a passage stands, in characters.
    fn stretches(&self, passage: &Passage) -> impl Iterator<Item = Stretch> {
        self.parts(passage.key).iter().filter_map(|part| {
            let begins = self.characters.get(&part.text)?;
            let character =
                |byte: usize| begins.partition_point(|begin| *begin < part.start + byte);
            Some((part.text, character(passage.range.start)..character(passage.range.end)))
        })
    }

    fn parts(&self, key: DocKey) -> &[Part] {
        self.stored.parts.get(&key.id).map_or(&[], Vec::as_slice)
    }
}

fn timing(mut milliseconds: Vec<f64>, processor: Option<f64>) -> Timing {
    milliseconds.sort_by(f64::total_cmp);
    Timing {
        p50: metrics::quantile(&milliseconds, 50),
        p95: metrics::quantile(&milliseconds, 95),
        processor: processor.map(|spent| spent / milliseconds.len().max(1) as f64),
    }
}

/// What this process has used of the processor so far, all threads together. Known on Linux only, in
/// steps of 10 ms: good enough for the mean over a set.
fn processor_milliseconds() -> Option<f64> {
    let facts = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name, may hold spaces; the 14th and 15th are wanted.
    let (_, fields) = facts.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_of_a_part_are_found_in_the_whole_text() {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("pages");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("corpus.jsonl"), r#"{"id":"p","text":"äöü abc def"}"#).unwrap();
        let query = r#"{"id":"q","text":"x","spans":[["p",4,8]]}"#;
        fs::write(files.join("queries.jsonl"), query).unwrap();
        let set = Set::load(folder.path(), "pages").unwrap();
        let key = DocKey::new(set.kind, tvix_core::types::Id::new());
        let mut stored = Stored::default();
        // The part begins behind "äöü", which is 6 bytes and 3 characters.
        stored.parts.insert(key.id, vec![Part { text: 0, start: 6 }]);
        let scorer = Scorer::new(&set, &stored);
        let passage = Passage { key, range: 1..4 };
        assert_eq!(scorer.stretches(&passage).collect::<Vec<_>>(), [(0, 4..7)]);
        let outcome = scorer.outcome(&set.queries[0], &Found::Passages(vec![passage]));
        assert_eq!(outcome.values, [0.75, 0.75]);
    }
}
