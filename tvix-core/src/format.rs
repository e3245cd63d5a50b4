//! `format.toml`: which format a data folder has, and which store.

use std::{fmt, fs, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Error, Result, files, settings::StoreKind};

/// The format this version writes.
pub(crate) const FORMAT: u32 = 1;
const FILE: &str = "format.toml";

/// What wrote a folder.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Format {
    pub(crate) format: u32,
    store: String,
    written_by: String,
}

impl Format {
    /// Reads the file in `folder`; `None` when it is not there.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        match fs::read_to_string(folder.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::backend("reading format.toml", error)),
            Ok(text) => toml::from_str(&text).map(Some).map_err(|error| {
                let text = error.to_string();
                Error::corrupt(FILE, text.lines().next().unwrap_or_default())
            }),
        }
    }

    /// The store of the folder. Refuses a newer format than `latest`, and another store than `wanted`
    /// or than this build has.
    pub(crate) fn check(&self, latest: u32, wanted: Option<StoreKind>) -> Result<StoreKind> {
        if self.format > latest {
            let (newer, ours) = (self.format, &self.written_by);
            return Err(Error::conflict(format_args!(
                "format.toml: this folder has format {newer}, written by tvix {ours}; this is tvix {}, \
                 which reads up to format {latest}: update it",
                env!("CARGO_PKG_VERSION")
            )));
        }
        let store = StoreKind::named(&self.store).ok_or_else(|| {
            let store = &self.store;
            Error::conflict(format_args!(
                "format.toml: this version knows no store {store:?}: update it"
            ))
        })?;
        match wanted.filter(|wanted| *wanted != store) {
            Some(wanted) => Err(Error::conflict(format_args!(
                "format.toml: this folder's documents are in a {store} store, and config.toml asks for \
                 {wanted}: remove `store` there, or choose another folder"
            ))),
            None if !store.is_built_in() => Err(missing(store)),
            None => Ok(store),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, store, written_by } = self;
        write!(f, "format {format}, store {store}, written by tvix {written_by}")
    }
}

/// The store for a new folder: `wanted`, or the default one.
pub(crate) fn built_in(wanted: Option<StoreKind>) -> Result<StoreKind> {
    let store = wanted.unwrap_or_default();
    if store.is_built_in() { Ok(store) } else { Err(missing(store)) }
}

/// Writes the file into `folder`.
pub(crate) fn stamp(folder: &Path, format: u32, store: StoreKind) -> Result<StoreKind> {
    let written_by = env!("CARGO_PKG_VERSION");
    let text = format!("format = {format}\nstore = \"{store}\"\nwritten_by = \"{written_by}\"\n");
    files::replace(&folder.join(FILE), text.as_bytes())?;
    Ok(store)
}

pub(crate) fn missing(store: StoreKind) -> Error {
    Error::conflict(format_args!(
        "format.toml: this folder's documents are in a {store} store, which this build does not have: \
         use one with the feature `{store}`"
    ))
}
