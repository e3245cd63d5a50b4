//! What lies where in the file. Keys are fixed bytes whose order is the order of the lists; values
//! are JSON, so that a later version can read an earlier one field by field.

use redb::{
    Database, Durability, ReadTransaction, ReadableTable, Table, TableDefinition, WriteTransaction,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::engine::Fault;
use crate::{
    Error, Result,
    storage::{DocKey, Document, Facet, Fingerprint, Kind, Seq},
    types::{EventTime, Id, Timestamp},
};

/// Kind, then identifier.
pub(super) type KeyBytes = [u8; 17];
/// Kind, then time and identifier in descending order.
pub(super) type TimeBytes = [u8; 25];
/// Kind, fingerprint, identifier.
pub(super) type PrintBytes = [u8; 33];

type Definition<K, V> = TableDefinition<'static, K, V>;

/// The documents.
pub(super) const DOCUMENTS: Definition<&KeyBytes, &[u8]> = Definition::new("documents");
/// [`Moment`] of each live document.
pub(super) const TIMELINE: Definition<&TimeBytes, &[u8]> = Definition::new("timeline");
/// The change log: what changed.
pub(super) const CHANGES: Definition<u64, &KeyBytes> = Definition::new("changes");
/// The last change of each deleted key.
pub(super) const DELETED: Definition<&KeyBytes, u64> = Definition::new("deleted");
/// The live documents by fingerprint.
pub(super) const FINGERPRINTS: Definition<&PrintBytes, ()> = Definition::new("fingerprints");
/// [`Tally`] of each scope and source: kind, facet, key.
pub(super) const FACETS: Definition<(u8, u8, &str), &[u8]> = Definition::new("facets");
/// [`Answered`] calls.
pub(super) const RECEIPTS: Definition<&[u8; 16], &[u8]> = Definition::new("receipts");
/// The calls in the order in which they came.
pub(super) const CALLS: Definition<u64, &[u8; 16]> = Definition::new("calls");
/// Live documents by kind.
pub(super) const COUNTS: Definition<u8, u64> = Definition::new("counts");
/// Numbers by name: [`FORMAT`] and [`LAST_SEQ`].
pub(super) const NUMBERS: Definition<&str, u64> = Definition::new("numbers");

const FORMAT: &str = "format";
const LAST_SEQ: &str = "last_seq";
/// What this version writes.
const CURRENT_FORMAT: u64 = 1;

/// What filters need to know of a document.
#[derive(Serialize, Deserialize)]
pub(super) struct Moment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<String>,
    pub(super) source: String,
    pub(super) time: EventTime,
}

/// A scope's or source's name and numbers.
#[derive(Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) last_change: Seq,
}

/// A remembered call.
#[derive(Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) at: Timestamp,
    pub(super) receipt: String,
    /// Its place in [`CALLS`].
    pub(super) call: u64,
}

/// All tables of one write transaction.
pub(super) struct Tables<'t> {
    pub(super) documents: Table<'t, &'static KeyBytes, &'static [u8]>,
    pub(super) timeline: Table<'t, &'static TimeBytes, &'static [u8]>,
    pub(super) changes: Table<'t, u64, &'static KeyBytes>,
    pub(super) deleted: Table<'t, &'static KeyBytes, u64>,
    pub(super) fingerprints: Table<'t, &'static PrintBytes, ()>,
    pub(super) facets: Table<'t, (u8, u8, &'static str), &'static [u8]>,
    pub(super) receipts: Table<'t, &'static [u8; 16], &'static [u8]>,
    pub(super) calls: Table<'t, u64, &'static [u8; 16]>,
    pub(super) counts: Table<'t, u8, u64>,
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

    /// The last change; zero in an empty store.
    pub(super) fn last_seq(&self) -> Result<Seq, Fault> {
        Ok(Seq(self.numbers.get(LAST_SEQ)?.map_or(0, |number| number.value())))
    }

    /// Takes the next place in the change log.
    pub(super) fn next_seq(&mut self) -> Result<Seq, Fault> {
        let next = self.last_seq()?.0 + 1;
        self.numbers.insert(LAST_SEQ, next)?;
        Ok(Seq(next))
    }

    /// How many documents of `kind` live.
    pub(super) fn live(&self, kind: Kind) -> Result<u64, Fault> {
        Ok(self.counts.get(kind.code())?.map_or(0, |count| count.value()))
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
    match format {
        Some(CURRENT_FORMAT) => return Ok(()),
        None => tables.numbers.insert(FORMAT, CURRENT_FORMAT)?,
        Some(other) => return Err(Fault::Record(unknown_format(other))),
    };
    drop(tables);
    Ok(transaction.commit()?)
}

fn unknown_format(format: u64) -> Error {
    Error::conflict(format_args!(
        "the store has format {format} and this version reads {CURRENT_FORMAT}: use the version that wrote it"
    ))
}

