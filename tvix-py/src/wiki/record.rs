//! What is told about wiki documents.

use pyo3::{prelude::*, types::PyIterator};
use tvix_core::{search::Recent, wiki};

use crate::{
    convert,
    repr::{Repr, short},
    slice::{Slice, at, iterate},
};

/// A stored wiki document. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     document = t.wiki.add("Rye", "# Rye\n\nWith caraway.").document
/// >>> document.title, document.project, document.content
/// ('Rye', 'Basic', '# Rye\n\nWith caraway.')
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct WikiRecord(pub(crate) wiki::WikiRecord);

#[pymethods]
impl WikiRecord {
    /// Its identifier: a UUID in lower case with hyphens.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// Its title.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Its Markdown.
    #[getter]
    fn content(&self) -> &str {
        &self.0.content
    }

    /// The name of its Project, `"Basic"` if it has none.
    #[getter]
    fn project(&self) -> &str {
        self.0.project_name()
    }

    /// Who stored it.
    #[getter]
    fn source(&self) -> &str {
        self.0.source.as_str()
    }

    /// When it was stored: a `datetime` in UTC, to the millisecond.
    #[getter]
    fn created_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::datetime(py, self.0.created_at)
    }

    /// When it was last edited: a `datetime` in UTC, to the millisecond.
    #[getter]
    fn updated_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::datetime(py, self.0.updated_at)
    }

    /// Its free-form fields: a new `dict`.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::fields(py, &self.0.metadata)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "WikiRecord")
            .field("id", self.id())?
            .field("title", short(self.title()))?
            .field("content", short(self.content()))?
            .field("project", self.project())?
            .field("source", self.source())?
            .field("created_at", self.created_at(py)?)?
            .field("updated_at", self.updated_at(py)?)?
            .end())
    }
}

/// What became of an addition. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     first = t.wiki.add("Rye", "# Rye")
/// ...     second = t.wiki.add("Rye", "# Another rye")
/// >>> second.same_title == [first.document.id]
/// True
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct DocumentAdded(pub(super) wiki::DocumentAdded);

#[pymethods]
impl DocumentAdded {
    /// The document.
    #[getter]
    fn document(&self) -> WikiRecord {
        WikiRecord(self.0.document.clone())
    }

    /// The ids of other documents of the same title in the same Project, at most ten.
    #[getter]
    fn same_title(&self) -> Vec<String> {
        self.0.same_title.iter().map(ToString::to_string).collect()
    }

    /// What else there is to know, a sentence each.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.0.notices.iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "DocumentAdded").field("document", self.document())?;
        let notices = Some(self.notices()).filter(|notices| !notices.is_empty());
        Ok(repr.field("same_title", self.same_title())?.optional("notices", notices)?.end())
    }
}

/// What became of an edit. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     id = t.wiki.add("Rye", "# Rye").document.id
/// ...     edited = t.wiki.update(id, project="Bakery")
/// >>> edited.changed, edited.moved, edited.document.project
/// (True, True, 'Bakery')
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct DocumentUpdated(pub(super) wiki::DocumentUpdated);

#[pymethods]
impl DocumentUpdated {
    /// The document as it is now.
    #[getter]
    fn document(&self) -> WikiRecord {
        WikiRecord(self.0.document.clone())
    }

    /// Whether anything was different.
    #[getter]
    fn changed(&self) -> bool {
        self.0.changed
    }

    /// Whether it stands in another Project than before.
    #[getter]
    fn moved(&self) -> bool {
        self.0.moved
    }

    /// What else there is to know, a sentence each.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.0.notices.iter().map(ToString::to_string).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "DocumentUpdated").field("document", self.document())?;
        Ok(repr.field("changed", self.0.changed)?.field("moved", self.0.moved)?.end())
    }
}

/// A page of documents: a sequence that knows whether more follow. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     for title in ("one", "two", "three"):
/// ...         _ = t.wiki.add(title, f"# {title}")
/// ...     page = t.wiki.recent(limit=2)
/// >>> [document.title for document in page], page.has_more
/// (['three', 'two'], True)
#[pyclass(frozen, sequence, module = "tvix")]
pub(crate) struct WikiPage(pub(super) Recent<wiki::WikiRecord>);

impl WikiPage {
    fn records(&self) -> Vec<WikiRecord> {
        self.0.records.iter().cloned().map(WikiRecord).collect()
    }
}

#[pymethods]
impl WikiPage {
    /// Whether more follow after these.
    #[getter]
    fn has_more(&self) -> bool {
        self.0.has_more
    }

    fn __len__(&self) -> usize {
        self.0.records.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<WikiRecord> {
        at(&self.0.records, index).cloned().map(WikiRecord)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        iterate(py, self.records())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "WikiPage").field("records", self.records())?;
        Ok(repr.field("has_more", self.0.has_more)?.end())
    }
}

/// Iterates over documents, page by page; made by `Wiki.iterate`.
#[pyclass(module = "tvix")]
pub(crate) struct WikiPages(pub(super) Slice<wiki::WikiRecord>);

#[pymethods]
impl WikiPages {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<WikiRecord>> {
        let next = self.0.next(py, |handle, filter, page| async move {
            handle.wiki().recent(&filter, page).await
        });
        Ok(next?.map(WikiRecord))
    }
}
