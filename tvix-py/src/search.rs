//! Answers of searches.

use pyo3::{IntoPyObjectExt, prelude::*, types::PyIterator};
use tvix_core::{
    search,
    storage::{Document, Kind},
};

use crate::{
    convert,
    error::OrRaise,
    memory::MemoryRecord,
    repr::{Repr, short},
    slice::{at, iterate},
    wiki::WikiRecord,
};

/// What a search found, best first: a sequence of `Hit`. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.memory.add("Is allergic to peanuts")
/// ...     answer = t.search("any food allergies?")
/// >>> len(answer), answer[0].record.content, answer.has_more
/// (1, 'Is allergic to peanuts', False)
#[pyclass(frozen, sequence, module = "tvix")]
pub(crate) struct Answer(pub(crate) search::Answer);

impl Answer {
    fn hits(&self) -> Vec<Hit> {
        self.0.hits.iter().cloned().map(Hit).collect()
    }
}

#[pymethods]
impl Answer {
    /// Whether more follow after these.
    #[getter]
    fn has_more(&self) -> bool {
        self.0.has_more
    }

    /// Whether the query was the id of the one hit.
    #[getter]
    fn by_id(&self) -> bool {
        self.0.by_id
    }

    /// Whether meaning was compared, and not words alone.
    #[getter]
    fn by_meaning(&self) -> bool {
        self.0.legs.meaning
    }

    /// What else there is to know, a sentence each.
    #[getter]
    fn notices(&self) -> Vec<String> {
        self.0.notices.iter().map(ToString::to_string).collect()
    }

    fn __len__(&self) -> usize {
        self.0.hits.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Hit> {
        at(&self.0.hits, index).cloned().map(Hit)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        iterate(py, self.hits())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let notices = Some(self.notices()).filter(|notices| !notices.is_empty());
        let repr = Repr::new(py, "Answer").field("hits", self.hits())?;
        Ok(repr.field("has_more", self.0.has_more)?.optional("notices", notices)?.end())
    }
}

/// One record that answers a query. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.wiki.add("Deploy runbook", "Freeze merges. Watch the error rate.")
/// ...     hit = t.search("deploy runbook", kind="wiki")[0]
/// >>> hit.record.title, hit.score
/// ('Deploy runbook', 1.0)
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Hit(search::Hit);

#[pymethods]
impl Hit {
    /// The `MemoryRecord` or `WikiRecord`, whole.
    #[getter]
    fn record(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        record(py, &self.0.document)
    }

    /// How well it fits, 0-1 on one scale for every query; never rises down the list. `None` when the
    /// query was blank or an id.
    #[getter]
    fn score(&self) -> Option<f64> {
        self.0.score.map(convert::number)
    }

    /// The passage of its text that fits best; empty when the query was blank or an id.
    #[getter]
    fn passage(&self) -> &str {
        self.0.document.text.get(self.0.passage.clone()).unwrap_or_default()
    }

    /// At most three memories beside it, each a `Related`.
    #[getter]
    fn related(&self) -> Vec<Related> {
        self.0.related.iter().cloned().map(Related).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "Hit").optional("score", self.score())?;
        let related = Some(self.related()).filter(|related| !related.is_empty());
        Ok(repr.field("record", self.record(py)?)?.optional("related", related)?.end())
    }
}

fn record(py: Python<'_>, document: &Document) -> PyResult<Py<PyAny>> {
    if document.key.kind == Kind::Wiki {
        let record = tvix_core::wiki::WikiRecord::from_document(document.clone());
        return WikiRecord(record).into_py_any(py);
    }
    let record = tvix_core::memory::MemoryRecord::from_document(document.clone());
    MemoryRecord(record.or_raise(py)?).into_py_any(py)
}

/// A memory that stands beside a hit and is no hit itself. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.memory.add("The gateway timed out")
/// ...     _ = t.memory.add("Raised max_retry_count to 7")
/// ...     related = t.search("max_retry_count", limit=1)[0].related
/// >>> [(beside.why, beside.text) for beside in related]
/// [('nearby', 'The gateway timed out')]
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Related(search::Related);

#[pymethods]
impl Related {
    /// Its identifier.
    #[getter]
    fn id(&self) -> String {
        self.0.id.to_string()
    }

    /// `"nearby"`: captured within 30 minutes by the same source and project; `"similar"`: says
    /// something alike.
    #[getter]
    fn why(&self) -> String {
        self.0.why.to_string()
    }

    /// Its beginning, at most 180 characters.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "Related").field("id", self.id())?.field("why", self.why())?;
        Ok(repr.field("text", short(self.text()))?.end())
    }
}
