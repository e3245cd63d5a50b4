//! Vectors on disk, as they were embedded. Derived like the index: what cannot be read is made anew.

use std::{fs, io, path::Path};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::{
    Error, Result,
    embed::Model,
    storage::{DocKey, Embedded, Kind, PassageVector, Seq},
    types::Id,
};

/// Kind and identifier of a document; its vectors.
const ROWS: TableDefinition<'_, &[u8; 17], &[u8]> = TableDefinition::new("rows");
/// What the rows are: [`Stamp`] as JSON under the empty key.
const STAMP: TableDefinition<'_, (), &str> = TableDefinition::new("stamp");
/// Version of the rows. Others are made anew.
const VERSION: u32 = 1;
/// How much of the file is kept in memory, in bytes: rows are read a few at a time.
const CACHE: usize = 8 << 20;

/// What the rows are, and how far they reach.
#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Stamp {
    version: u32,
    model: Model,
    cursor: Seq,
}

/// The file of vectors.
#[derive(Debug)]
pub(super) struct Rows {
    database: Database,
    model: Model,
    /// All changes up to this one have their rows here.
    pub(super) cursor: Seq,
}

impl Rows {
    /// Opens the file in `folder` for vectors of `model`. Rows of another model or version, and a file
    /// that cannot be read, give way to an empty one.
    ///
    /// The cursor is at most `limit`.
    pub(super) fn open(folder: &Path, model: &Model, limit: Seq) -> Result<Self> {
        fs::create_dir_all(folder).map_err(failed)?;
        let path = folder.join("rows.redb");
        let opened = Self::try_open(&path, model).unwrap_or_else(|error| {
            tracing::warn!(%error, "the vectors on disk cannot be read and are made anew");
            None
        });
        if let Some(rows) = opened {
            return Ok(Self { cursor: rows.cursor.min(limit), ..rows });
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let rows = Self { database: database(&path)?, model: model.clone(), cursor: Seq::ZERO };
        rows.save(std::iter::empty(), Seq::ZERO)?;
        Ok(rows)
    }

    /// `None` when the rows are of another model or version.
    fn try_open(path: &Path, model: &Model) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let database = database(path)?;
        let read = database.begin_read().map_err(failed)?;
        let table = read.open_table(STAMP).map_err(failed)?;
        let stamp = table.get(()).map_err(failed)?;
        let stamp = stamp.and_then(|text| serde_json::from_str::<Stamp>(text.value()).ok());
        let usable = stamp.filter(|stamp| stamp.version == VERSION && stamp.model == *model);
        Ok(usable.map(|Stamp { model, cursor, .. }| Self { database, model, cursor }))
    }

    pub(super) fn is_of(&self, model: &Model) -> bool {
        self.model == *model
    }

    /// Hands every row to `take`.
    pub(super) fn each(&self, take: &mut dyn FnMut(Embedded)) -> Result<()> {
        let read = self.database.begin_read().map_err(failed)?;
        let table = read.open_table(ROWS).map_err(failed)?;
        for entry in table.iter().map_err(failed)? {
            let (key, row) = entry.map_err(failed)?;
            if let Some(embedded) = key_of(key.value()).and_then(|key| decode(key, row.value())) {
                take(embedded);
            }
        }
        Ok(())
    }

    /// Puts rows in place of those of the same documents. All changes up to `cursor` have theirs then.
    pub(super) fn save<'a>(
        &self,
        rows: impl Iterator<Item = &'a Embedded>,
        cursor: Seq,
    ) -> Result<()> {
        let write = self.database.begin_write().map_err(failed)?;
        {
            let mut table = write.open_table(ROWS).map_err(failed)?;
            for embedded in rows {
                let key = bytes_of(embedded.key);
                if embedded.vectors.is_empty() {
                    table.remove(&key).map_err(failed)?;
                } else {
                    table.insert(&key, encode(embedded).as_slice()).map_err(failed)?;
                }
            }
            let stamp = Stamp { version: VERSION, model: self.model.clone(), cursor };
            let stamp = serde_json::to_string(&stamp).map_err(failed)?;
            write.open_table(STAMP).map_err(failed)?.insert((), stamp.as_str()).map_err(failed)?;
        }
        write.commit().map_err(failed)
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::backend("the vectors on disk", error)
}

fn database(path: &Path) -> Result<Database> {
    Database::builder().set_cache_size(CACHE).create(path).map_err(failed)
}

fn bytes_of(key: DocKey) -> [u8; 17] {
    let mut bytes = [key.kind.code(); 17];
    bytes[1..].copy_from_slice(key.id.as_bytes());
    bytes
}

fn key_of(bytes: &[u8; 17]) -> Option<DocKey> {
    let (kind, id) = bytes.split_first_chunk::<1>()?;
    Some(DocKey::new(Kind::from_code(kind[0])?, Id::from_bytes(id.try_into().ok()?)))
}

/// `seq u64`, then for each vector `start u32, end u32, length u32, numbers f32`; little-endian.
fn encode(embedded: &Embedded) -> Vec<u8> {
    let mut bytes = embedded.seq.0.to_le_bytes().to_vec();
    for PassageVector { passage, vector } in &embedded.vectors {
        for number in [passage.start, passage.end, vector.len()] {
            bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
        }
        bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
    }
    bytes
}

/// `None` when the bytes are no row.
fn decode(key: DocKey, bytes: &[u8]) -> Option<Embedded> {
    let (seq, mut rest) = bytes.split_first_chunk()?;
    let mut vectors = Vec::new();
    while !rest.is_empty() {
        let (start, after) = number(rest)?;
        let (end, after) = number(after)?;
        let (length, after) = number(after)?;
        let (numbers, after) = after.split_at_checked(length.checked_mul(4)?)?;
        let numbers = numbers.as_chunks().0.iter();
        let vector = numbers.map(|number| f32::from_le_bytes(*number)).collect();
        vectors.push(PassageVector { passage: start..end, vector });
        rest = after;
    }
    Some(Embedded { key, seq: Seq(u64::from_le_bytes(*seq)), vectors })
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number) as usize, rest))
}
