//! Errors of the core as exceptions: one class for each kind, in `tvix._errors`.

use pyo3::{exceptions::PyRuntimeError, prelude::*, sync::PyOnceLock, types::PyDict};
use tvix_core::{Error, ErrorKind, tools::ServiceError};

/// The name of the exception for a kind.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput => "InvalidInput",
        ErrorKind::NotFound => "NotFound",
        ErrorKind::QuotaExceeded => "QuotaExceeded",
        ErrorKind::Conflict => "Conflict",
        ErrorKind::Backend => "BackendError",
        ErrorKind::Corrupt => "Corrupt",
        _ => "Error",
    }
}

fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("tvix._errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// The exception for `error`, as an object.
pub(crate) fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let report = error.report();
    let fields = PyDict::new(py);
    fields.set_item("field", report.field)?;
    fields.set_item("reason", report.reason)?;
    fields.set_item("identifier", report.identifier)?;
    classes(py)?.getattr(class_name(report.kind))?.call((error.to_string(),), Some(&fields))
}

/// Raises `error`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(broken) => {
            let raised = PyRuntimeError::new_err(error.to_string());
            raised.set_cause(py, Some(broken));
            raised
        }
    }
}

/// Raises what the core reports.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for tvix_core::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}

/// A tool or resource that there is not is something that was not found.
pub(crate) fn of_service(error: ServiceError) -> Error {
    match error {
        ServiceError::Failed(error) => error,
        ServiceError::UnknownTool(name) => Error::not_found("tool", name),
        ServiceError::UnknownResource(uri) => Error::not_found("resource", uri),
        other => Error::not_found("service", other),
    }
}
