//! The reading half: each call is one read transaction, so it sees one state of the store.

use redb::{Database, ReadableDatabase, ReadableTable};

use super::{
    engine::Fault,
    tables::{self, Answered, Moment, Tally, TimeBytes},
};
use crate::{
    Result,
    storage::{Change, DocKey, Document, Facet, FacetCount, Filter, Fingerprint, Kind, Page, Seq},
    types::{EventTime, RequestId, TimeRange, Timestamp},
};

pub(super) fn get(database: &Database, keys: &[DocKey]) -> Result<Vec<Option<Document>>, Fault> {
    let documents = database.begin_read()?.open_table(tables::DOCUMENTS)?;
    keys.iter().map(|key| tables::document(&documents, *key)).collect()
}

pub(super) fn find(
    database: &Database,
    kind: Kind,
    fingerprint: &Fingerprint,
) -> Result<Vec<DocKey>, Fault> {
    let fingerprints = database.begin_read()?.open_table(tables::FINGERPRINTS)?;
    tables::carriers(&fingerprints, kind, fingerprint)
}

/// Walks the timeline, which holds what filters ask for; only documents of the page are read.
pub(super) fn scan(
    database: &Database,
    kind: Kind,
    filter: &Filter,
    page: Page,
) -> Result<Vec<Document>, Fault> {
    let transaction = database.begin_read()?;
    let timeline = transaction.open_table(tables::TIMELINE)?;
    let (from, to) = filter.time.map_or_else(everything, around);
    let (first, last) = tables::time_bounds(kind, from, to);
    let (mut skipped, mut keys) = (0, Vec::new());
    for row in timeline.range::<&TimeBytes>(&first..=&last)? {
        if keys.len() == page.limit {
            break;
        }
        let (place, moment) = row?;
        if !accepts(filter, place.value(), moment.value())? {
            continue;
        }
        if skipped < page.offset {
            skipped += 1;
        } else {
            keys.push(tables::key_at(place.value())?);
        }
    }
    tables::listed(&transaction, &keys)
}

fn accepts(filter: &Filter, place: &TimeBytes, moment: &[u8]) -> Result<bool, Fault> {
    if *filter == Filter::default() {
        return Ok(true);
    }
    let what = || match tables::key_at(place) {
        Ok(key) => format!("the place of document {:?} {} in the timeline", key.kind, key.id),
        Err(_) => "the timeline".to_owned(),
    };
    let Moment { scope, source, time } = tables::decode(moment, what)?;
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

pub(super) fn facets(
    database: &Database,
    kind: Kind,
    facet: Facet,
) -> Result<Vec<FacetCount>, Fault> {
    let rows = database.begin_read()?.open_table(tables::FACETS)?;
    let (kind, facet) = (kind.code(), tables::facet_code(facet));
    let mut counts = Vec::new();
    // Every key is at least as long as the empty one, and the next facet begins where this one ends.
    for row in rows.range((kind, facet, "")..(kind, facet + 1, ""))? {
        let (place, tally) = row?;
        let key = place.value().2.to_owned();
        let Tally { name, count, last_change } =
            tables::decode(tally.value(), || format!("the count of {key}"))?;
        counts.push(FacetCount { key, name, count, last_change });
    }
    counts.sort_by_key(FacetCount::order);
    Ok(counts)
}

pub(super) fn receipt(database: &Database, request: RequestId) -> Result<Option<String>, Fault> {
    let receipts = database.begin_read()?.open_table(tables::RECEIPTS)?;
    Ok(answered(&receipts, request)?.map(|answered| answered.receipt))
}

pub(super) fn answered(
    receipts: &impl ReadableTable<&'static [u8; 16], &'static [u8]>,
    request: RequestId,
) -> Result<Option<Answered>, Fault> {
    let Some(bytes) = receipts.get(request.0.as_bytes())? else { return Ok(None) };
    tables::decode(bytes.value(), || format!("the receipt of {}", request.0)).map(Some)
}

pub(super) fn changes(database: &Database, after: Seq, limit: usize) -> Result<Vec<Change>, Fault> {
    use std::ops::Bound::{Excluded, Unbounded};
    let transaction = database.begin_read()?;
    let log = transaction.open_table(tables::CHANGES)?;
    let documents = transaction.open_table(tables::DOCUMENTS)?;
    let rows = log.range::<u64>((Excluded(after.0), Unbounded))?.take(limit);
    rows.map(|row| {
        let (seq, key) = row?;
        let key = tables::key_of(key.value(), "changes")?;
        let document = tables::document(&documents, key)?;
        Ok(Change { seq: Seq(seq.value()), key, document })
    })
    .collect()
}
