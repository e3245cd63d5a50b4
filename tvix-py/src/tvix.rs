//! `tvix.open` and the object it returns.

use std::{path::PathBuf, sync::Arc};

use pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
use tvix_core::{
    embed, search,
    shared::{self, Handle},
    storage::{Kind, Page},
    tools::{self, CallContext},
    types::{ProjectSlug, QueryText, Source},
};

use crate::{
    embed::Embedder,
    error::OrRaise,
    memory::Memory,
    profile::ProfileFile,
    project::Projects,
    repr::Repr,
    search::Answer,
    session::{Mode, Session},
    slice::filter,
    tools as calls,
    wiki::Wiki,
};

/// An open data folder; `tvix.open` makes one. Threads may share it.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.memory.add("Is allergic to peanuts")
/// ...     t.search("any food allergies?")[0].record.content
/// 'Is allergic to peanuts'
#[pyclass(frozen, weakref, module = "tvix")]
pub(crate) struct Tvix {
    pub(crate) session: Session,
    path: PathBuf,
}

/// Opens a data folder, making it if it is not there, together with any other process that has it open.
///
/// path: the folder; else the one that `TVIX_HOME` names, else the platform's data directory for `tvix`.
/// source: what is written on what is stored here, such as the name of your agent.
/// project: the project of memories that the tool `add_memory` is given none for.
/// toolsets: which tools are offered, exactly: `"memory"`, `"wiki"`; else as configured.
/// embedder: an `Embedder` in place of the configured model; in use while this process owns the folder.
///
/// `config.toml` in the folder and the `TVIX_…` variables count as for the command line. Raises
/// `InvalidInput` when they are wrong, `Conflict` when another version has the folder open or wrote it,
/// `Corrupt` or `BackendError` when the store cannot be opened.
///
/// >>> import tvix
/// >>> t = tvix.open()
/// >>> t.memory.add("Prefers short answers").status
/// 'stored'
/// >>> t.close()
#[pyfunction]
#[pyo3(signature = (path=None, *, source=None, project=None, toolsets=None, embedder=None, awaitable=false))]
pub(crate) fn open(
    py: Python<'_>,
    path: Option<PathBuf>,
    source: Option<&str>,
    project: Option<&str>,
    toolsets: Option<Vec<String>>,
    embedder: Option<&Embedder>,
    awaitable: bool,
) -> PyResult<Tvix> {
    let path = tvix_mcp_stdio::data_folder(path).or_raise(py)?;
    let config = tvix_mcp_stdio::config(&path).or_raise(py)?;
    let mut context = CallContext::new(source.map_or_else(Source::library, Source::named));
    context.toolsets = calls::toolsets(toolsets).or_raise(py)?.unwrap_or(config.toolsets);
    context.default_project = project.map(ProjectSlug::new).transpose().or_raise(py)?;
    let embedder =
        embedder.map(|embedder| Arc::new(embedder.bound(py)) as Arc<dyn embed::Embedder>);
    let (folder, source) = (path.clone(), context.source.clone());
    let opening = async move {
        let handle = shared::open_embedding(folder, config.settings, embedder).await?;
        Ok::<Handle, _>(handle.speaking_for(source))
    };
    let mode = if awaitable { Mode::Awaitable } else { Mode::Blocking };
    Ok(Tvix { session: Session::open(py, context, mode, opening)?, path })
}

#[pymethods]
impl Tvix {
    /// The memories: what is known of the user.
    #[getter]
    fn memory(&self) -> Memory {
        Memory(self.session.clone())
    }

    /// The wiki: reference documents.
    #[getter]
    fn wiki(&self) -> Wiki {
        Wiki(self.session.clone())
    }

    /// The projects of both.
    #[getter]
    fn projects(&self) -> Projects {
        Projects(self.session.clone())
    }

    /// The user's profile.
    #[getter]
    fn profile(&self) -> ProfileFile {
        ProfileFile(self.session.clone())
    }

