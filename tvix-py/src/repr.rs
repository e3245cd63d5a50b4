//! How results show themselves.

use pyo3::{IntoPyObjectExt, prelude::*};

/// How much of a text is shown, in characters.
const SHOWN: usize = 60;

/// `text`, cut to what a line has room for.
pub(crate) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The parts of a `repr`, put together as Python's dataclasses do.
pub(crate) struct Repr<'py> {
    py: Python<'py>,
    class: &'static str,
    fields: Vec<String>,
}

impl<'py> Repr<'py> {
    pub(crate) fn new(py: Python<'py>, class: &'static str) -> Self {
        Self { py, class, fields: Vec::new() }
    }

    /// Adds a field with Python's own `repr` of its value.
    pub(crate) fn field(mut self, name: &str, value: impl IntoPyObjectExt<'py>) -> PyResult<Self> {
        let shown = value.into_bound_py_any(self.py)?.repr()?;
        self.fields.push(format!("{name}={shown}"));
        Ok(self)
    }

    /// Adds a field unless there is nothing in it.
    pub(crate) fn optional(
        self,
        name: &str,
        value: Option<impl IntoPyObjectExt<'py>>,
    ) -> PyResult<Self> {
        match value {
            Some(value) => self.field(name, value),
            None => Ok(self),
        }
    }

    pub(crate) fn end(self) -> String {
        format!("{}({})", self.class, self.fields.join(", "))
    }
}
