//! What lies where in the file: the tables, and how a store reads and changes them.

use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
    Table, TableDefinition, WriteTransaction,
};

use crate::{
    Result,
    storage::{
        DocKey, Document, Facet, Fingerprint, Kind, Seq,
        embedded::{
            Fault as AnyFault,
            keys::{self, Answered, KeyBytes, Moment, PrintBytes, Tally, TimeBytes},
            rows::{self, Look, Visit},
        },
    },
    types::{EventTime, Id, RequestId, Timestamp},
};

/// Why work on this engine ended early.
pub(super) type Fault = AnyFault<redb::Error>;

type Definition<K, V> = TableDefinition<'static, K, V>;

/// The documents.
const DOCUMENTS: Definition<&KeyBytes, &[u8]> = Definition::new("documents");
/// [`Moment`] of each live document.
const TIMELINE: Definition<&TimeBytes, &[u8]> = Definition::new("timeline");
/// The change log: what changed.
const CHANGES: Definition<u64, &KeyBytes> = Definition::new("changes");
/// The last change of each deleted key.
const DELETED: Definition<&KeyBytes, u64> = Definition::new("deleted");
/// The live documents by fingerprint.
const FINGERPRINTS: Definition<&PrintBytes, ()> = Definition::new("fingerprints");
/// [`Tally`] of each scope and source: kind, facet, key.
const FACETS: Definition<(u8, u8, &str), &[u8]> = Definition::new("facets");
/// [`Answered`] calls.
const RECEIPTS: Definition<&[u8; 16], &[u8]> = Definition::new("receipts");
/// The calls in the order in which they came.
const CALLS: Definition<u64, &[u8; 16]> = Definition::new("calls");
/// Live documents by kind.
const COUNTS: Definition<u8, u64> = Definition::new("counts");
/// Numbers by name.
const NUMBERS: Definition<&str, u64> = Definition::new("numbers");

const FORMAT: &str = "format";
const LAST_SEQ: &str = "last_seq";

/// All tables of one write transaction.
pub(super) struct Tables<'t> {
    documents: Table<'t, &'static KeyBytes, &'static [u8]>,
    timeline: Table<'t, &'static TimeBytes, &'static [u8]>,
    changes: Table<'t, u64, &'static KeyBytes>,
    deleted: Table<'t, &'static KeyBytes, u64>,
    fingerprints: Table<'t, &'static PrintBytes, ()>,
    facets: Table<'t, (u8, u8, &'static str), &'static [u8]>,
    receipts: Table<'t, &'static [u8; 16], &'static [u8]>,
    calls: Table<'t, u64, &'static [u8; 16]>,
    counts: Table<'t, u8, u64>,
    numbers: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    /// Opens all tables, making those that are not there yet.
    pub(super) fn open(transaction: &'t WriteTransaction) -> Result<Self, Fault> {
        Ok(Self {
            documents: transaction.open_table(DOCUMENTS)?,
            timeline: transaction.open_table(TIMELINE)?,
            changes: transaction.open_table(CHANGES)?,
            deleted: transaction.open_table(DELETED)?,
            fingerprints: transaction.open_table(FINGERPRINTS)?,
            facets: transaction.open_table(FACETS)?,
            receipts: transaction.open_table(RECEIPTS)?,
            calls: transaction.open_table(CALLS)?,
            counts: transaction.open_table(COUNTS)?,
            numbers: transaction.open_table(NUMBERS)?,
        })
    }
}

/// Begins a transaction whose commit returns when the disk has it.
pub(super) fn begin(database: &Database) -> Result<WriteTransaction, Fault> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    Ok(transaction)
}

/// Makes the tables, so that readers find them, and looks at the format's version.
pub(super) fn prepare(database: &Database) -> Result<(), Fault> {
    let transaction = begin(database)?;
    let mut tables = Tables::open(&transaction)?;
    let format = tables.numbers.get(FORMAT)?.map(|number| number.value());
    if let Some(format) = format {
        return keys::check_format(format);
    }
    tables.numbers.insert(FORMAT, keys::CURRENT_FORMAT)?;
    drop(tables);
    Ok(transaction.commit()?)
}

/// A read transaction.
pub(super) struct Snapshot(ReadTransaction);

