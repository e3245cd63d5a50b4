//! The writing half: checks a batch, then applies it to the tables of a write transaction.

use std::collections::BTreeMap;

use redb::{ReadableTable, ReadableTableMetadata};

use super::{
    engine::Fault,
    read,
    tables::{self, Answered, Moment, Tables, Tally},
};
use crate::{
    Result,
    storage::{
        Batch, Condition, DocKey, Document, Facet, Fingerprint, Kind, Operation, RECEIPTS_MAX,
        Request, Seq, Written, parts::is_forgotten,
    },
    types::{Id, RequestId, Timestamp},
};

/// Applies `batch`, or leaves the tables as they are and says why.
///
/// Other batches share the transaction, so a refusal cannot be a rollback: all conditions are
/// checked before the first change.
pub(super) fn write(tables: &mut Tables<'_>, batch: &Batch) -> Result<Written, Fault> {
    if let Some(request) = &batch.request
        && let Some(answered) = read::answered(&tables.receipts, request.id)?
        && !is_forgotten(answered.at, request.at)
    {
        return Ok(Written::Repeated { receipt: answered.receipt });
    }
    if let Some(refused) = Preview::new(tables).refusal(&batch.operations)? {
        return Ok(refused);
    }
    for operation in &batch.operations {
        match operation {
            Operation::Put { document, .. } => put(tables, Document::clone(document))?,
            Operation::Delete { key, .. } => delete(tables, *key)?,
        }
    }
    if let Some(request) = &batch.request {
        remember(tables, request)?;
    }
    Ok(Written::Done { seq: tables.last_seq()? })
}

/// The tables as they will be after the operations looked at so far.
struct Preview<'a, 't> {
    tables: &'a Tables<'t>,
    /// Keys that these operations change, with what they will hold.
    changed: BTreeMap<DocKey, Option<Mark>>,
    /// The last place taken in the log.
    last: Seq,
}

/// As much of a document as conditions ask for.
#[derive(Clone, Copy)]
struct Mark {
    fingerprint: Fingerprint,
    seq: Seq,
}

impl<'a, 't> Preview<'a, 't> {
    fn new(tables: &'a Tables<'t>) -> Self {
        Self { tables, changed: BTreeMap::new(), last: Seq::ZERO }
    }

    fn refusal(mut self, operations: &[Operation]) -> Result<Option<Written>, Fault> {
        if operations.iter().all(|operation| operation.conditions().is_empty()) {
            return Ok(None);
        }
        self.last = self.tables.last_seq()?;
        for (index, operation) in operations.iter().enumerate() {
            let held = self.held(operation.key())?;
            for condition in operation.conditions() {
                if let Err(existing) = self.check(*condition, operation, held)? {
                    let condition = *condition;
                    return Ok(Some(Written::Refused { operation: index, condition, existing }));
                }
            }
            self.note(operation, held);
        }
        Ok(None)
    }

    /// The inner result: whether the condition holds, else the twin that breaks it.
    fn check(
        &self,
        condition: Condition,
        operation: &Operation,
        held: Option<Mark>,
    ) -> Result<Result<(), Option<DocKey>>, Fault> {
        let key = operation.key();
        let holds = match condition {
            Condition::Unchanged(seq) => held.is_some_and(|mark| mark.seq == seq),
            Condition::FewerThan(limit) => self.live(key.kind)? < limit,
            Condition::NoTwin => {
                let fingerprint = operation.fingerprint().or(held.map(|mark| mark.fingerprint));
                let twin = fingerprint.map(|it| self.twin(key, &it)).transpose()?.flatten();
                return Ok(twin.map_or(Ok(()), |twin| Err(Some(twin))));
            }
        };
        Ok(if holds { Ok(()) } else { Err(None) })
    }

    fn held(&self, key: DocKey) -> Result<Option<Mark>, Fault> {
        if let Some(mark) = self.changed.get(&key) {
            return Ok(*mark);
        }
        let document = tables::document(&self.tables.documents, key)?;
        Ok(document.map(|it| Mark { fingerprint: it.fingerprint, seq: it.seq }))
    }

    fn note(&mut self, operation: &Operation, held: Option<Mark>) {
        let fingerprint = operation.fingerprint();
        if fingerprint.is_some() || held.is_some() {
            self.last.0 += 1;
        }
        let mark = fingerprint.map(|fingerprint| Mark { fingerprint, seq: self.last });
        self.changed.insert(operation.key(), mark);
    }

    fn twin(&self, key: DocKey, fingerprint: &Fingerprint) -> Result<Option<DocKey>, Fault> {
        let stored = tables::carriers(&self.tables.fingerprints, key.kind, fingerprint)?;
        let untouched = stored.into_iter().filter(|other| !self.changed.contains_key(other));
        let of_kind = self.changed.iter().filter(|(other, _)| other.kind == key.kind);
        let noted = of_kind
            .filter(|(_, mark)| mark.is_some_and(|mark| mark.fingerprint == *fingerprint))
            .map(|(other, _)| *other);
        Ok(untouched.chain(noted).filter(|other| *other != key).min())
    }

    fn live(&self, kind: Kind) -> Result<u64, Fault> {
        let mut live = self.tables.live(kind)?;
        for (key, mark) in self.changed.iter().filter(|(key, _)| key.kind == kind) {
            let stored = self.tables.documents.get(&tables::key_bytes(*key))?.is_some();
            live = (live + u64::from(mark.is_some())).saturating_sub(u64::from(stored));
        }
        Ok(live)
    }
}

