//! The file of a backup: JSON lines.
//!
//! First `{"tvix_backup":1,"format":1,"at":…}`, then the user's own files, then one line a change, and
//! last `{"end":{"documents":n,"sha256":…}}` over all lines before it: a file that was cut off or
//! changed is noticed before anything is done with it.

use std::{
    fmt::Write as _,
    io::{BufRead, Write},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{BackupFile, Entry, backup::OWN_FILES};
use crate::{Error, Result, import::Lines, types::Timestamp};

/// The version of the container.
const VERSION: u32 = 1;
/// The format of the documents inside: that of the data folder.
const FORMAT: u32 = 1;
/// What a backup is called in errors.
const WHAT: &str = "the backup";

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHead {
    /// The version of the container.
    pub tvix_backup: u32,
    /// The format of the documents inside.
    pub format: u32,
    /// When it was made.
    pub at: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct Tail {
    end: End,
}

#[derive(Serialize, Deserialize)]
struct End {
    /// Lines with a document.
    documents: u64,
    sha256: String,
}

/// Counts and hashes what stands in a file.
#[derive(Debug, Default)]
struct Sum {
    documents: u64,
    hash: Sha256,
}

impl Sum {
    fn end(self) -> End {
        let mut sha256 = String::new();
        for byte in self.hash.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(sha256, "{byte:02x}");
        }
        End { documents: self.documents, sha256 }
    }
}

/// Writes a backup, line by line.
#[derive(Debug)]
pub struct BackupWriter<W> {
    output: W,
    sum: Sum,
}

impl<W: Write> BackupWriter<W> {
    /// Begins a backup made `at`, with the user's own `files`.
    ///
    /// # Errors
    /// [`Error::Backend`] when `output` cannot be written.
    pub fn start(output: W, at: Timestamp, files: &[BackupFile]) -> Result<Self> {
        let mut writer = Self { output, sum: Sum::default() };
        writer.line(&BackupHead { tvix_backup: VERSION, format: FORMAT, at })?;
        files.iter().try_for_each(|file| writer.line(file))?;
        Ok(writer)
    }

    /// Appends a change.
    ///
    /// # Errors
    /// [`Error::Backend`] when the output cannot be written.
    pub fn entry(&mut self, entry: &Entry) -> Result<()> {
        self.sum.documents += u64::from(matches!(entry, Entry::Document(_)));
        self.line(entry)
    }

    /// Ends the backup and gives the output back, flushed; syncing it is the caller's.
    ///
    /// # Errors
    /// [`Error::Backend`] when the output cannot be written.
    pub fn finish(mut self) -> Result<W> {
        let end = std::mem::take(&mut self.sum).end();
        self.line(&Tail { end })?;
        self.output.flush().map_err(unwritten)?;
        Ok(self.output)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(unwritten)?;
        line.push(b'\n');
        self.sum.hash.update(&line);
        self.output.write_all(&line).map_err(unwritten)
    }
}

fn unwritten(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::backend("writing the backup", error)
}

/// What stands on a line between the first and the last.
#[derive(Debug, Clone, PartialEq)]
pub enum BackupLine {
    /// A file of the user's own.
    File(BackupFile),
    /// A change of the store.
    Entry(Entry),
}

/// Reads a backup, line by line. It is whole when reading ends without an error.
#[derive(Debug)]
pub struct BackupReader<R> {
    lines: Lines<R>,
    sum: Sum,
    head: BackupHead,
    ended: bool,
}

impl<R: BufRead> BackupReader<R> {
    /// Reads the first line of `input`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it does not begin as a backup does, [`Error::Conflict`] when a newer
    /// version wrote it.
    pub fn start(input: R) -> Result<Self> {
        let mut lines = Lines::new(input);
        let first = lines.next().unwrap_or_else(|| Err(damaged(1, "it is empty")))?;
        let head: BackupHead = serde_json::from_str(&first)
            .map_err(|error| damaged(1, format_args!("this is no tvix backup: {error}")))?;
        if head.tvix_backup > VERSION || head.format > FORMAT {
            let reason = "a newer version of tvix wrote this backup: update this one";
            return Err(Error::conflict(reason));
        }
        let mut sum = Sum::default();
        sum.hash.update(first.as_bytes());
        sum.hash.update(b"\n");
        Ok(Self { lines, sum, head, ended: false })
    }

    /// The first line.
    pub fn head(&self) -> &BackupHead {
        &self.head
    }

    /// Reads all that is left and throws it away.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the line, when the file is not what was written.
    pub fn verify(mut self) -> Result<u64> {
        while let Some(line) = self.read() {
            line?;
        }
        Ok(self.sum.documents)
    }

    /// The next line; `None` after the last, when all is well, and after an error.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the line, when the file is not what was written.
    pub fn read(&mut self) -> Option<Result<BackupLine>> {
        if self.ended {
            return None;
        }
        let next = self.lines.next();
        let number = self.lines.number();
        let line = match next {
            None => Err(damaged(number, "it is cut off: the last line is missing")),
            Some(line) => line.and_then(|text| self.take(number, &text)),
        };
        self.ended = !matches!(line, Ok(Some(_)));
        line.transpose()
    }

    /// The inner `None` is the end.
    fn take(&mut self, number: u64, text: &str) -> Result<Option<BackupLine>> {
        let read_error = |error| damaged(number, error);
        if text.starts_with("{\"end\":") {
            let tail: Tail = serde_json::from_str(text).map_err(read_error)?;
            return self.compare(number, &tail.end).map(|()| None);
        }
        self.sum.hash.update(text.as_bytes());
        self.sum.hash.update(b"\n");
        if text.starts_with("{\"file\":") {
            let file: BackupFile = serde_json::from_str(text).map_err(read_error)?;
            if !OWN_FILES.contains(&file.file.as_str()) {
                return Err(damaged(number, format_args!("it names the file {:?}", file.file)));
            }
            return Ok(Some(BackupLine::File(file)));
        }
        let entry: Entry = serde_json::from_str(text).map_err(read_error)?;
        self.sum.documents += u64::from(matches!(entry, Entry::Document(_)));
        Ok(Some(BackupLine::Entry(entry)))
    }

    fn compare(&mut self, number: u64, end: &End) -> Result<()> {
        let documents = self.sum.documents;
        let found = std::mem::take(&mut self.sum).end();
        self.sum.documents = documents;
        if found.documents != end.documents {
            let reason = format!("{} documents, {} expected", found.documents, end.documents);
            return Err(damaged(number, reason));
        }
        if found.sha256 != end.sha256 {
            return Err(damaged(number, "its sum does not fit its lines: they were changed"));
        }
        match self.lines.next() {
            None => Ok(()),
            Some(_) => Err(damaged(number + 1, "there is more after its end")),
        }
    }
}

fn damaged(line: u64, reason: impl std::fmt::Display) -> Error {
    Error::corrupt(WHAT, format_args!("line {line}: {reason}"))
}
