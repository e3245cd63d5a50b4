//! What lies where: the tables, one tree each, and how a store reads and changes them.

use serde::{Serialize, de::DeserializeOwned};
use sled::{IVec, Tree};

use super::rows::{Changed, Rows};
use crate::{
    Error, Result,
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
pub(super) type Fault = AnyFault<sled::Error>;

/// The tables. The numbers are part of keys on disk and never change.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum Table {
    /// The documents.
    Documents = 0,
    /// [`Moment`] of each live document.
    Timeline = 1,
    /// The change log: what changed, by number.
    Changes = 2,
    /// The last change of each deleted key.
    Deleted = 3,
    /// The live documents by fingerprint.
    Fingerprints = 4,
    /// Key and [`Tally`] of each scope and source. The key may be long, and long keys would fill the
    /// nodes of the tree: what stands under kind and facet is its hash.
    Facets = 5,
    /// [`Answered`] calls.
    Receipts = 6,
    /// The calls in the order in which they came.
    Calls = 7,
    /// Numbers by name.
    Numbers = 8,
    /// The pieces of long values of all tables.
    Parts = 9,
}

/// The names of the trees, in the order of [`Table`].
const NAMES: [&str; 10] = [
    "documents",
    "timeline",
    "changes",
    "deleted",
    "fingerprints",
    "facets",
    "receipts",
    "calls",
    "numbers",
    "parts",
];

const FORMAT: &str = "format";
const LAST_SEQ: &str = "last_seq";
const CALLS: &str = "calls";

/// Opens all tables, making those that are not there yet.
pub(super) fn open(database: &sled::Db) -> Result<Vec<Tree>, Fault> {
    NAMES.iter().map(|name| Ok(database.open_tree(name)?)).collect()
}

/// The format in which the store was written.
pub(super) fn format(trees: &[Tree]) -> Result<Option<u64>, Fault> {
    trees.value(Table::Numbers, FORMAT.as_bytes())?.map(|bytes| number(&bytes, FORMAT)).transpose()
}

pub(super) fn check_format(format: u64) -> Result<(), Fault> {
    keys::check_format(format)
}

/// What a new store holds.
pub(super) fn stamp(trees: &[Tree]) -> Result<Vec<sled::Batch>, Fault> {
    let mut pending = Pending::new(trees);
    pending.set_number(FORMAT, keys::CURRENT_FORMAT)?;
    Ok(pending.into_batches())
}

fn number(bytes: &[u8], name: &str) -> Result<u64, Fault> {
    let wrong =
        |_| Fault::Record(Error::corrupt(format!("the number {name}"), "it has a wrong length"));
    bytes.try_into().map(u64::from_be_bytes).map_err(wrong)
}

/// A key of fixed length.
fn fixed<const N: usize>(bytes: &[u8], table: Table) -> Result<[u8; N], Fault> {
    let name = || format!("the store's table {}", NAMES[table as usize]);
    let wrong = |_| Fault::Record(Error::corrupt(name(), "a key has a wrong length"));
    bytes.try_into().map_err(wrong)
}

fn facet_bytes(kind: Kind, facet: Facet, key: &str) -> Vec<u8> {
    let hash = Fingerprint::of(&[key]);
    [&[kind.code(), keys::facet_code(facet)], &hash.as_bytes()[..]].concat()
}

fn read<T: DeserializeOwned>(
    rows: &(impl Rows + ?Sized),
    (table, key): (Table, &[u8]),
    what: impl FnOnce() -> String,
) -> Result<Option<T>, Fault> {
    rows.value(table, key)?.map(|bytes| keys::decode(&bytes, what)).transpose()
}

fn document(rows: &(impl Rows + ?Sized), key: DocKey) -> Result<Option<Document>, Fault> {
    let found = rows.value(Table::Documents, &keys::key_bytes(key))?;
    found.map(|bytes| keys::document(&bytes, key)).transpose()
}

fn answered(rows: &(impl Rows + ?Sized), request: RequestId) -> Result<Option<Answered>, Fault> {
    let what = || format!("the receipt of {}", request.0);
    read(rows, (Table::Receipts, request.0.as_bytes()), what)
}

fn key_of_print(bytes: &IVec) -> Result<DocKey, Fault> {
    let bytes: PrintBytes = fixed(bytes, Table::Fingerprints)?;
    keys::key_of_print(&bytes)
}

