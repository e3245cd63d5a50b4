//! Wiki documents.

mod record;

use pyo3::{prelude::*, types::PyDict};
use tvix_core::{
    storage::{Kind, Page},
    types::{Id, Patch, ProjectName, Title, WikiText},
    wiki::{DocumentEdit, NewDocument},
};

pub(crate) use record::{DocumentAdded, DocumentUpdated, WikiPage, WikiPages, WikiRecord};

use crate::{
    convert,
    error::OrRaise,
    session::Session,
    slice::{Slice, filter},
};

/// The wiki of a folder: `Tvix.wiki`.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     added = t.wiki.add("Rye", "# Rye", project="Bakery")
/// ...     t.wiki.get(added.document.id).project
/// 'Bakery'
#[pyclass(frozen, module = "tvix")]
pub(crate) struct Wiki(pub(crate) Session);

#[pymethods]
impl Wiki {
    /// Stores a document. When this returns it survives a power cut and the next search finds it.
    ///
    /// title: 1-500 characters. content: Markdown, 1-100,000 characters.
    /// project: the name of its Project, 1-200 characters; without one it goes to Basic.
    /// metadata: free-form fields, at most 16 KiB as JSON.
    ///
    /// A title that is there already is no error: both are kept and the answer names the others. Raises
    /// `InvalidInput` for what breaks a limit or plainly holds a credential, `QuotaExceeded` at the
    /// configured number of documents; nothing is stored then.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.wiki.add("Deploy runbook", "1. Freeze merges.").document.project
    /// 'Basic'
    #[pyo3(signature = (title, content, *, project=None, metadata=None))]
    fn add(
        &self,
        py: Python<'_>,
        title: String,
        content: String,
        project: Option<&str>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let document = NewDocument {
            title: Title::new(title).or_raise(py)?,
            content: WikiText::new(content).or_raise(py)?,
            project: project.map(ProjectName::new).transpose().or_raise(py)?,
            metadata: convert::metadata(metadata)?,
        };
        self.0.answer(py, async move { handle.wiki().add(document).await.map(DocumentAdded) })
    }

    /// Edits the document with this id: what is left out stays as it is, `project=None` moves it to
    /// Basic. An edit that changes nothing writes nothing.
    ///
    /// title: 1-500 characters. content: the whole new Markdown, 1-100,000 characters.
    /// project: the name of its new Project, or `None`.
    ///
    /// Raises `NotFound` and `InvalidInput`; nothing is changed then.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     id = t.wiki.add("Rye", "# Rye", project="Bakery").document.id
    /// ...     t.wiki.update(id, title="Rye bread").document.project
    /// ...     t.wiki.update(id, project=None).document.project
    /// 'Bakery'
    /// 'Basic'
    #[pyo3(signature = (id, **changes))]
    fn update(
        &self,
        py: Python<'_>,
        id: &str,
        changes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        let edit = edit(py, changes)?;
        self.0.answer(py, async move { handle.wiki().update(id, edit).await.map(DocumentUpdated) })
    }

    /// The documents that were last edited.
    ///
    /// limit: 1-1,000. offset: how many to skip. project, sources, date_from, date_to, timezone: as for
    /// `Tvix.search`.
    ///
    /// Raises `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     _ = t.wiki.add("Rye", "# Rye", project="Bakery")
    /// ...     [document.title for document in t.wiki.recent(project="bakery")]
    /// ['Rye']
    #[pyo3(signature = (*, limit=20, offset=0, **criteria))]
    fn recent(
        &self,
        py: Python<'_>,
        limit: i64,
        offset: i64,
        criteria: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let filter = filter(py, &handle, Kind::Wiki, criteria)?;
        let page = Page::checked(offset, limit).or_raise(py)?;
        self.0.answer(py, async move { handle.wiki().recent(&filter, page).await.map(WikiPage) })
    }

    /// Iterates over all documents, the last edited first, page by page. What is stored, edited or
    /// deleted meanwhile may be met twice or not at all.
    ///
    /// page_size: how many are read at a time, 1-1,000. project, sources, date_from, date_to, timezone:
    /// as for `Tvix.search`.
    ///
    /// Raises `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     for title in ("one", "two", "three"):
    /// ...         _ = t.wiki.add(title, f"# {title}")
    /// ...     [document.title for document in t.wiki.iterate(page_size=2)]
    /// ['three', 'two', 'one']
    #[pyo3(signature = (*, page_size=100, **criteria))]
    fn iterate(
        &self,
        py: Python<'_>,
        page_size: i64,
        criteria: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<WikiPages> {
        let filter = filter(py, &self.0.handle(py)?, Kind::Wiki, criteria)?;
        let page = Page::checked(0, page_size).or_raise(py)?;
        Ok(WikiPages(Slice::new(self.0.clone(), filter, page)))
    }

    /// The document with this id, a UUID in any spelling.
    ///
    /// Raises `NotFound`, or `InvalidInput` for what is no UUID.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.wiki.get("rye")
    /// Traceback (most recent call last):
    /// tvix.InvalidInput: id: got "rye", send the id of a record (a UUID)
    fn get(&self, py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        self.0.answer(py, async move { handle.wiki().get(id).await.map(WikiRecord) })
    }

    /// Removes the document with this id for good and returns what it was.
    ///
    /// Raises `NotFound`, or `InvalidInput` for what is no UUID.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     id = t.wiki.add("Rye", "# Rye").document.id
    /// ...     t.wiki.delete(id).title
    /// 'Rye'
    fn delete(&self, py: Python<'_>, id: &str) -> PyResult<Py<PyAny>> {
        let (handle, id) = (self.0.handle(py)?, Id::parse("id", id).or_raise(py)?);
        self.0.answer(py, async move { handle.wiki().delete(id).await.map(WikiRecord) })
    }
}

/// Reads keyword arguments into an edit; `None` counts only for the Project.
fn edit(py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<DocumentEdit> {
    let mut edit = DocumentEdit::default();
    for (key, value) in changes.into_iter().flatten() {
        match key.extract::<String>()?.as_str() {
            "project" if value.is_none() => edit.project = Patch::Clear,
            "project" => {
                edit.project =
                    Patch::Set(ProjectName::new(&value.extract::<String>()?).or_raise(py)?);
            }
            "title" => edit.title = Some(Title::new(value.extract::<String>()?).or_raise(py)?),
            "content" => {
                edit.content = Some(WikiText::new(value.extract::<String>()?).or_raise(py)?);
            }
            other => return Err(crate::slice::unexpected(other)),
        }
    }
    Ok(edit)
}
