//! Values across the border: times, JSON.

use pyo3::{
    exceptions::PyOverflowError,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyString},
};
use serde_json::{Map, Value};
use tvix_core::{
    Error,
    types::{EventTime, Metadata, Timestamp},
};

use crate::error::{OrRaise, raised};

/// The name of what is at `path` in the standard library, looked up once.
fn known<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let found = cell.get_or_try_init(py, || py.import(module)?.getattr(name).map(Bound::unbind))?;
    Ok(found.bind(py).clone())
}

fn datetime_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    known(py, &CLASS, "datetime", "datetime")
}

fn date_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    known(py, &CLASS, "datetime", "date")
}

/// `moment` as a `datetime` in UTC. What lies outside of Python's calendar, the years 1 to 9999, is
/// drawn to its ends.
pub(crate) fn datetime(py: Python<'_>, moment: Timestamp) -> PyResult<Bound<'_, PyAny>> {
    static EPOCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static SPAN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let utc = || py.import("datetime")?.getattr("timezone")?.getattr("utc");
    let epoch = EPOCH.get_or_try_init(py, || {
        datetime_class(py)?.call1((1970, 1, 1, 0, 0, 0, 0, utc()?)).map(Bound::unbind)
    })?;
    let span = known(py, &SPAN, "datetime", "timedelta")?;
    let after = span.call1((0, 0, 0, moment.as_millis()))?;
    match epoch.bind(py).add(after) {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            let end = if moment.as_millis() < 0 { "min" } else { "max" };
            let fields = PyDict::new(py);
            fields.set_item("tzinfo", utc()?)?;
            datetime_class(py)?.getattr(end)?.call_method("replace", (), Some(&fields))
        }
        other => other,
    }
}

/// A moment as a `datetime`, a bare day as a `date`.
pub(crate) fn event_time(py: Python<'_>, time: EventTime) -> PyResult<Bound<'_, PyAny>> {
    match time {
        EventTime::At(moment) => datetime(py, moment),
        EventTime::On(day) if day.year() < 1 => date_class(py)?.getattr("min"),
        EventTime::On(day) => date_class(py)?.call1((day.year(), day.month(), day.day())),
    }
}

/// A `datetime`, a `date` or text, as the text that the core reads.
///
/// # Errors
/// `InvalidInput` naming `field` for a `datetime` without a time zone, whose moment is anyone's guess,
/// and for anything else.
pub(crate) fn time_text(field: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    if value.is_instance_of::<PyString>() {
        return value.extract();
    }
    let invalid = |reason: String| Err(raised(py, &Error::invalid(field, reason)));
    if value.is_instance(&datetime_class(py)?)? {
        let text: String = value.call_method0("isoformat")?.extract()?;
        if value.call_method0("utcoffset")?.is_none() {
            return invalid(format!(
                "got the datetime {text} without a time zone, send one with tzinfo, such as \
                 datetime.now(timezone.utc) or value.astimezone(), or a date"
            ));
        }
        return Ok(text);
    }
    if value.is_instance(&date_class(py)?)? {
        return value.call_method0("isoformat")?.extract();
    }
    invalid(format!("got {}, send a datetime, a date or ISO 8601 text", value.get_type().name()?))
}

/// As [`time_text`], for what may be left out.
pub(crate) fn optional_time(
    field: &str,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<String>> {
    value.map(|value| time_text(field, value)).transpose()
}

/// A Python value as JSON, by Python's own encoder: it knows subclasses, and guards against what is too
/// deep or holds itself.
pub(crate) fn to_json(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let invalid = |reason: String| raised(py, &Error::invalid(field, reason));
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text: String = known(py, &DUMPS, "json", "dumps")?
        .call((value,), Some(&options))
        .map_err(|error| invalid(format!("got what JSON cannot hold ({})", error.value(py))))?
        .extract()?;
    serde_json::from_str(&text)
        .map_err(|error| invalid(format!("got what cannot be read: {error}")))
}

/// JSON as a Python value.
pub(crate) fn from_json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    known(py, &LOADS, "json", "loads")?.call1((value.to_string(),))
}

/// The free-form fields of a record.
pub(crate) fn metadata(value: Option<&Bound<'_, PyAny>>) -> PyResult<Metadata> {
    let Some(value) = value else { return Ok(Metadata::default()) };
    if let Value::Object(fields) = to_json("metadata", value)? {
        return Metadata::new(fields).or_raise(value.py());
    }
    let reason = format!("got {}, send a dict", value.get_type().name()?);
    Err(raised(value.py(), &Error::invalid("metadata", reason)))
}

/// The fields as a new `dict`.
pub(crate) fn fields<'py>(py: Python<'py>, metadata: &Metadata) -> PyResult<Bound<'py, PyAny>> {
    if metadata.is_empty() {
        return Ok(PyDict::new(py).into_any());
    }
    from_json(py, &Value::Object(Map::clone(metadata.fields())))
}

/// A number of the core's precision without the digits that are not its own: `0.89`, not
/// `0.8899999856948853`.
pub(crate) fn number(number: f32) -> f64 {
    (f64::from(number) * 1e6).round() / 1e6
}