/// The committed rows. Whoever holds it keeps the writer from changing them.
pub(super) struct Snapshot<'t>(pub(super) &'t [Tree]);

impl Snapshot<'_> {
    fn tree(&self, table: Table) -> &Tree {
        &self.0[table as usize]
    }
}

impl Look for Snapshot<'_> {
    type Failure = sled::Error;

    fn document(&self, key: DocKey) -> Result<Option<Document>, Fault> {
        document(self.0, key)
    }

    fn carriers(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>, Fault> {
        let (first, last) = keys::print_bounds(kind, fingerprint);
        let found = self.tree(Table::Fingerprints).range(&first[..]..=&last[..]).keys();
        found.map(|key| key_of_print(&key?)).collect()
    }

    fn answered(&self, request: RequestId) -> Result<Option<Answered>, Fault> {
        answered(self.0, request)
    }
}

impl rows::Snapshot for Snapshot<'_> {
    fn walk(
        &self,
        kind: Kind,
        (earliest, latest): (Timestamp, Timestamp),
        visit: Visit<'_, sled::Error>,
    ) -> Result<(), Fault> {
        let (first, last) = keys::time_bounds(kind, earliest, latest);
        for place in self.tree(Table::Timeline).range(&first[..]..=&last[..]).keys() {
            let place: TimeBytes = fixed(&place?, Table::Timeline)?;
            let moment = self.0.value(Table::Timeline, &place)?.unwrap_or_default();
            if !visit(&place, &moment)? {
                break;
            }
        }
        Ok(())
    }

    fn tallies(&self, kind: Kind, facet: Facet) -> Result<Vec<(String, Tally)>, Fault> {
        let prefix = [kind.code(), keys::facet_code(facet)];
        let found = self.tree(Table::Facets).scan_prefix(prefix).keys();
        let read = |key: sled::Result<IVec>| {
            read(self.0, (Table::Facets, &key?), || "the count of a scope or source".to_owned())
        };
        found.filter_map(|key| read(key).transpose()).collect()
    }

    fn log(&self, after: Seq, limit: usize) -> Result<Vec<(Seq, DocKey)>, Fault> {
        let Some(first) = after.0.checked_add(1) else { return Ok(Vec::new()) };
        let rows = self.tree(Table::Changes).range(&first.to_be_bytes()[..]..).keys().take(limit);
        rows.map(|seq| {
            let seq: [u8; 8] = fixed(&seq?, Table::Changes)?;
            let key = self.0.value(Table::Changes, &seq)?.unwrap_or_default();
            let key: KeyBytes = fixed(&key, Table::Changes)?;
            Ok((Seq(u64::from_be_bytes(seq)), keys::key_of(&key, "changes")?))
        })
        .collect()
    }
}

/// The rows of a transaction that is not committed yet.
pub(super) struct Pending<'t>(Changed<'t>);

impl<'t> Pending<'t> {
    pub(super) fn new(trees: &'t [Tree]) -> Self {
        Self(Changed::new(trees))
    }

    pub(super) fn into_batches(self) -> Vec<sled::Batch> {
        self.0.into_batches()
    }

    fn set(
        &mut self,
        table: Table,
        key: &[u8],
        value: Option<&impl Serialize>,
    ) -> Result<(), Fault> {
        let bytes = value.map(keys::encode).transpose()?;
        self.0.set(table, key, bytes.as_deref())
    }

    fn number(&self, name: &str) -> Result<u64, Fault> {
        let found = self.0.value(Table::Numbers, name.as_bytes())?;
        found.map_or(Ok(0), |bytes| number(&bytes, name))
    }

    fn set_number(&mut self, name: &str, value: u64) -> Result<(), Fault> {
        self.0.set(Table::Numbers, name.as_bytes(), Some(&value.to_be_bytes()))
    }
}

/// The name of the number of live documents of `kind`.
fn live_name(kind: Kind) -> String {
    format!("live.{}", kind.code())
}

impl Look for Pending<'_> {
    type Failure = sled::Error;

    fn document(&self, key: DocKey) -> Result<Option<Document>, Fault> {
        document(&self.0, key)
    }

    fn carriers(&self, kind: Kind, fingerprint: &Fingerprint) -> Result<Vec<DocKey>, Fault> {
        let (first, last) = keys::print_bounds(kind, fingerprint);
        self.0.keys(Table::Fingerprints, &first, &last)?.iter().map(key_of_print).collect()
    }

    fn answered(&self, request: RequestId) -> Result<Option<Answered>, Fault> {
        answered(&self.0, request)
    }
}