/// Reads one document.
pub(super) fn document(
    documents: &impl ReadableTable<&'static KeyBytes, &'static [u8]>,
    key: DocKey,
) -> Result<Option<Document>, Fault> {
    let Some(bytes) = documents.get(&key_bytes(key))? else { return Ok(None) };
    let what = || format!("document {:?} {}", key.kind, key.id);
    let document: Document = decode(bytes.value(), what)?;
    if document.key != key {
        let reason = format!("it calls itself {:?} {}", document.key.kind, document.key.id);
        return Err(Fault::Record(Error::corrupt(what(), reason)));
    }
    Ok(Some(document))
}

/// Reads the documents under `keys`, all of which a list of the same transaction named.
pub(super) fn listed(
    transaction: &ReadTransaction,
    keys: &[DocKey],
) -> Result<Vec<Document>, Fault> {
    let documents = transaction.open_table(DOCUMENTS)?;
    let read = |key: &DocKey| {
        document(&documents, *key)?.ok_or_else(|| {
            let what = format!("document {:?} {}", key.kind, key.id);
            Fault::Record(Error::corrupt(what, "it is listed and not there"))
        })
    };
    keys.iter().map(read).collect()
}

/// Reads a value; `what` names it should that fail.
pub(super) fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    what: impl FnOnce() -> String,
) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map_err(|error| Fault::Record(Error::corrupt(what(), error)))
}

/// The bytes of a value.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>, Fault> {
    serde_json::to_vec(value)
        .map_err(|error| Fault::Record(Error::backend("encode a record", error)))
}

/// `head`, then `tail`. The lengths are those of the key types above, which is what makes the
/// indices right.
fn joined<const N: usize>(kind: Kind, head: &[u8], tail: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes[0] = kind.code();
    bytes[1..=head.len()].copy_from_slice(head);
    bytes[1 + head.len()..].copy_from_slice(tail);
    bytes
}

pub(super) fn key_bytes(key: DocKey) -> KeyBytes {
    joined(key.kind, &[], key.id.as_bytes())
}

/// Reads a key that stands in the table `table`.
pub(super) fn key_of(bytes: &KeyBytes, table: &str) -> Result<DocKey, Fault> {
    let mut id = [0; 16];
    id.copy_from_slice(&bytes[1..]);
    let unknown = || {
        let reason = format!("it names a document of kind {}, which does not exist", bytes[0]);
        Fault::Record(Error::corrupt(format!("the store's table {table}"), reason))
    };
    let kind = Kind::from_code(bytes[0]).ok_or_else(unknown)?;
    Ok(DocKey::new(kind, Id::from_bytes(id)))
}

/// Where a document stands on the timeline. All bits are inverted: the latest comes first.
pub(super) fn time_bytes(key: DocKey, time: EventTime) -> TimeBytes {
    let id = key.id.as_bytes().map(|byte| !byte);
    joined(key.kind, &descending(time.order()), &id)
}

/// The first and last place on the timeline of `kind` between two moments, both inclusive.
pub(super) fn time_bounds(kind: Kind, from: Timestamp, to: Timestamp) -> (TimeBytes, TimeBytes) {
    (joined(kind, &descending(to), &[0; 16]), joined(kind, &descending(from), &[0xff; 16]))
}

fn descending(moment: Timestamp) -> [u8; 8] {
    let ascending = moment.as_millis().cast_unsigned() ^ (1 << 63);
    (!ascending).to_be_bytes()
}

/// The document that stands at this place of the timeline.
pub(super) fn key_at(bytes: &TimeBytes) -> Result<DocKey, Fault> {
    let id = bytes[9..].iter().map(|byte| !byte);
    let mut key = [bytes[0]; 17];
    key[1..].iter_mut().zip(id).for_each(|(place, byte)| *place = byte);
    key_of(&key, "timeline")
}

pub(super) fn print_bytes(kind: Kind, fingerprint: &Fingerprint, id: &[u8; 16]) -> PrintBytes {
    joined(kind, fingerprint.as_bytes(), id)
}

/// The documents that carry `fingerprint`, lowest id first.
pub(super) fn carriers(
    fingerprints: &impl ReadableTable<&'static PrintBytes, ()>,
    kind: Kind,
    fingerprint: &Fingerprint,
) -> Result<Vec<DocKey>, Fault> {
    let first = print_bytes(kind, fingerprint, &[0; 16]);
    let last = print_bytes(kind, fingerprint, &[0xff; 16]);
    let rows = fingerprints.range::<&PrintBytes>(&first..=&last)?;
    rows.map(|row| {
        let mut id = [0; 16];
        id.copy_from_slice(&row?.0.value()[17..]);
        Ok(DocKey::new(kind, Id::from_bytes(id)))
    })
    .collect()
}

/// The number of a facet on disk.
pub(super) fn facet_code(facet: Facet) -> u8 {
    match facet {
        Facet::Scope => 1,
        Facet::Source => 2,
    }
}
