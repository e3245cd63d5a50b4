//! The user's profile.

use pyo3::{prelude::*, types::PyString};
use tvix_core::profile;

use crate::{error::OrRaise, repr::Repr, session::Session};

/// What the user says about themself; what is not set is `""` or `[]`. Frozen.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     t.profile.set("display_name", "Robin").display_name
/// 'Robin'
#[pyclass(frozen, eq, module = "tvix")]
#[derive(Clone, PartialEq)]
pub(crate) struct Profile(profile::Profile);

#[pymethods]
impl Profile {
    /// How to address the user: at most 200 characters.
    #[getter]
    fn display_name(&self) -> &str {
        &self.0.display_name
    }

    /// What they do: at most 200 characters.
    #[getter]
    fn role(&self) -> &str {
        &self.0.role
    }

    /// At most 50 interests of at most 100 characters.
    #[getter]
    fn interests(&self) -> Vec<String> {
        self.0.interests.clone()
    }

    /// What every agent should heed: at most 4,000 characters.
    #[getter]
    fn instructions(&self) -> &str {
        &self.0.instructions
    }

    /// The IANA name of their time zone.
    #[getter]
    fn timezone(&self) -> &str {
        &self.0.timezone
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(Repr::new(py, "Profile")
            .field("display_name", self.display_name())?
            .field("role", self.role())?
            .field("interests", self.interests())?
            .field("instructions", self.instructions())?
            .field("timezone", self.timezone())?
            .end())
    }
}

/// The profile of a folder, `profile.toml`, which people also edit by hand: `Tvix.profile`.
///
/// >>> import tvix
/// >>> with tvix.open() as t:
/// ...     _ = t.profile.set("timezone", "Europe/Lisbon")
/// ...     t.profile.get().timezone
/// 'Europe/Lisbon'
#[pyclass(frozen, module = "tvix")]
pub(crate) struct ProfileFile(pub(crate) Session);

#[pymethods]
impl ProfileFile {
    /// The profile as it is now.
    ///
    /// Raises `InvalidInput` naming the line and column of what cannot be read.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.profile.get().interests
    /// []
    fn get(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let source = self.0.handle(py)?.profile_source();
        self.0.answer(py, async move { source.read().map(Profile) })
    }

    /// Sets one key and keeps the rest of the file, comments included.
    ///
    /// key: `display_name`, `role`, `interests`, `instructions` or `timezone`.
    /// value: a text; for `interests` also an iterable of texts, none with a comma in it.
    ///
    /// Raises `InvalidInput` for an unknown key or a value beyond its limit; nothing is changed then.
    ///
    /// >>> import tvix
    /// >>> with tvix.open() as t:
    /// ...     t.profile.set("interests", ["bread", "salt"]).interests
    /// ['bread', 'salt']
    fn set(&self, py: Python<'_>, key: String, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let source = self.0.handle(py)?.profile_source();
        let text = if value.is_instance_of::<PyString>() {
            value.extract::<String>()?
        } else {
            let items: Vec<String> =
                value.try_iter()?.map(|item| item?.extract()).collect::<PyResult<_>>()?;
            profile::Profile::list(&items).or_raise(py)?
        };
        self.0.answer(py, async move { source.set(&key, &text).map(Profile) })
    }
}