fn put(tables: &mut Tables<'_>, mut document: Document) -> Result<(), Fault> {
    let key = document.key;
    let old = tables::document(&tables.documents, key)?;
    document.seq = tables.next_seq()?;
    if let Some(scope) = &mut document.scope
        && let Some(tally) = tally(tables, key.kind, Facet::Scope, &scope.key)?
    {
        scope.name = tally.name;
    }
    // The new document is counted before the old one goes, so that a scope whose only document is
    // replaced keeps its name.
    count(tables, &document, document.seq, 1)?;
    match old {
        Some(old) => unlink(tables, &old, document.seq)?,
        None => forget_deletion(tables, key)?,
    }
    link(tables, &document)
}

fn delete(tables: &mut Tables<'_>, key: DocKey) -> Result<(), Fault> {
    let Some(old) = tables::document(&tables.documents, key)? else { return Ok(()) };
    let seq = tables.next_seq()?;
    unlink(tables, &old, seq)?;
    let bytes = tables::key_bytes(key);
    tables.documents.remove(&bytes)?;
    tables.changes.insert(seq.0, &bytes)?;
    tables.deleted.insert(&bytes, seq.0)?;
    Ok(())
}

/// Enters a document into every table.
fn link(tables: &mut Tables<'_>, document: &Document) -> Result<(), Fault> {
    let key = document.key;
    let bytes = tables::key_bytes(key);
    tables.documents.insert(&bytes, tables::encode(document)?.as_slice())?;
    tables.changes.insert(document.seq.0, &bytes)?;
    let moment = Moment {
        scope: document.scope.as_ref().map(|scope| scope.key.clone()),
        source: document.source.key().as_str().to_owned(),
        time: document.time,
    };
    let place = tables::time_bytes(key, document.time);
    tables.timeline.insert(&place, tables::encode(&moment)?.as_slice())?;
    let print = tables::print_bytes(key.kind, &document.fingerprint, key.id.as_bytes());
    tables.fingerprints.insert(&print, ())?;
    tables.counts.insert(key.kind.code(), tables.live(key.kind)? + 1)?;
    Ok(())
}

/// Takes what `old` left in every table but that of the documents; `seq` is the change that does.
fn unlink(tables: &mut Tables<'_>, old: &Document, seq: Seq) -> Result<(), Fault> {
    let key = old.key;
    tables.changes.remove(old.seq.0)?;
    tables.timeline.remove(&tables::time_bytes(key, old.time))?;
    let print = tables::print_bytes(key.kind, &old.fingerprint, key.id.as_bytes());
    tables.fingerprints.remove(&print)?;
    tables.counts.insert(key.kind.code(), tables.live(key.kind)?.saturating_sub(1))?;
    count(tables, old, seq, -1)
}

fn forget_deletion(tables: &mut Tables<'_>, key: DocKey) -> Result<(), Fault> {
    let seq = tables.deleted.remove(&tables::key_bytes(key))?.map(|seq| seq.value());
    if let Some(seq) = seq {
        tables.changes.remove(seq)?;
    }
    Ok(())
}

fn tally(tables: &Tables<'_>, kind: Kind, facet: Facet, key: &str) -> Result<Option<Tally>, Fault> {
    let place = (kind.code(), tables::facet_code(facet), key);
    let Some(bytes) = tables.facets.get(place)? else { return Ok(None) };
    tables::decode(bytes.value(), || format!("the count of {key}")).map(Some)
}

/// Counts a document in (`step` 1) or out (`step` -1) of its scope and source.
fn count(tables: &mut Tables<'_>, document: &Document, seq: Seq, step: i64) -> Result<(), Fault> {
    let kind = document.key.kind;
    for (facet, key, name) in document.facets() {
        let known = tally(tables, kind, facet, &key)?;
        let mut tally = known.unwrap_or(Tally { name, count: 0, last_change: seq });
        tally.count = tally.count.saturating_add_signed(step);
        tally.last_change = seq;
        let place = (kind.code(), tables::facet_code(facet), key.as_str());
        if tally.count == 0 {
            tables.facets.remove(place)?;
        } else {
            tables.facets.insert(place, tables::encode(&tally)?.as_slice())?;
        }
    }
    Ok(())
}

/// Keeps the receipt of a call, and lets go of those that are too old or too many.
fn remember(tables: &mut Tables<'_>, request: &Request) -> Result<(), Fault> {
    if let Some(forgotten) = read::answered(&tables.receipts, request.id)? {
        tables.calls.remove(forgotten.call)?;
    }
    let call = tables.calls.last()?.map_or(0, |(call, _)| call.value()) + 1;
    let answered = Answered { at: request.at, receipt: request.receipt.clone(), call };
    tables.calls.insert(call, request.id.0.as_bytes())?;
    tables.receipts.insert(request.id.0.as_bytes(), tables::encode(&answered)?.as_slice())?;
    while prune_one(tables, request.at)? {}
    Ok(())
}

/// Lets go of the oldest call if it must go.
fn prune_one(tables: &mut Tables<'_>, now: Timestamp) -> Result<bool, Fault> {
    let oldest = tables.calls.first()?.map(|(call, id)| (call.value(), *id.value()));
    let Some((call, id)) = oldest else { return Ok(false) };
    let answered = read::answered(&tables.receipts, RequestId(Id::from_bytes(id)))?;
    let goes = tables.calls.len()? > RECEIPTS_MAX as u64
        || answered.is_none_or(|answered| is_forgotten(answered.at, now));
    if goes {
        tables.calls.remove(call)?;
        tables.receipts.remove(&id)?;
    }
    Ok(goes)
}
