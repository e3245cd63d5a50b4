//! The reading half: each call sees one state of the store.

use super::{
    Failure, Fault,
    keys::{self, Moment, Tally, TimeBytes},
    rows::Snapshot,
};
use crate::{
    Error, Result,
    storage::{Change, Document, Facet, FacetCount, Filter, Kind, Page, Seq},
    types::{EventTime, TimeRange, Timestamp},
};

/// One state of an engine whose failures are `F`.
type State<'s, F> = dyn Snapshot<Failure = F> + 's;

/// Walks the timeline, which holds what filters ask for; only documents of the page are read.
pub(super) fn scan<F: Failure>(
    state: &State<'_, F>,
    kind: Kind,
    filter: &Filter,
    page: Page,
) -> Result<Vec<Document>, Fault<F>> {
    if page.limit == 0 {
        return Ok(Vec::new());
    }
    let (mut skipped, mut keys) = (0, Vec::new());
    state.walk(kind, filter.time.map_or_else(everything, around), &mut |place, moment| {
        if !accepts(filter, place, moment)? {
            return Ok(true);
        }
        if skipped < page.offset {
            skipped += 1;
        } else {
            keys.push(keys::key_at(place)?);
        }
        Ok(keys.len() < page.limit)
    })?;
    let read = |key: &_| state.document(*key)?.ok_or_else(|| absent(*key));
    keys.iter().map(read).collect()
}

fn absent<F>(key: crate::storage::DocKey) -> Fault<F> {
    let what = format!("document {:?} {}", key.kind, key.id);
    Fault::Record(Error::corrupt(what, "it is listed and not there"))
}

fn accepts<F>(filter: &Filter, place: &TimeBytes, moment: &[u8]) -> Result<bool, Fault<F>> {
    if filter.is_empty() {
        return Ok(true);
    }
    let what = || match keys::key_at::<F>(place) {
        Ok(key) => format!("the place of document {:?} {} in the timeline", key.kind, key.id),
        Err(_) => "the timeline".to_owned(),
    };
    let Moment { scope, source, time } = keys::decode(moment, what)?;
    Ok(filter.accepts_parts(scope.as_deref(), &source, time))
}

fn everything() -> (Timestamp, Timestamp) {
    (Timestamp::from_millis(i64::MIN), Timestamp::from_millis(i64::MAX))
}

/// The stretch of the timeline outside of which nothing passes `range`. Bare days stand at their
/// first moment in UTC, which may lie before or after the moments of the range.
fn around(range: TimeRange) -> (Timestamp, Timestamp) {
    let days = [range.first_day, range.last_day].map(|day| EventTime::On(day).order());
    let from = days.into_iter().fold(range.from, Timestamp::min);
    let to = days.into_iter().fold(range.to, Timestamp::max);
    (from, to)
}

pub(super) fn facets<F: Failure>(
    state: &State<'_, F>,
    kind: Kind,
    facet: Facet,
) -> Result<Vec<FacetCount>, Fault<F>> {
    let rows = state.tallies(kind, facet)?.into_iter();
    let count =
        |(key, Tally { name, count, last_change })| FacetCount { key, name, count, last_change };
    let mut counts: Vec<FacetCount> = rows.map(count).collect();
    counts.sort_by_key(FacetCount::order);
    Ok(counts)
}

pub(super) fn changes<F: Failure>(
    state: &State<'_, F>,
    after: Seq,
    limit: usize,
) -> Result<Vec<Change>, Fault<F>> {
    let rows = state.log(after, limit)?.into_iter();
    rows.map(|(seq, key)| Ok(Change { seq, key, document: state.document(key)? })).collect()
}
