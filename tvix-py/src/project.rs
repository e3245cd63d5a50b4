//! Projects.

use pyo3::prelude::*;
use tvix_core::{
    project,
    types::{ProjectName, ProjectSlug},
};

use crate::{error::OrRaise, repr::Repr, session::Session};

/// A project and its size. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.memory.add("Rye with caraway", project="Bakery")
/// ...     t.projects.memory()
/// [ProjectSummary(name='bakery', count=1)]
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct ProjectSummary(project::ProjectSummary);

#[pymethods]
impl ProjectSummary {
    /// Its slug, or its display name in the wiki.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// How many records are filed under it.
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "ProjectSummary").field("name", self.name())?;
        Ok(repr.field("count", self.count())?.end())
    }
}

/// What became of a move. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.memory.add("Rye with caraway", project="baking")
/// ...     t.projects.move_memories("baking", "bakery")
/// Moved(moved=1, kept=0)
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Moved(project::Moved);

#[pymethods]
impl Moved {
    /// How many records were moved.
    #[getter]
    fn moved(&self) -> usize {
        self.0.moved
    }

    /// How many stayed because the target already holds the same text.
    #[getter]
    fn kept(&self) -> usize {
        self.0.kept
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "Moved").field("moved", self.0.moved)?.field("kept", self.0.kept)?.end())
    }
}

/// The projects of a folder: `Tvix.projects`. One exists as long as something is filed under it.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.wiki.add("Rye", "# Rye", project="Bakery")
/// ...     t.projects.wiki()
/// [ProjectSummary(name='Bakery', count=1)]
#[pyclass(frozen, module = "tvix")]
pub(crate) struct Projects(pub(crate) Session);

#[pymethods]
impl Projects {
    /// The projects of memories, the last changed first: a list of `ProjectSummary`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.projects.memory()
    /// []
    fn memory(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        self.0.answer(py, async move { handle.projects().memory_projects().await.map(summaries) })
    }

    /// The Projects of the wiki, the last changed first, without Basic: a list of `ProjectSummary`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.projects.wiki()
    /// []
    fn wiki(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        self.0.answer(py, async move { handle.projects().wiki_projects().await.map(summaries) })
    }

    /// Files all memories of one project under another; those whose text it already holds stay.
    ///
    /// Raises `NotFound` when nothing is filed under `from_project`, and `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.projects.move_memories("nowhere", "somewhere")
    /// Traceback (most recent call last):
    /// tvix.NotFound: project not found: nowhere
    fn move_memories(
        &self,
        py: Python<'_>,
        from_project: &str,
        to_project: &str,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let (from, to) = (ProjectSlug::new(from_project), ProjectSlug::new(to_project));
        let (from, to) = (from.or_raise(py)?, to.or_raise(py)?);
        self.0
            .answer(py, async move { handle.projects().move_memories(&from, &to).await.map(Moved) })
    }

    /// Files all documents of one Project of the wiki under another.
    ///
    /// Raises `NotFound` when nothing is filed under `from_project`, and `InvalidInput`.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     _ = t.wiki.add("Rye", "# Rye", project="Baking")
    /// ...     t.projects.move_documents("baking", "Bakery")
    /// Moved(moved=1, kept=0)
    fn move_documents(
        &self,
        py: Python<'_>,
        from_project: &str,
        to_project: &str,
    ) -> PyResult<Py<PyAny>> {
        let handle = self.0.handle(py)?;
        let (from, to) = (ProjectName::new(from_project), ProjectName::new(to_project));
        let (from, to) = (from.or_raise(py)?, to.or_raise(py)?);
        self.0.answer(
            py,
            async move { handle.projects().move_documents(&from, &to).await.map(Moved) },
        )
    }
}

fn summaries(projects: Vec<project::ProjectSummary>) -> Vec<ProjectSummary> {
    projects.into_iter().map(ProjectSummary).collect()
}
