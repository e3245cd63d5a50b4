//! Many memories at once.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyString},
};
use tvix_core::{
    Error,
    memory::{self, NewMemory},
    types::{MemoryText, ProjectSlug, Source},
};

use super::record::Added;
use crate::{
    convert,
    error::{OrRaise, exception},
};

/// Adds when it happened, if that was said.
pub(super) fn happened(
    py: Python<'_>,
    memory: NewMemory,
    event_time: Option<&Bound<'_, PyAny>>,
) -> PyResult<NewMemory> {
    match convert::optional_time("event_time", event_time)? {
        Some(time) => memory.happened(&time).or_raise(py),
        None => Ok(memory),
    }
}

/// A text, or a dict with the arguments of `add`. What is wrong with its values is the inner error.
pub(super) fn memory(item: &Bound<'_, PyAny>) -> PyResult<Result<NewMemory, Py<PyAny>>> {
    let py = item.py();
    let read = if item.is_instance_of::<PyString>() {
        NewMemory::new(item.extract::<String>()?).or_raise(py)
    } else {
        let fields = item.cast::<PyDict>().map_err(|_| {
            PyTypeError::new_err("memories: send texts, or dicts with the arguments of add")
        })?;
        from_fields(fields)
    };
    match read {
        Ok(memory) => Ok(Ok(memory)),
        Err(error) if error.is_instance_of::<PyValueError>(py) => {
            Ok(Err(error.into_value(py).into_any()))
        }
        Err(error) => Err(error),
    }
}

fn from_fields(fields: &Bound<'_, PyDict>) -> PyResult<NewMemory> {
    let py = fields.py();
    if let Some(unknown) = fields.keys().iter().find(|key| !is_argument(key)) {
        return Err(PyTypeError::new_err(format!("add() has no argument {}", unknown.repr()?)));
    }
    let get = |name: &str| Ok::<_, PyErr>(fields.get_item(name)?.filter(|value| !value.is_none()));
    let text = |name: &str| get(name)?.map(|value| value.extract::<String>()).transpose();
    let missing = || PyTypeError::new_err("add() needs the argument 'content'");
    let memory = NewMemory {
        content: MemoryText::new(text("content")?.ok_or_else(missing)?).or_raise(py)?,
        project: text("project")?.as_deref().map(ProjectSlug::new).transpose().or_raise(py)?,
        metadata: convert::metadata(get("metadata")?.as_ref())?,
        source: text("source")?.as_deref().map(Source::named),
    };
    happened(py, memory, get("event_time")?.as_ref())
}

fn is_argument(key: &Bound<'_, PyAny>) -> bool {
    let known = ["content", "project", "event_time", "metadata", "source"];
    key.extract::<String>().is_ok_and(|key| known.contains(&key.as_str()))
}

/// The results of `add_many`: what could not be read, and what became of the rest.
pub(super) struct Batch {
    pub(super) entries: Vec<Option<Py<PyAny>>>,
    pub(super) added: Vec<Result<memory::Added, Error>>,
}

impl<'py> IntoPyObject<'py> for Batch {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut added = self.added.into_iter();
        for refused in self.entries {
            match refused {
                Some(exception) => list.append(exception)?,
                None => match added.next() {
                    Some(Ok(added)) => list.append(Added(added))?,
                    Some(Err(error)) => list.append(exception(py, &error)?)?,
                    None => {}
                },
            }
        }
        Ok(list)
    }
}