impl rows::Tables for Pending<'_> {
    fn put_document(&mut self, document: &Document) -> Result<(), Fault> {
        self.set(Table::Documents, &keys::key_bytes(document.key), Some(document))
    }

    fn remove_document(&mut self, key: DocKey) -> Result<(), Fault> {
        self.0.set(Table::Documents, &keys::key_bytes(key), None)
    }

    fn set_place(
        &mut self,
        key: DocKey,
        time: EventTime,
        moment: Option<&Moment>,
    ) -> Result<(), Fault> {
        self.set(Table::Timeline, &keys::time_bytes(key, time), moment)
    }

    fn set_carrier(
        &mut self,
        fingerprint: &Fingerprint,
        key: DocKey,
        listed: bool,
    ) -> Result<(), Fault> {
        let place = keys::print_bytes(key.kind, fingerprint, key.id.as_bytes());
        self.0.set(Table::Fingerprints, &place, listed.then_some(&[]))
    }

    fn set_change(&mut self, seq: Seq, key: Option<DocKey>) -> Result<(), Fault> {
        let key = key.map(keys::key_bytes);
        self.0.set(Table::Changes, &seq.0.to_be_bytes(), key.as_ref().map(|key| &key[..]))
    }

    fn set_deletion(&mut self, key: DocKey, seq: Option<Seq>) -> Result<Option<Seq>, Fault> {
        let key = keys::key_bytes(key);
        let old = self.0.value(Table::Deleted, &key)?;
        let seq = seq.map(|seq| seq.0.to_be_bytes());
        self.0.set(Table::Deleted, &key, seq.as_ref().map(|seq| &seq[..]))?;
        old.map(|bytes| number(&bytes, "of a deletion").map(Seq)).transpose()
    }

    fn tally(&self, kind: Kind, facet: Facet, key: &str) -> Result<Option<Tally>, Fault> {
        let place = facet_bytes(kind, facet, key);
        let what = || format!("the count of {key}");
        let found: Option<(String, Tally)> = read(&self.0, (Table::Facets, &place), what)?;
        Ok(found.map(|(_, tally)| tally))
    }

    fn set_tally(
        &mut self,
        kind: Kind,
        (facet, key): (Facet, &str),
        tally: Option<&Tally>,
    ) -> Result<(), Fault> {
        let row = tally.map(|tally| (key, tally));
        self.set(Table::Facets, &facet_bytes(kind, facet, key), row.as_ref())
    }

    fn set_answered(
        &mut self,
        request: RequestId,
        answered: Option<&Answered>,
    ) -> Result<(), Fault> {
        self.set(Table::Receipts, request.0.as_bytes(), answered)
    }

    fn calls(&self) -> Result<u64, Fault> {
        self.number(CALLS)
    }

    fn oldest_call(&self) -> Result<Option<(u64, RequestId)>, Fault> {
        let Some(key) = self.0.first_key(Table::Calls)? else { return Ok(None) };
        let id = self.0.value(Table::Calls, &key)?.unwrap_or_default();
        let id = Id::from_bytes(fixed(&id, Table::Calls)?);
        Ok(Some((number(&key, "of a call")?, RequestId(id))))
    }

    fn newest_call(&self) -> Result<Option<u64>, Fault> {
        self.0.last_key(Table::Calls)?.map(|key| number(&key, "of a call")).transpose()
    }

    fn set_call(&mut self, call: u64, request: Option<RequestId>) -> Result<(), Fault> {
        let key = call.to_be_bytes();
        let was = u64::from(self.0.row(Table::Calls, &key)?.is_some());
        let is = u64::from(request.is_some());
        self.set_number(CALLS, (self.calls()? + is).saturating_sub(was))?;
        let id = request.as_ref().map(|request| &request.0.as_bytes()[..]);
        self.0.set(Table::Calls, &key, id)
    }

    fn live(&self, kind: Kind) -> Result<u64, Fault> {
        self.number(&live_name(kind))
    }

    fn set_live(&mut self, kind: Kind, count: u64) -> Result<(), Fault> {
        self.set_number(&live_name(kind), count)
    }

    fn last_seq(&self) -> Result<Seq, Fault> {
        self.number(LAST_SEQ).map(Seq)
    }

    fn set_last_seq(&mut self, seq: Seq) -> Result<(), Fault> {
        self.set_number(LAST_SEQ, seq.0)
    }
}
