//! The bytes that a store keeps. Keys are fixed bytes whose order is the order of the lists; values
//! are JSON, so that a later version can read an earlier one field by field.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Fault;
use crate::{
    Error, Result,
    storage::{DocKey, Document, Facet, Fingerprint, Kind, Seq},
    types::{EventTime, Id, Timestamp},
};

/// What this version writes.
pub(crate) const CURRENT_FORMAT: u64 = 1;

/// Kind, then identifier.
pub(crate) type KeyBytes = [u8; 17];
/// Kind, then time and identifier in descending order.
pub(crate) type TimeBytes = [u8; 25];
/// Kind, fingerprint, identifier.
pub(crate) type PrintBytes = [u8; 33];

/// What filters need to know of a document.
#[derive(Serialize, Deserialize)]
pub(crate) struct Moment {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
    pub(crate) source: String,
    pub(crate) time: EventTime,
}

/// A scope's or source's name and numbers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) last_change: Seq,
}

/// A remembered call.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answered {
    pub(crate) at: Timestamp,
    pub(crate) receipt: String,
    /// Its place among the calls.
    pub(crate) call: u64,
}

/// Refuses a store of another format.
pub(crate) fn check_format<F>(format: u64) -> Result<(), Fault<F>> {
    if format == CURRENT_FORMAT {
        return Ok(());
    }
    Err(Fault::Record(Error::conflict(format_args!(
        "the store has format {format} and this version reads {CURRENT_FORMAT}: use the version that wrote it"
    ))))
}

/// Reads the document that stands under `key`.
pub(crate) fn document<F>(bytes: &[u8], key: DocKey) -> Result<Document, Fault<F>> {
    let what = || format!("document {:?} {}", key.kind, key.id);
    let document: Document = decode(bytes, what)?;
    if document.key != key {
        let reason = format!("it calls itself {:?} {}", document.key.kind, document.key.id);
        return Err(Fault::Record(Error::corrupt(what(), reason)));
    }
    Ok(document)
}

/// Reads a value; `what` names it should that fail.
pub(crate) fn decode<T: DeserializeOwned, F>(
    bytes: &[u8],
    what: impl FnOnce() -> String,
) -> Result<T, Fault<F>> {
    serde_json::from_slice(bytes).map_err(|error| Fault::Record(Error::corrupt(what(), error)))
}

/// The bytes of a value.
pub(crate) fn encode<F>(value: &impl Serialize) -> Result<Vec<u8>, Fault<F>> {
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

pub(crate) fn key_bytes(key: DocKey) -> KeyBytes {
    joined(key.kind, &[], key.id.as_bytes())
}

/// Reads a key that stands in the table `table`.
pub(crate) fn key_of<F>(bytes: &KeyBytes, table: &str) -> Result<DocKey, Fault<F>> {
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
pub(crate) fn time_bytes(key: DocKey, time: EventTime) -> TimeBytes {
    let id = key.id.as_bytes().map(|byte| !byte);
    joined(key.kind, &descending(time.order()), &id)
}

/// The first and last place on the timeline of `kind` between two moments, both inclusive.
pub(crate) fn time_bounds(kind: Kind, from: Timestamp, to: Timestamp) -> (TimeBytes, TimeBytes) {
    (joined(kind, &descending(to), &[0; 16]), joined(kind, &descending(from), &[0xff; 16]))
}

fn descending(moment: Timestamp) -> [u8; 8] {
    let ascending = moment.as_millis().cast_unsigned() ^ (1 << 63);
    (!ascending).to_be_bytes()
}

/// The document that stands at this place of the timeline.
pub(crate) fn key_at<F>(bytes: &TimeBytes) -> Result<DocKey, Fault<F>> {
    let id = bytes[9..].iter().map(|byte| !byte);
    let mut key = [bytes[0]; 17];
    key[1..].iter_mut().zip(id).for_each(|(place, byte)| *place = byte);
    key_of(&key, "timeline")
}

pub(crate) fn print_bytes(kind: Kind, fingerprint: &Fingerprint, id: &[u8; 16]) -> PrintBytes {
    joined(kind, fingerprint.as_bytes(), id)
}

/// The first and last place of the carriers of `fingerprint`, both inclusive.
pub(crate) fn print_bounds(kind: Kind, fingerprint: &Fingerprint) -> (PrintBytes, PrintBytes) {
    (print_bytes(kind, fingerprint, &[0; 16]), print_bytes(kind, fingerprint, &[0xff; 16]))
}

/// The document at this place among the carriers of a fingerprint.
pub(crate) fn key_of_print<F>(bytes: &PrintBytes) -> Result<DocKey, Fault<F>> {
    let mut key = [bytes[0]; 17];
    key[1..].copy_from_slice(&bytes[17..]);
    key_of(&key, "fingerprints")
}

/// The number of a facet on disk.
pub(crate) fn facet_code(facet: Facet) -> u8 {
    match facet {
        Facet::Scope => 1,
        Facet::Source => 2,
    }
}
