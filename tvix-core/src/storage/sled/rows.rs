//! Rows in sled's trees, and the changes of one transaction on their way there.
//!
//! sled's transactions can neither walk a tree nor tell its first key. There is one writer, though:
//! it collects its changes in memory, reads through them, and hands them over at the end.

use std::collections::BTreeMap;

use sled::{IVec, Tree};

use super::tables::{Fault, Table};
use crate::Result;

/// The longest value that is kept in one piece, in bytes. sled writes up to some 16 rows at once,
/// and what is longer than 128 KiB together goes to a file of its own that is never synced.
const PART: usize = 4 << 10;
/// The first byte of a value that follows in one piece.
const WHOLE: u8 = 0;
/// The first byte of a value that lies in [`Table::Parts`]; their number follows.
const SPLIT: u8 = 1;

/// Where single rows can be read.
pub(super) trait Rows {
    /// The row as sled has it.
    fn row(&self, table: Table, key: &[u8]) -> Result<Option<IVec>, Fault>;

    /// The value under `key`, put together if it was split.
    fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let Some(row) = self.row(table, key)? else { return Ok(None) };
        let Some(parts) = parts_of(&row) else {
            return Ok(Some(row.get(1..).unwrap_or_default().to_vec()));
        };
        let mut value = Vec::with_capacity(parts as usize * PART);
        for part in 0..parts {
            // What is missing here makes the value unreadable, and that is reported with its name.
            let row = self.row(Table::Parts, &part_key(table, key, part))?;
            value.extend_from_slice(row.as_deref().unwrap_or_default());
        }
        Ok(Some(value))
    }
}

/// The number of pieces of a split value.
fn parts_of(row: &[u8]) -> Option<u32> {
    let count = row.strip_prefix(&[SPLIT])?;
    Some(count.try_into().map_or(0, u32::from_be_bytes))
}

/// The key of a change that does not remove it.
fn present((key, row): (&Vec<u8>, &Option<Vec<u8>>)) -> Option<IVec> {
    row.as_ref().map(|_| IVec::from(key.as_slice()))
}

fn part_key(table: Table, key: &[u8], part: u32) -> Vec<u8> {
    [&[table as u8], key, &part.to_be_bytes()].concat()
}

impl Rows for [Tree] {
    fn row(&self, table: Table, key: &[u8]) -> Result<Option<IVec>, Fault> {
        Ok(self[table as usize].get(key)?)
    }
}

/// The rows of one transaction.
pub(super) struct Changed<'t> {
    trees: &'t [Tree],
    /// By table; `None` is a removed row.
    changes: Vec<BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
}

impl Rows for Changed<'_> {
    fn row(&self, table: Table, key: &[u8]) -> Result<Option<IVec>, Fault> {
        match self.changes[table as usize].get(key) {
            Some(row) => Ok(row.as_deref().map(IVec::from)),
            None => self.trees.row(table, key),
        }
    }
}

impl<'t> Changed<'t> {
    pub(super) fn new(trees: &'t [Tree]) -> Self {
        Self { trees, changes: vec![BTreeMap::new(); trees.len()] }
    }

    /// Puts `value` in place of what stands under `key`, or removes that.
    pub(super) fn set(
        &mut self,
        table: Table,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Fault> {
        let old = self.row(table, key)?.and_then(|row| parts_of(&row)).unwrap_or(0);
        let split = value.filter(|value| value.len() > PART);
        let parts: Vec<&[u8]> = split.map(|value| value.chunks(PART).collect()).unwrap_or_default();
        for part in 0..old.max(parts.len() as u32) {
            let bytes = parts.get(part as usize).map(|bytes| bytes.to_vec());
            self.changes[Table::Parts as usize].insert(part_key(table, key, part), bytes);
        }
        let row = value.map(|value| match split {
            Some(_) => [&[SPLIT][..], &(parts.len() as u32).to_be_bytes()].concat(),
            None => [&[WHOLE], value].concat(),
        });
        self.changes[table as usize].insert(key.to_vec(), row);
        Ok(())
    }

    /// The keys between `first` and `last`, both inclusive, in order.
    pub(super) fn keys(&self, table: Table, first: &[u8], last: &[u8]) -> Result<Vec<IVec>, Fault> {
        let stored = self.trees[table as usize].range(first..=last).keys();
        let stored = stored.filter(|key| !self.is_changed(table, key));
        let mut keys = stored.collect::<Result<Vec<_>, _>>()?;
        let changes = self.changes[table as usize].range(first.to_vec()..=last.to_vec());
        keys.extend(changes.filter_map(present));
        keys.sort();
        Ok(keys)
    }

    pub(super) fn first_key(&self, table: Table) -> Result<Option<IVec>, Fault> {
        let stored = self.unchanged(table, self.trees[table as usize].iter().keys())?;
        let new = self.changes[table as usize].iter().find_map(present);
        Ok(stored.into_iter().chain(new).min())
    }

    pub(super) fn last_key(&self, table: Table) -> Result<Option<IVec>, Fault> {
        let stored = self.unchanged(table, self.trees[table as usize].iter().keys().rev())?;
        let new = self.changes[table as usize].iter().rev().find_map(present);
        Ok(stored.into_iter().chain(new).max())
    }

    fn unchanged(
        &self,
        table: Table,
        mut keys: impl Iterator<Item = sled::Result<IVec>>,
    ) -> Result<Option<IVec>, Fault> {
        Ok(keys.find(|key| !self.is_changed(table, key)).transpose()?)
    }

    fn is_changed(&self, table: Table, key: &sled::Result<IVec>) -> bool {
        key.as_ref().is_ok_and(|key| self.changes[table as usize].contains_key(&**key))
    }

    /// What to apply to each tree.
    pub(super) fn into_batches(self) -> Vec<sled::Batch> {
        let batch = |changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>| {
            let mut batch = sled::Batch::default();
            for (key, row) in changes {
                match row {
                    Some(row) => batch.insert(key, row),
                    None => batch.remove(key),
                }
            }
            batch
        };
        self.changes.into_iter().map(batch).collect()
    }
}