    /// The data folder, a `pathlib.Path`.
    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.path.as_path().into_py_any(py)
    }

    /// Finds what answers a question, by meaning and by word, best first.
    ///
    /// query: at most 1,000 characters, as a person would write them; `"quoted phrases"` match as
    /// phrases. `""` asks for the most recent records, an id for that record.
    /// kind: `"memory"` or `"wiki"`.
    /// limit: 1-1,000. offset: how many to skip.
    /// project: only this project. sources: only from these, a text or a list of texts.
    /// date_from, date_to: both inclusive: a `datetime` with a time zone, a `date` for the whole day, or
    /// ISO 8601 text. For documents the time of the last edit counts.
    /// timezone: the IANA zone of dates without one; else the profile's.
    ///
    /// Returns an `Answer`. An unknown project or source finds nothing and `notices` says which are
    /// known. Raises `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     _ = t.memory.add("Deploys happen on Tuesdays", project="acme")
    /// ...     t.search("when do we deploy?", project="acme", limit=3)[0].record.content
    /// 'Deploys happen on Tuesdays'
    #[pyo3(signature = (query, *, kind="memory", limit=10, offset=0, **criteria))]
    fn search(
        &self,
        py: Python<'_>,
        query: String,
        kind: &str,
        limit: i64,
        offset: i64,
        criteria: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.session.handle(py)?;
        let kind = Kind::named("kind", kind).or_raise(py)?;
        let query = search::Query {
            kind,
            text: QueryText::new(query).or_raise(py)?,
            filter: filter(py, &handle, kind, criteria)?,
            page: Page::checked(offset, limit).or_raise(py)?,
        };
        self.session.answer(py, async move { handle.search().search(&query).await.map(Answer) })
    }

    /// The definitions of the tools, as an API takes them in the field `tools` of a request; they name
    /// the projects that this store knows.
    ///
    /// format: `"openai"` (Chat Completions), `"openai-responses"`, `"anthropic"` or `"gemini"`.
    ///
    /// Raises `InvalidInput` for another format.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.tools("openai")[0]["function"]["name"]
    /// 'add_memory'
    #[pyo3(signature = (format="openai"))]
    fn tools(&self, py: Python<'_>, format: &str) -> PyResult<Py<PyAny>> {
        calls::of_store(py, &self.session, format)
    }

    /// Calls a tool as a model does.
    ///
    /// name: the name of the tool. arguments: a dict, or JSON text as some APIs send it.
    ///
    /// Returns a `Reply`. Raises `NotFound` for an unknown tool and what the tool reports; the text of
    /// the exception is made for the model.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.call("search_memory", {"query": "", "limit": 31})
    /// Traceback (most recent call last):
    /// tvix.InvalidInput: limit: got 31, send 1-30
    #[pyo3(signature = (name, arguments=None))]
    fn call(
        &self,
        py: Python<'_>,
        name: String,
        arguments: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        calls::call(py, &self.session, name, arguments)
    }

    /// Reads a resource, `"tvix://profile"` or `"tvix://recent"`, as a dict.
    ///
    /// Raises `NotFound` for another.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.resource("tvix://recent")
    /// {'memories': []}
    fn resource(&self, py: Python<'_>, uri: String) -> PyResult<Py<PyAny>> {
        calls::resource(py, &self.session, uri)
    }

    /// What a model should know before its first call, for the system prompt: at most 2,048 characters.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     "search_memory" in t.instructions()
    /// True
    fn instructions(&self) -> String {
        tools::instructions(&self.session.context())
    }

    /// Finishes what is in flight and lets go of the folder. Calls after this raise `Conflict`; closing
    /// again does nothing.
    ///
    /// >>> import tvix
    /// >>> t = tvix.open()
    /// >>> t.close()
    fn close(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let handle = self.session.handle(py)?;
        self.session.answer(py, closed(handle))
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let handle = self.session.handle(py)?;
        self.session.wait(py, closed(handle)).map(|_| ())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "Tvix").field("path", self.path.display().to_string())?.end())
    }
}

/// Closes the folder; the answer is Python's `None`.
async fn closed(handle: Handle) -> tvix_core::Result<Option<bool>> {
    handle.close().await;
    Ok(None)
}
