//! An embedding model that is a Python function.

use std::{fmt, sync::OnceLock};

use async_trait::async_trait;
use pyo3::{prelude::*, types::PyList};
use tvix_core::{
    Error, Result,
    embed::{self, Hints, Model, Role, Vector},
};

use crate::{convert, error::OrRaise, repr::Repr};

/// What a call is named in errors.
const OPERATION: &str = "embedding in Python";

/// An embedding model of your own for `tvix.open(embedder=…)`. Frozen.
///
/// embed: called with a list of texts; returns as many vectors of one length, as lists of floats or as a
/// two-dimensional array with `tolist`, such as NumPy's. It is called on a thread of Tvix's own and must
/// not call Tvix.
/// name: names the model and its version; vectors of different names are never compared.
/// embed_query: the same for queries, for models that treat them in another way; else `embed`.
/// dense: the share of meaning when words and meaning are fused, 0-1.
/// unrelated: the cosine at which two texts have hardly anything in common, 0-1.
///
/// Texts are embedded in the background, after they are stored, and found by word until then. When the
/// function raises, search goes on by word and says so.
///
/// Raises `InvalidInput`.
///
/// >>> import tvix
/// >>> def letters(texts):
/// ...     return [[text.lower().count(letter) + 0.01 for letter in "abcdef"] for text in texts]
/// >>> tvix.Embedder(letters, name="letters-1")
/// Embedder(name='letters-1', dense=0.5, unrelated=0.2)
#[pyclass(frozen, module = "tvix")]
pub(crate) struct Embedder {
    passages: Py<PyAny>,
    queries: Py<PyAny>,
    name: String,
    hints: Hints,
}

#[pymethods]
impl Embedder {
    #[new]
    #[pyo3(signature = (embed, *, name, embed_query=None, dense=0.5, unrelated=0.2))]
    fn new(
        embed: Bound<'_, PyAny>,
        name: &str,
        embed_query: Option<Bound<'_, PyAny>>,
        dense: f32,
        unrelated: f32,
    ) -> PyResult<Self> {
        let py = embed.py();
        let embed_query = embed_query.unwrap_or_else(|| embed.clone());
        check(&embed, &embed_query, name).or_raise(py)?;
        let hints = Hints::checked(dense, unrelated).or_raise(py)?;
        let name = format!("python/{}", name.trim());
        Ok(Self { passages: embed.unbind(), queries: embed_query.unbind(), name, hints })
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> &str {
        self.name.trim_start_matches("python/")
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr = Repr::new(py, "Embedder").field("name", self.name())?;
        let repr = repr.field("dense", convert::number(self.hints.dense))?;
        Ok(repr.field("unrelated", convert::number(self.hints.unrelated))?.end())
    }
}

fn check(embed: &Bound<'_, PyAny>, embed_query: &Bound<'_, PyAny>, name: &str) -> Result<()> {
    if !embed.is_callable() || !embed_query.is_callable() {
        let reason = "send a function from a list of texts to a list of vectors";
        return Err(Error::invalid("embed", reason));
    }
    if name.trim().is_empty() {
        let reason = "got a blank text, send the name and version of the model";
        return Err(Error::invalid("name", reason));
    }
    Ok(())
}

impl Embedder {
    /// The embedder as the core takes it.
    pub(crate) fn bound(&self, py: Python<'_>) -> Function {
        Function {
            passages: self.passages.clone_ref(py),
            queries: self.queries.clone_ref(py),
            hints: self.hints,
            unasked: Model { name: self.name.clone(), dimension: 0 },
            learned: OnceLock::new(),
        }
    }
}

/// The function, and what its first answer told of it.
pub(crate) struct Function {
    passages: Py<PyAny>,
    queries: Py<PyAny>,
    hints: Hints,
    unasked: Model,
    learned: OnceLock<Model>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("model", self.model_now()).finish_non_exhaustive()
    }
}

impl Function {
    fn model_now(&self) -> &Model {
        self.learned.get().unwrap_or(&self.unasked)
    }

    /// Calls the function. The core checks the vectors.
    fn call(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        let function = if role == Role::Query { &self.queries } else { &self.passages };
        let called =
            Python::try_attach(|py| vectors(&function.bind(py).call1((PyList::new(py, texts)?,))?));
        match called {
            Some(answer) => answer.map_err(|error| Error::backend(OPERATION, error)),
            None => Err(Error::backend(OPERATION, "the interpreter is ending")),
        }
    }
}

fn vectors(answer: &Bound<'_, PyAny>) -> PyResult<Vec<Vector>> {
    let rows =
        if answer.hasattr("tolist")? { answer.call_method0("tolist")? } else { answer.clone() };
    let row = |row: PyResult<Bound<'_, PyAny>>| -> PyResult<Vector> {
        let row = row?;
        let row = if row.hasattr("tolist")? { row.call_method0("tolist")? } else { row };
        row.extract()
    };
    rows.try_iter()?.map(row).collect()
}

#[async_trait]
impl embed::Embedder for Function {
    fn model(&self) -> &Model {
        self.model_now()
    }

    fn hints(&self) -> Hints {
        self.hints
    }

    async fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vector>> {
        let vectors = self.call(texts, role)?;
        if let Some(first) = vectors.first() {
            let name = &self.unasked.name;
            self.learned.get_or_init(|| Model { name: name.clone(), dimension: first.len() });
        }
        Ok(vectors)
    }
}
