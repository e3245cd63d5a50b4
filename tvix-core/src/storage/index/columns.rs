//! What the passages of a segment say of themselves.

use std::ops::Range;

use jiff::civil::Date;
use tantivy::{
    SegmentReader,
    columnar::{BytesColumn, Column},
    fieldnorm::FieldNormReader,
};

use super::{documents::Lengths, entry::Meta, schema::Fields, table};
use crate::{
    search::analyze::Field,
    storage::{DocKey, Kind, Seq},
    types::{EventTime, Id, Timestamp},
};

/// The columns of one segment.
pub(super) struct Columns {
    kind: Column<u64>,
    id_high: Column<u64>,
    id_low: Column<u64>,
    seq: Column<u64>,
    /// `None` when no passage of the segment has a scope.
    scope: Option<BytesColumn>,
    source: Option<BytesColumn>,
    moment: Column<i64>,
    day: Column<i64>,
    number: Column<u64>,
    start: Column<u64>,
    end: Column<u64>,
    /// How many terms the fields have, by [`table`].
    lengths: Vec<FieldNormReader>,
}

impl Columns {
    pub(super) fn open(segment: &SegmentReader, fields: Fields) -> tantivy::Result<Self> {
        let fast = segment.fast_fields();
        let lengths = fields.all_terms().into_iter();
        let lengths = lengths.map(|field| segment.get_fieldnorms_reader(field));
        Ok(Self {
            kind: fast.u64("kind")?,
            id_high: fast.u64("id_high")?,
            id_low: fast.u64("id_low")?,
            seq: fast.u64("seq")?,
            scope: fast.bytes("scope")?,
            source: fast.bytes("source")?,
            moment: fast.i64("moment")?,
            day: fast.i64("day")?,
            number: fast.u64("number")?,
            start: fast.u64("start")?,
            end: fast.u64("end")?,
            lengths: lengths.collect::<tantivy::Result<_>>()?,
        })
    }

    pub(super) fn key(&self, doc: u32) -> Option<DocKey> {
        let kind = Kind::from_code(u8::try_from(self.kind.first(doc)?).ok()?)?;
        let (high, low) = (self.id_high.first(doc)?, self.id_low.first(doc)?);
        let id = (u128::from(high) << 64) | u128::from(low);
        Some(DocKey { kind, id: Id::from_bytes(id.to_be_bytes()) })
    }

    pub(super) fn seq(&self, doc: u32) -> Option<Seq> {
        self.seq.first(doc).map(Seq)
    }

    /// Which of its document's passages it is.
    pub(super) fn number(&self, doc: u32) -> u32 {
        self.number.first(doc).and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX)
    }

    /// The bytes of the text that the passage is.
    pub(super) fn range(&self, doc: u32) -> Range<usize> {
        let byte = |column: &Column<u64>| column.first(doc).unwrap_or(0) as usize;
        byte(&self.start)..byte(&self.end)
    }

    /// How many terms the fields of a passage of `kind` have.
    pub(super) fn lengths(&self, kind: Kind, doc: u32) -> Lengths {
        Field::ALL.map(|field| self.lengths[table(kind, field)].fieldnorm(doc))
    }

    /// The document of a passage, still without passages.
    pub(super) fn meta(&self, key: DocKey, doc: u32) -> Option<Meta> {
        Some(Meta {
            key,
            seq: self.seq(doc)?,
            scope: text(self.scope.as_ref(), doc),
            source: text(self.source.as_ref(), doc).unwrap_or_default(),
            time: self.time(doc)?,
            passages: Vec::new(),
        })
    }

    fn time(&self, doc: u32) -> Option<EventTime> {
        match self.moment.first(doc) {
            Some(moment) => Some(EventTime::At(Timestamp::from_millis(moment))),
            None => day_of(self.day.first(doc)?).map(EventTime::On),
        }
    }
}

/// Years begin here, so that codes are positive.
const FIRST_YEAR: i64 = -10_000;

/// A day as a number whose digits are year, month and day.
pub(super) fn day_code(day: Date) -> i64 {
    let year = i64::from(day.year()) - FIRST_YEAR;
    (year * 100 + i64::from(day.month())) * 100 + i64::from(day.day())
}

fn day_of(code: i64) -> Option<Date> {
    let year = i16::try_from(code / 10_000 + FIRST_YEAR).ok()?;
    let (month, day) = (code / 100 % 100, code % 100);
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn text(column: Option<&BytesColumn>, doc: u32) -> Option<String> {
    let (column, mut bytes) = (column?, Vec::new());
    let place = column.term_ords(doc).next()?;
    let found = column.ord_to_bytes(place, &mut bytes).unwrap_or(false);
    String::from_utf8(bytes).ok().filter(|_| found)
}
