//! Tvix's own export: a first line that says so, then one record a line.

use std::io::BufRead;

use super::{Item, Lines};
use crate::{
    Error, Result,
    admin::{EXPORT_VERSION, ExportHead, Record},
};

/// The records of an export.
///
/// # Errors
/// [`Error::InvalidInput`] when `input` does not begin as an export does, [`Error::Conflict`] when a
/// newer version wrote it.
pub fn read<R: BufRead>(input: R) -> Result<impl Iterator<Item = Item> + use<R>> {
    let mut lines = Lines::new(input);
    let first = lines.next().transpose()?.unwrap_or_default();
    let head: ExportHead = serde_json::from_str(&first)
        .map_err(|_| Error::invalid("input", "line 1: this is no export of tvix"))?;
    if head.tvix_export > EXPORT_VERSION {
        return Err(Error::conflict("a newer version of tvix wrote this export: update this one"));
    }
    Ok(std::iter::from_fn(move || {
        let line = lines.find(|line| !line.as_ref().is_ok_and(|text| text.trim().is_empty()))?;
        let at = format!("line {}", lines.number());
        Some(Item { at, record: line.and_then(|text| record(&text)) })
    }))
}

fn record(text: &str) -> Result<Record> {
    serde_json::from_str(text).map_err(|error| Error::invalid("record", error))
}
