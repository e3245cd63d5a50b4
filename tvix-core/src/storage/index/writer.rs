//! The folder of the local index: opening, committing, wiping.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use tantivy::{
    Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyError,
    directory::MmapDirectory, store::Compressor, tokenizer::TokenizerManager,
};

use super::{
    documents::Documents,
    schema::{Fields, TOKENIZER, Terms, schema},
    text::{Committed, failed},
    view::{Pending, View},
};
use crate::{Error, Result, storage::Seq};

/// Version of what analysis puts into the index. An index of another version is built anew.
const VERSION: u32 = 2;
/// Memory in which a commit is prepared, in bytes.
const WRITER_MEMORY: usize = 30 << 20;

/// The index on disk. One at a time may write to a folder.
pub(super) struct Engine {
    folder: PathBuf,
    fields: Fields,
    index: Index,
    reader: IndexReader,
    /// Made at the first commit: that costs a lock file, threads and memory, and many a process only
    /// reads.
    writer: Option<IndexWriter>,
}

/// What a commit leaves, and how far it reaches.
pub(super) struct Commit {
    pub(super) committed: Arc<Committed>,
    pub(super) cursor: Seq,
}

/// An index that was opened, and what is in it.
pub(super) type Opened = (Engine, Documents, Commit);

impl Engine {
    /// Opens the index in `folder`, which is made if it is missing. One that cannot be opened or is
    /// of another version is wiped: it comes back from the change log.
    pub(super) fn open(folder: &Path) -> Result<Opened> {
        let opened = guarded(|| Self::try_open(folder));
        opened.or_else(|error| {
            tracing::warn!(folder = %folder.display(), %error, "text index is built anew");
            wipe(folder)?;
            Self::try_open(folder)
        })
    }

    fn try_open(folder: &Path) -> Result<Opened> {
        fs::create_dir_all(folder).map_err(|error| Error::backend("text index", error))?;
        let (schema, fields) = schema();
        let tokenizers = TokenizerManager::default();
        tokenizers.register(TOKENIZER, Terms);
        // Nothing is stored, so there is nothing to compress.
        let settings =
            IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
        let builder = Index::builder().schema(schema).settings(settings).tokenizers(tokenizers);
        let directory = MmapDirectory::open(folder).map_err(TantivyError::from).map_err(failed)?;
        let index = builder.open_or_create(directory).map_err(failed)?;
        let cursor = cursor(&index)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader = reader.doc_store_cache_num_blocks(1).try_into().map_err(failed)?;
        let searcher = reader.searcher();
        let documents = Committed::load(&searcher, fields)?;
        let committed = Arc::new(Committed::new(searcher, fields, &documents, None)?);
        let engine = Self { folder: folder.to_owned(), fields, index, reader, writer: None };
        Ok((engine, documents, Commit { committed, cursor }))
    }

    /// Replaces or removes the documents under the given keys and commits with `cursor`. After an
    /// error nothing of it is on disk, and the same call may succeed later.
    pub(super) fn commit(&mut self, changes: &[Pending], cursor: Seq) -> Result<()> {
        let committed = self.try_commit(changes, cursor);
        if committed.is_err() {
            // Drops what was added but not committed.
            self.writer = None;
        }
        committed
    }

    fn try_commit(&mut self, changes: &[Pending], cursor: Seq) -> Result<()> {
        let fields = self.fields;
        let writer = self.writer()?;
        for (key, entry) in changes {
            writer.delete_term(fields.key_term(*key));
            for passage in entry.iter().flat_map(|entry| fields.passages(entry)) {
                writer.add_document(passage).map_err(failed)?;
            }
        }
        let mut prepared = writer.prepare_commit().map_err(failed)?;
        prepared.set_payload(&payload(cursor));
        prepared.commit().map_err(failed)?;
        self.reader.reload().map_err(failed)
    }

    /// What the last commit left, up to `cursor`, with the numbers of `view`'s documents.
    pub(super) fn committed(&self, view: &View, cursor: Seq) -> Result<Commit> {
        let searcher = self.reader.searcher();
        let committed = Committed::new(searcher, self.fields, &view.documents, view.committed())?;
        Ok(Commit { committed: Arc::new(committed), cursor })
    }

    fn writer(&mut self) -> Result<&mut IndexWriter> {
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.index.writer_with_num_threads(1, WRITER_MEMORY).map_err(failed)?,
        };
        Ok(self.writer.insert(writer))
    }

    /// The files that do not hold what was written into them.
    pub(super) fn damage(&self) -> Result<Vec<String>> {
        let damaged = guarded(|| self.index.validate_checksum().map_err(failed))?;
        let mut names: Vec<String> =
            damaged.into_iter().map(|file| file.display().to_string()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Starts again with an empty folder.
    pub(super) fn reset(&mut self) -> Result<View> {
        self.writer = None;
        wipe(&self.folder)?;
        let (engine, documents, commit) = Self::try_open(&self.folder)?;
        *self = engine;
        Ok(View::of(documents, commit))
    }
}

/// Runs `open`, and takes a panic over files that are not what the engine wrote for an error.
fn guarded<T>(open: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(open))
        .unwrap_or_else(|_| Err(Error::corrupt("text index", "the engine gave up reading it")))
}

pub(super) fn wipe(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::backend("removing an index", error))
        }
        _ => Ok(()),
    }
}

fn payload(cursor: Seq) -> String {
    format!("{VERSION} {cursor}")
}

/// The cursor of the last commit; zero when there was none.
fn cursor(index: &Index) -> Result<Seq> {
    let meta = index.load_metas().map_err(failed)?;
    let Some(payload) = meta.payload else {
        return if meta.segments.is_empty() { Ok(Seq::ZERO) } else { Err(other_version("none")) };
    };
    let cursor = payload.strip_prefix(&format!("{VERSION} ")).and_then(|rest| rest.parse().ok());
    cursor.map(Seq).ok_or_else(|| other_version(&payload))
}

fn other_version(payload: &str) -> Error {
    Error::corrupt("text index", format_args!("version {VERSION} expected, found {payload:?}"))
}
