//! Tables of rows: keys are bytes, values JSON of one record type each.

use redb::{ReadTransaction, ReadableTable, TableDefinition, TableError, WriteTransaction};
use serde::{Serialize, de::DeserializeOwned};

use super::{Failure, decode, encode};

/// A table: keys and values are bytes.
pub(in crate::auth) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// A kind of row. Its table is part of the format on disk: fields may be added with a default.
pub(in crate::auth) trait Record:
    Serialize + DeserializeOwned + Send + 'static
{
    /// The name of the table.
    const TABLE: &'static str;
}

/// Rows and their keys.
pub(in crate::auth) type All<R> = Vec<(Vec<u8>, R)>;

/// What can be read in a transaction of either kind.
pub(in crate::auth) trait Rows {
    /// The row with that key, if there is one.
    fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>, Failure>;

    /// Every row of a kind.
    fn all<R: Record>(&self) -> Result<All<R>, Failure>;
}

/// A transaction that reads what was committed when it began.
pub(in crate::auth) struct Reading(pub(super) ReadTransaction);

/// A transaction that changes; it sees its own changes.
pub(in crate::auth) struct Writing(pub(super) WriteTransaction);

impl Rows for Reading {
    fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>, Failure> {
        let table = self.0.open_table(definition::<R>()).map_err(redb::Error::from)?;
        get(&table, key)
    }

    fn all<R: Record>(&self) -> Result<All<R>, Failure> {
        let table = self.0.open_table(definition::<R>()).map_err(redb::Error::from)?;
        all(&table)
    }
}

impl Rows for Writing {
    fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>, Failure> {
        get(&self.open::<R>()?, key)
    }

    fn all<R: Record>(&self) -> Result<All<R>, Failure> {
        all(&self.open::<R>()?)
    }
}

type Open<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

impl Writing {
    pub(super) fn open<R: Record>(&self) -> Result<Open<'_>, Failure> {
        self.0
            .open_table(definition::<R>())
            .map_err(|error: TableError| redb::Error::from(error).into())
    }

    /// Writes a row, new or in place of the old one.
    pub(in crate::auth) fn put<R: Record>(&self, key: &[u8], row: &R) -> Result<(), Failure> {
        let bytes = encode(row, R::TABLE)?;
        self.open::<R>()?.insert(key, bytes.as_slice()).map_err(redb::Error::from)?;
        Ok(())
    }

    /// Removes a row; false if there was none.
    pub(in crate::auth) fn remove<R: Record>(&self, key: &[u8]) -> Result<bool, Failure> {
        Ok(self.open::<R>()?.remove(key).map_err(redb::Error::from)?.is_some())
    }

    /// Removes every row of a kind for which `over` holds, and says how many.
    pub(in crate::auth) fn remove_if<R: Record>(
        &self,
        over: impl Fn(&[u8], &R) -> bool,
    ) -> Result<usize, Failure> {
        let rows = self.all::<R>()?;
        let over: Vec<_> = rows.iter().filter(|(key, row)| over(key, row)).collect();
        for (key, _) in &over {
            self.remove::<R>(key)?;
        }
        Ok(over.len())
    }
}

fn definition<R: Record>() -> Definition {
    TableDefinition::new(R::TABLE)
}

fn get<R: Record>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<R>, Failure> {
    let value = table.get(key).map_err(redb::Error::from)?;
    value.map(|value| decode(value.value(), R::TABLE)).transpose()
}

fn all<R: Record>(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
) -> Result<All<R>, Failure> {
    let mut rows = Vec::new();
    for entry in table.iter().map_err(redb::Error::from)? {
        let (key, value) = entry.map_err(redb::Error::from)?;
        rows.push((key.value().to_owned(), decode(value.value(), R::TABLE)?));
    }
    Ok(rows)
}
