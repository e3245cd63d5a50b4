//! Memories.

mod batch;
mod record;

use pyo3::{prelude::*, types::PyDict};
use tvix_core::{
    memory::NewMemory,
    storage::{Kind, Page},
    types::{Id, MemoryText, ProjectSlug, Source},
};

pub(crate) use record::{Added, MemoryPage, MemoryPages, MemoryRecord};

use crate::{
    convert,
    error::OrRaise,
    session::Session,
    slice::{Slice, filter},
};
use batch::Batch;

/// The memories of a folder: `Tvix.memory`.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     added = t.memory.add("The sourdough is fed at nine in the evening")
/// ...     t.memory.get(added.memory.id).content
/// 'The sourdough is fed at nine in the evening'
#[pyclass(frozen, module = "tvix")]
pub(crate) struct Memory(pub(crate) Session);

#[pymethods]
impl Memory {
    /// Stores a memory. When this returns it survives a power cut and the next search finds it.
    ///
    /// The same text (ignoring case and white space) in the same project is not stored again.
    ///
    /// content: what to remember, 1-50,000 characters; `<private>…</private>` is taken out.
    /// project: the project to file it under; its slug has 1-60 characters.
    /// event_time: when it happened: a `datetime` with a time zone, a `date`, or ISO 8601 text.
    /// metadata: free-form fields, at most 16 KiB as JSON.
    /// source: where it comes from; else the source that the store was opened with.
    ///
    /// Raises `InvalidInput` for what breaks a limit or plainly holds a credential; nothing is stored
    /// then.
    ///
    /// >>> import datetime, tvix
    /// >>> with tvix.open() as t:
    /// ...     t.memory.add("Moved to Lisbon", event_time=datetime.date(2026, 3, 2)).memory.event_time
    /// datetime.date(2026, 3, 2)
    #[pyo3(signature = (content, *, project=None, event_time=None, metadata=None, source=None))]
    fn add(
        &self,
        py: Python<'_>,
        content: String,
        project: Option<&str>,
        event_time: Option<&Bound<'_, PyAny>>,
        metadata: Option<&Bound<'_, PyAny>>,
        source: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let memory = NewMemory {
            content: MemoryText::new(content).or_raise(py)?,
            project: project.map(ProjectSlug::new).transpose().or_raise(py)?,
            metadata: convert::metadata(metadata)?,
            source: source.map(Source::named),
        };
        let memory = batch::happened(py, memory, event_time)?;
        self.0.answer(py, async move { handle.memory().add(memory).await.map(Added) })
    }

    /// Stores many memories with few syncs: for imports.
    ///
    /// memories: texts, or dicts with the arguments of `add`.
    ///
    /// Returns a list with an `Added` for each, in order, or the exception that says why it was not
    /// stored; those are not raised. Raises what the store reports; what came before it may be stored,
    /// and the same call again stores the rest.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     stored, refused = t.memory.add_many(["Likes rye", {"content": " "}])
    /// >>> stored.status, refused.field
    /// ('stored', 'content')
    fn add_many(&self, py: Python<'_>, memories: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let (mut wanted, mut entries) = (Vec::new(), Vec::new());
        for memory in memories.try_iter()? {
            entries.push(match batch::memory(&memory?)? {
                Ok(memory) => {
                    wanted.push(memory);
                    None
                }
                Err(error) => Some(error),
            });
        }
        self.0.answer(py, async move {
            Ok(Batch { entries, added: handle.memory().add_many(wanted).await? })
        })
    }

    /// The most recent memories: by event time where there is one, else by when they were stored.
    ///
    /// limit: 1-1,000. offset: how many to skip. project, sources, date_from, date_to, timezone: as for
    /// `Tvix.search`.
    ///
    /// Raises `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     _ = t.memory.add("Feeds the sourdough at nine", project="bakery")
    /// ...     [memory.content for memory in t.memory.recent(project="Bakery", limit=5)]
    /// ['Feeds the sourdough at nine']
    #[pyo3(signature = (*, limit=20, offset=0, **criteria))]
    fn recent(
        &self,
        py: Python<'_>,
        limit: i64,
        offset: i64,
        criteria: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let filter = filter(py, &handle, Kind::Memory, criteria)?;
        let page = Page::checked(offset, limit).or_raise(py)?;
        self.0
            .answer(py, async move { handle.memory().recent(&filter, page).await.map(MemoryPage) })
    }

    /// Iterates over all memories, the most recent first, page by page. What is stored or deleted
    /// meanwhile may be met twice or not at all.
    ///
    /// page_size: how many are read at a time, 1-1,000. project, sources, date_from, date_to, timezone:
    /// as for `Tvix.search`.
    ///
    /// Raises `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     _ = t.memory.add_many(["one", "two", "three"])
    /// ...     sorted(memory.content for memory in t.memory.iterate(page_size=2))
    /// ['one', 'three', 'two']
    #[pyo3(signature = (*, page_size=100, **criteria))]
    fn iterate(
        &self,
        py: Python<'_>,
        page_size: i64,
        criteria: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<MemoryPages> {
        let filter = filter(py, &self.0.handle(py)?, Kind::Memory, criteria)?;
        let page = Page::checked(0, page_size).or_raise(py)?;
        Ok(MemoryPages(Slice::new(self.0.clone(), filter, page)))
    }

    /// The memory with this id, a UUID in any spelling.
    ///
    /// Raises `NotFound`, or `InvalidInput` for what is no UUID.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.memory.get("01980b6f-23a7-7c11-8a55-0123456789ab")
    /// Traceback (most recent call last):
    /// tvix.NotFound: memory not found: 01980b6f-23a7-7c11-8a55-0123456789ab
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        self.0.answer(py, async move { handle.memory().get(id).await.map(MemoryRecord) })
    }

    /// Moves the memory with this id to another project; `None` moves it out of any.
    ///
    /// Raises `NotFound`, `InvalidInput`, or `Conflict` when the project already holds the same text.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     id = t.memory.add("Rye with caraway").memory.id
    /// ...     t.memory.move(id, "Bakery").project
    /// 'bakery'
    #[pyo3(name = "move")]
    fn move_to(&self, py: Python<'_>, id: &str, project: Option<&str>) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        let project = project.map(ProjectSlug::new).transpose().or_raise(py)?;
        self.0
            .answer(py, async move { handle.memory().move_to(id, project).await.map(MemoryRecord) })
    }

    /// Removes the memory with this id for good and returns what it was.
    ///
    /// Raises `NotFound`, or `InvalidInput` for what is no UUID.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     id = t.memory.add("Not for long").memory.id
    /// ...     t.memory.delete(id).content
    /// 'Not for long'
    fn delete(&self, py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        self.0.answer(py, async move { handle.memory().delete(id).await.map(MemoryRecord) })
    }
}
