//! What is told about memories.

use pyo3::{prelude::*, types::PyIterator};
use tvix_core::{
    memory::{self, AddStatus},
    search::Recent,
};

use crate::{
    convert,
    repr::{Repr, short},
    slice::{Slice, at, iterate},
};

/// A stored memory. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     memory = t.memory.add("Prefers rye bread", project="Bakery").memory
/// >>> memory.content, memory.project, memory.source
/// ('Prefers rye bread', 'bakery', 'Library')
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct MemoryRecord(pub(crate) memory::MemoryRecord);

#[pymethods]
impl MemoryRecord {
    /// Its identifier: a UUID in lower case with hyphens.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// What was remembered.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The slug of its project, or `None`.
    #[getter]
    fn project(&self) -> Option<&str> {
        self.0.project.as_deref()
    }

    /// Where it comes from: the name of a program, client or import.
    #[getter]
    fn source(&self) -> &str {
        self.0.source.as_str()
    }

    /// When it was stored: a `datetime` in UTC, to the millisecond.
    #[getter]
    fn captured_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::datetime(py, self.0.captured_at)
    }

    /// When it happened, if that was said: a `datetime` in UTC, a `date` for a whole day, or `None`.
    #[getter]
    fn event_time<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.event_time.map(|time| convert::event_time(py, time)).transpose()
    }

    /// Its free-form fields: a new `dict`.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::fields(py, &self.0.metadata)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "MemoryRecord")
            .field("id", self.id())?
            .field("content", short(self.content()))?
            .optional("project", self.project())?
            .field("source", self.source())?
            .field("captured_at", self.captured_at(py)?)?
            .optional("event_time", self.event_time(py)?)?
            .end())
    }
}

/// What became of an addition. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     t.memory.add("Is allergic to peanuts").status
/// ...     t.memory.add("is allergic to  PEANUTS").status
/// 'stored'
/// 'duplicate'
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Added(pub(super) memory::Added);

#[pymethods]
impl Added {
    /// `"stored"`, or `"duplicate"` when the same text was there before and nothing was stored.
    #[getter]
    fn status(&self) -> &'static str {
        match self.0.status {
            AddStatus::Stored => "stored",
            AddStatus::Duplicate => "duplicate",
        }
    }

    /// The memory; for a duplicate, the first one.
    #[getter]
    fn memory(&self) -> MemoryRecord {
        MemoryRecord(self.0.memory.clone())
    }

    /// What else there is to know, a sentence each.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.0.notices.iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "Added").field("status", self.status())?;
        let notices = Some(self.notices()).filter(|notices| !notices.is_empty());
        Ok(repr.field("memory", self.memory())?.optional("notices", notices)?.end())
    }
}

/// A page of memories: a sequence that knows whether more follow. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     for text in ("one", "two", "three"):
/// ...         _ = t.memory.add(text)
/// ...     page = t.memory.recent(limit=2)
/// >>> [memory.content for memory in page], page.has_more
/// (['three', 'two'], True)
#[pyclass(frozen, sequence, module = "tvix")]
pub(crate) struct MemoryPage(pub(super) Recent<memory::MemoryRecord>);

impl MemoryPage {
    fn records(&self) -> Vec<MemoryRecord> {
        self.0.records.iter().cloned().map(MemoryRecord).collect()
    }
}

#[pymethods]
impl MemoryPage {
    /// Whether more follow after these.
    #[getter]
    fn has_more(&self) -> bool {
        self.0.has_more
    }

    fn __len__(&self) -> usize {
        self.0.records.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<MemoryRecord> {
        at(&self.0.records, index).cloned().map(MemoryRecord)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        iterate(py, self.records())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "MemoryPage")
            .field("records", self.records())?
            .field("has_more", self.0.has_more)?
            .end())
    }
}

/// Iterates over memories, page by page; made by `Memory.iterate`.
#[pyclass(module = "tvix")]
pub(crate) struct MemoryPages(pub(super) Slice<memory::MemoryRecord>);

#[pymethods]
impl MemoryPages {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<MemoryRecord>> {
        let next = self.0.next(py, |handle, filter, page| async move {
            handle.memory().recent(&filter, page).await
        });
        Ok(next?.map(MemoryRecord))
    }
}
