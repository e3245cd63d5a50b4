//! Lists page by page, and the filters of lists and searches.

use std::{collections::VecDeque, future::Future};

use pyo3::{
    exceptions::{PyIndexError, PyTypeError},
    prelude::*,
    types::{PyDict, PyIterator, PyList, PyString},
};
use tvix_core::{
    search::{Criteria, Recent},
    shared::Handle,
    storage::{Filter, Kind, Page},
};

use crate::{convert, error::OrRaise, session::Session};

/// What stands at `index`, counted from the end when negative.
pub(crate) fn at<T>(items: &[T], index: isize) -> PyResult<&T> {
    let place = if index < 0 { index.checked_add_unsigned(items.len()) } else { Some(index) };
    let found =
        place.and_then(|place| usize::try_from(place).ok()).and_then(|place| items.get(place));
    found.ok_or_else(|| PyIndexError::new_err("index out of range"))
}

/// An iterator over what a result holds.
pub(crate) fn iterate<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: Vec<T>,
) -> PyResult<Bound<'py, PyIterator>> {
    PyList::new(py, items)?.try_iter()
}

/// Reads keyword arguments into a filter of records of `kind`.
pub(crate) fn filter(
    py: Python<'_>,
    handle: &Handle,
    kind: Kind,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Filter> {
    let mut criteria = Criteria::default();
    for (key, value) in given.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        match key.extract::<String>()?.as_str() {
            "project" => criteria.project = Some(value.extract()?),
            "sources" => criteria.sources = texts(&value)?,
            "date_from" => criteria.date_from = Some(convert::time_text("date_from", &value)?),
            "date_to" => criteria.date_to = Some(convert::time_text("date_to", &value)?),
            "timezone" => criteria.timezone = Some(value.extract()?),
            other => return Err(unexpected(other)),
        }
    }
    criteria.filter(kind, || handle.zone()).or_raise(py)
}

/// What Python raises for a keyword argument that a method has not.
pub(crate) fn unexpected(name: &str) -> PyErr {
    PyTypeError::new_err(format!("got an unexpected keyword argument {name:?}"))
}

/// One text, or any iterable of texts.
fn texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.extract()?]);
    }
    value.try_iter()?.map(|text| text?.extract()).collect()
}

/// The rest of a list.
pub(crate) struct Slice<T> {
    session: Session,
    filter: Filter,
    page: Page,
    read: VecDeque<T>,
    has_more: bool,
}

impl<T: Send> Slice<T> {
    pub(crate) fn new(session: Session, filter: Filter, page: Page) -> Self {
        Self { session, filter, page, read: VecDeque::new(), has_more: true }
    }

    /// The next entry; reads a page with `read` when none is left.
    pub(crate) fn next<F>(
        &mut self,
        py: Python<'_>,
        read: impl FnOnce(Handle, Filter, Page) -> F,
    ) -> PyResult<Option<T>>
    where
        F: Future<Output = tvix_core::Result<Recent<T>>> + Send,
    {
        if self.read.is_empty() && self.has_more {
            let future = read(self.session.handle(py)?, self.filter.clone(), self.page);
            let Recent { records, has_more } = self.session.wait(py, future)?;
            self.page.offset += records.len();
            self.read = records.into();
            self.has_more = has_more;
        }
        Ok(self.read.pop_front())
    }
}
