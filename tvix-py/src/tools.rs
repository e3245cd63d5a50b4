//! The tools that models call.

use pyo3::{IntoPyObjectExt, prelude::*, types::PyString};
use serde_json::Value;
use tvix_core::tools::{self as core, CallContext, Service as _, Shape, Toolset};

use crate::{
    convert,
    error::{OrRaise, of_service},
    repr::{Repr, short},
    session::Session,
};

/// The answer of a tool. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     reply = t.call("add_memory", {"content": "Is allergic to peanuts"})
/// >>> reply.text.split()[:2], reply.structured["status"]
/// (['Saved', 'memory'], 'stored')
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Reply(core::Reply);

#[pymethods]
impl Reply {
    /// For models that are given text. Sufficient alone.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// For programs, and models that are given structure: a new `dict`. Sufficient alone.
    #[getter]
    fn structured<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::from_json(py, &self.0.structured)
    }

    fn __str__(&self) -> &str {
        self.text()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "Reply").field("text", short(self.text()))?.end())
    }
}

/// JSON as a Python value, made where the GIL is held.
struct Json(Value);

impl<'py> IntoPyObject<'py> for Json {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::from_json(py, &self.0)
    }
}

/// The definitions of the tools, as an API takes them in the field `tools` of a request.
///
/// format: `"openai"` (Chat Completions), `"openai-responses"`, `"anthropic"` or `"gemini"`.
///
/// Those of an open store, `Tvix.tools`, also name the projects that it knows. Raises `InvalidInput` for
/// another format.
///
/// >>> import tvix
/// >>> [tool["name"] for tool in tvix.tools("anthropic")][:2]
/// ['add_memory', 'search_memory']
#[pyfunction]
#[pyo3(signature = (format="openai"))]
pub(crate) fn tools(py: Python<'_>, format: &str) -> PyResult<Py<PyAny>> {
    let shape = Shape::named(format).or_raise(py)?;
    let definitions = core::definitions(&CallContext::default());
    Json(shape.tools(&definitions).into()).into_py_any(py)
}

/// The same for an open store.
pub(crate) fn of_store(py: Python<'_>, session: &Session, format: &str) -> PyResult<Py<PyAny>> {
    let (handle, context) = (session.handle(py)?, session.context());
    let shape = Shape::named(format).or_raise(py)?;
    session.answer(py, async move { Ok(Json(shape.tools(&handle.tools(&context).await?).into())) })
}

/// Calls a tool with a dict, or with JSON text as some APIs send it.
pub(crate) fn call(
    py: Python<'_>,
    session: &Session,
    name: String,
    arguments: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (handle, context) = (session.handle(py)?, session.context());
    let arguments = match arguments {
        None => Value::Null,
        Some(text) if text.is_instance_of::<PyString>() => Value::String(text.extract()?),
        Some(value) => convert::to_json("arguments", value)?,
    };
    session.answer(py, async move {
        handle.call(&context, &name, arguments).await.map(Reply).map_err(of_service)
    })
}

/// Reads a resource.
pub(crate) fn resource(py: Python<'_>, session: &Session, uri: String) -> PyResult<Py<PyAny>> {
    let (handle, context) = (session.handle(py)?, session.context());
    session.answer(py, async move {
        let text = handle.read_resource(&context, &uri).await.map_err(of_service)?;
        let value = serde_json::from_str(&text);
        value.map(Json).map_err(|error| tvix_core::Error::corrupt(uri, error))
    })
}

/// Toolsets by name; the default without any.
pub(crate) fn toolsets(names: Option<Vec<String>>) -> tvix_core::Result<Option<Vec<Toolset>>> {
    names.map(|names| Toolset::parse_list(&names.join(","))).transpose()
}
