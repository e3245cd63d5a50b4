//! The writing half: checks a batch, then applies it to the tables of a write transaction.

use std::collections::BTreeMap;

use super::{
    Failure, Fault,
    keys::{Answered, Moment, Tally},
    rows::Tables,
};
use crate::{
    Result,
    storage::{
        Batch, Condition, DocKey, Document, Facet, Fingerprint, Kind, Operation, RECEIPTS_MAX,
        Request, Seq, Written, parts::is_forgotten,
    },
    types::Timestamp,
};

/// The tables of an engine whose failures are `F`.
type Rows<'t, F> = dyn Tables<Failure = F> + 't;

/// Applies `batch`, or leaves the tables as they are and says why.
///
/// Other batches share the transaction, so a refusal cannot be a rollback: all conditions are
/// checked before the first change.
pub(crate) fn write<F: Failure>(
    tables: &mut Rows<'_, F>,
    batch: &Batch,
) -> Result<Written, Fault<F>> {
    if let Some(request) = &batch.request
        && let Some(answered) = tables.answered(request.id)?
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
struct Preview<'a, F> {
    tables: &'a Rows<'a, F>,
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

impl<'a, F: Failure> Preview<'a, F> {
    fn new(tables: &'a Rows<'a, F>) -> Self {
        Self { tables, changed: BTreeMap::new(), last: Seq::ZERO }
    }

    fn refusal(mut self, operations: &[Operation]) -> Result<Option<Written>, Fault<F>> {
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
    ) -> Result<Result<(), Option<DocKey>>, Fault<F>> {
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

    fn held(&self, key: DocKey) -> Result<Option<Mark>, Fault<F>> {
        if let Some(mark) = self.changed.get(&key) {
            return Ok(*mark);
        }
        let document = self.tables.document(key)?;
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

    fn twin(&self, key: DocKey, fingerprint: &Fingerprint) -> Result<Option<DocKey>, Fault<F>> {
        let stored = self.tables.carriers(key.kind, fingerprint)?;
        let untouched = stored.into_iter().filter(|other| !self.changed.contains_key(other));
        let of_kind = self.changed.iter().filter(|(other, _)| other.kind == key.kind);
        let noted = of_kind
            .filter(|(_, mark)| mark.is_some_and(|mark| mark.fingerprint == *fingerprint))
            .map(|(other, _)| *other);
        Ok(untouched.chain(noted).filter(|other| *other != key).min())
    }

    fn live(&self, kind: Kind) -> Result<u64, Fault<F>> {
        let mut live = self.tables.live(kind)?;
        for (key, mark) in self.changed.iter().filter(|(key, _)| key.kind == kind) {
            let stored = self.tables.document(*key)?.is_some();
            live = (live + u64::from(mark.is_some())).saturating_sub(u64::from(stored));
        }
        Ok(live)
    }
}

fn put<F: Failure>(tables: &mut Rows<'_, F>, mut document: Document) -> Result<(), Fault<F>> {
    let key = document.key;
    let old = tables.document(key)?;
    document.seq = next_seq(tables)?;
    if let Some(scope) = &mut document.scope
        && let Some(tally) = tables.tally(key.kind, Facet::Scope, &scope.key)?
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

fn delete<F: Failure>(tables: &mut Rows<'_, F>, key: DocKey) -> Result<(), Fault<F>> {
    let Some(old) = tables.document(key)? else { return Ok(()) };
    let seq = next_seq(tables)?;
    unlink(tables, &old, seq)?;
    tables.remove_document(key)?;
    tables.set_change(seq, Some(key))?;
    tables.set_deletion(key, Some(seq))?;
    Ok(())
}

/// Takes the next place in the change log.
fn next_seq<F: Failure>(tables: &mut Rows<'_, F>) -> Result<Seq, Fault<F>> {
    let next = Seq(tables.last_seq()?.0 + 1);
    tables.set_last_seq(next)?;
    Ok(next)
}

/// Enters a document into every table.
fn link<F: Failure>(tables: &mut Rows<'_, F>, document: &Document) -> Result<(), Fault<F>> {
    let key = document.key;
    tables.put_document(document)?;
    tables.set_change(document.seq, Some(key))?;
    let moment = Moment {
        scope: document.scope.as_ref().map(|scope| scope.key.clone()),
        source: document.source.key().as_str().to_owned(),
        time: document.time,
    };
    tables.set_place(key, document.time, Some(&moment))?;
    tables.set_carrier(&document.fingerprint, key, true)?;
    tables.set_live(key.kind, tables.live(key.kind)? + 1)
}

/// Takes what `old` left in every table but that of the documents; `seq` is the change that does.
fn unlink<F: Failure>(tables: &mut Rows<'_, F>, old: &Document, seq: Seq) -> Result<(), Fault<F>> {
    let key = old.key;
    tables.set_change(old.seq, None)?;
    tables.set_place(key, old.time, None)?;
    tables.set_carrier(&old.fingerprint, key, false)?;
    tables.set_live(key.kind, tables.live(key.kind)?.saturating_sub(1))?;
    count(tables, old, seq, -1)
}

fn forget_deletion<F: Failure>(tables: &mut Rows<'_, F>, key: DocKey) -> Result<(), Fault<F>> {
    match tables.set_deletion(key, None)? {
        Some(seq) => tables.set_change(seq, None),
        None => Ok(()),
    }
}

/// Counts a document in (`step` 1) or out (`step` -1) of its scope and source.
fn count<F: Failure>(
    tables: &mut Rows<'_, F>,
    document: &Document,
    seq: Seq,
    step: i64,
) -> Result<(), Fault<F>> {
    let kind = document.key.kind;
    for (facet, key, name) in document.facets() {
        let known = tables.tally(kind, facet, &key)?;
        let mut tally = known.unwrap_or(Tally { name, count: 0, last_change: seq });
        tally.count = tally.count.saturating_add_signed(step);
        tally.last_change = seq;
        let kept = (tally.count > 0).then_some(&tally);
        tables.set_tally(kind, (facet, &key), kept)?;
    }
    Ok(())
}

/// Keeps the receipt of a call, and lets go of those that are too old or too many.
fn remember<F: Failure>(tables: &mut Rows<'_, F>, request: &Request) -> Result<(), Fault<F>> {
    if let Some(forgotten) = tables.answered(request.id)? {
        tables.set_call(forgotten.call, None)?;
    }
    let call = tables.newest_call()?.unwrap_or(0) + 1;
    let answered = Answered { at: request.at, receipt: request.receipt.clone(), call };
    tables.set_call(call, Some(request.id))?;
    tables.set_answered(request.id, Some(&answered))?;
    while prune_one(tables, request.at)? {}
    Ok(())
}

/// Lets go of the oldest call if it must go.
fn prune_one<F: Failure>(tables: &mut Rows<'_, F>, now: Timestamp) -> Result<bool, Fault<F>> {
    let Some((call, request)) = tables.oldest_call()? else { return Ok(false) };
    let answered = tables.answered(request)?;
    let goes = tables.calls()? > RECEIPTS_MAX as u64
        || answered.is_none_or(|answered| is_forgotten(answered.at, now));
    if goes {
        tables.set_call(call, None)?;
        tables.set_answered(request, None)?;
    }
    Ok(goes)
}