impl Snapshot {
    pub(super) fn of(database: &Database) -> Result<Self, Fault> {
        Ok(Self(database.begin_read()?))
    }
}

fn document(
    documents: &impl ReadableTable<&'static KeyBytes, &'static [u8]>,
    key: DocKey,
) -> Result<Option<Document>, Fault> {
    let found = documents.get(&keys::key_bytes(key))?;
    found.map(|bytes| keys::document(bytes.value(), key)).transpose()
}

fn carriers(
    fingerprints: &impl ReadableTable<&'static PrintBytes, ()>,
    kind: Kind,
    fingerprint: &Fingerprint,
) -> Result<Vec<DocKey>, Fault> {
    let (first, last) = keys::print_bounds(kind, fingerprint);
    let rows = fingerprints.range::<&PrintBytes>(&first..=&last)?;
    rows.map(|row| keys::key_of_print(row?.0.value())).collect()
}

fn answered(
    receipts: &impl ReadableTable<&'static [u8; 16], &'static [u8]>,
    request: RequestId,
) -> Result<Option<Answered>, Fault> {
    let Some(bytes) = receipts.get(request.0.as_bytes())? else { return Ok(None) };
    keys::decode(bytes.value(), || format!("the receipt of {}", request.0)).map(Some)
}

impl Look for Snapshot {
    type Failure = redb::Error;

    fn document(&self, key: DocKey) -> Result<Option<Document>, Fault> {
        document(&self.0.open_table(DOCUMENTS)?, key)
    }

    fn carriers(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>, Fault> {
        carriers(&self.0.open_table(FINGERPRINTS)?, kind, fingerprint)
    }

    fn answered(&self, request: RequestId) -> Result<Option<Answered>, Fault> {
        answered(&self.0.open_table(RECEIPTS)?, request)
    }
}

impl rows::Snapshot for Snapshot {
    fn walk(
        &self,
        kind: Kind,
        (earliest, latest): (Timestamp, Timestamp),
        visit: Visit<'_, redb::Error>,
    ) -> Result<(), Fault> {
        let timeline = self.0.open_table(TIMELINE)?;
        let (first, last) = keys::time_bounds(kind, earliest, latest);
        for row in timeline.range::<&TimeBytes>(&first..=&last)? {
            let (place, moment) = row?;
            if !visit(place.value(), moment.value())? {
                break;
            }
        }
        Ok(())
    }

    fn tallies(&self, kind: Kind, facet: Facet) -> Result<Vec<(String, Tally)>, Fault> {
        let rows = self.0.open_table(FACETS)?;
        let (kind, facet) = (kind.code(), keys::facet_code(facet));
        // Every key is at least as long as the empty one, and the next facet begins where this one
        // ends.
        let rows = rows.range((kind, facet, "")..(kind, facet + 1, ""))?;
        rows.map(|row| {
            let (place, tally) = row?;
            let key = place.value().2.to_owned();
            let tally = keys::decode(tally.value(), || format!("the count of {key}"))?;
            Ok((key, tally))
        })
        .collect()
    }

    fn log(&self, after: Seq, limit: usize) -> Result<Vec<(Seq, DocKey)>, Fault> {
        use std::ops::Bound::{Excluded, Unbounded};
        let log = self.0.open_table(CHANGES)?;
        let rows = log.range::<u64>((Excluded(after.0), Unbounded))?.take(limit);
        rows.map(|row| {
            let (seq, key) = row?;
            Ok((Seq(seq.value()), keys::key_of(key.value(), "changes")?))
        })
        .collect()
    }
}

impl Look for Tables<'_> {
    type Failure = redb::Error;

    fn document(&self, key: DocKey) -> Result<Option<Document>, Fault> {
        document(&self.documents, key)
    }

    fn carriers(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>, Fault> {
        carriers(&self.fingerprints, kind, fingerprint)
    }

    fn answered(&self, request: RequestId) -> Result<Option<Answered>, Fault> {
        answered(&self.receipts, request)
    }
}

impl rows::Tables for Tables<'_> {
    fn put_document(&mut self, document: &Document) -> Result<(), Fault> {
        let bytes = keys::encode(document)?;
        self.documents.insert(&keys::key_bytes(document.key), bytes.as_slice())?;
        Ok(())
    }

    fn remove_document(&mut self, key: DocKey) -> Result<(), Fault> {
        self.documents.remove(&keys::key_bytes(key))?;
        Ok(())
    }

    fn set_place(
        &mut self,
        key: DocKey,
        time: EventTime,
        moment: Option<&Moment>,
    ) -> Result<(), Fault> {
        let place = keys::time_bytes(key, time);
        match moment {
            Some(moment) => self.timeline.insert(&place, keys::encode(moment)?.as_slice())?,
            None => self.timeline.remove(&place)?,
        };
        Ok(())
    }

    fn set_carrier(
        &mut self,
        fingerprint: &Fingerprint,
        key: DocKey,
        listed: bool,
    ) -> Result<(), Fault> {
        let place = keys::print_bytes(key.kind, fingerprint, key.id.as_bytes());
        if listed {
            self.fingerprints.insert(&place, ())?;
        } else {
            self.fingerprints.remove(&place)?;
        }
        Ok(())
    }

    fn set_change(&mut self, seq: Seq, key: Option<DocKey>) -> Result<(), Fault> {
        match key {
            Some(key) => self.changes.insert(seq.0, &keys::key_bytes(key))?,
            None => self.changes.remove(seq.0)?,
        };
        Ok(())
    }

    fn set_deletion(&mut self, key: DocKey, seq: Option<Seq>) -> Result<Option<Seq>, Fault> {
        let key = keys::key_bytes(key);
        let old = match seq {
            Some(seq) => self.deleted.insert(&key, seq.0)?,
            None => self.deleted.remove(&key)?,
        };
        Ok(old.map(|seq| Seq(seq.value())))
    }

    fn tally(&self, kind: Kind, facet: Facet, key: &str) -> Result<Option<Tally>, Fault> {
        let found = self.facets.get((kind.code(), keys::facet_code(facet), key))?;
        let decode = |bytes: redb::AccessGuard<'_, &[u8]>| {
            keys::decode(bytes.value(), || format!("the count of {key}"))
        };
        found.map(decode).transpose()
    }

    fn set_tally(
        &mut self,
        kind: Kind,
        (facet, key): (Facet, &str),
        tally: Option<&Tally>,
    ) -> Result<(), Fault> {
        let place = (kind.code(), keys::facet_code(facet), key);
        match tally {
            Some(tally) => self.facets.insert(place, keys::encode(tally)?.as_slice())?,
            None => self.facets.remove(place)?,
        };
        Ok(())
    }

    fn set_answered(
        &mut self,
        request: RequestId,
        answered: Option<&Answered>,
    ) -> Result<(), Fault> {
        let id = request.0.as_bytes();
        match answered {
            Some(answered) => self.receipts.insert(id, keys::encode(answered)?.as_slice())?,
            None => self.receipts.remove(id)?,
        };
        Ok(())
    }

    fn calls(&self) -> Result<u64, Fault> {
        Ok(self.calls.len()?)
    }

    fn oldest_call(&self) -> Result<Option<(u64, RequestId)>, Fault> {
        let oldest = self.calls.first()?;
        Ok(oldest.map(|(call, id)| (call.value(), RequestId(Id::from_bytes(*id.value())))))
    }

    fn newest_call(&self) -> Result<Option<u64>, Fault> {
        Ok(self.calls.last()?.map(|(call, _)| call.value()))
    }

    fn set_call(&mut self, call: u64, request: Option<RequestId>) -> Result<(), Fault> {
        match request {
            Some(request) => self.calls.insert(call, request.0.as_bytes())?,
            None => self.calls.remove(call)?,
        };
        Ok(())
    }

    fn live(&self, kind: Kind) -> Result<u64, Fault> {
        Ok(self.counts.get(kind.code())?.map_or(0, |count| count.value()))
    }

    fn set_live(&mut self, kind: Kind, count: u64) -> Result<(), Fault> {
        self.counts.insert(kind.code(), count)?;
        Ok(())
    }

    fn last_seq(&self) -> Result<Seq, Fault> {
        Ok(Seq(self.numbers.get(LAST_SEQ)?.map_or(0, |number| number.value())))
    }

    fn set_last_seq(&mut self, seq: Seq) -> Result<(), Fault> {
        self.numbers.insert(LAST_SEQ, seq.0)?;
        Ok(())
    }
}
