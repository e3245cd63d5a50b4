//! Identifiers.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Error, Result};

/// Identifier of a record: a UUID of version 7 (RFC 9562), so that later records sort after earlier
/// ones. Printed in lower case with hyphens; any spelling of a UUID is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(Uuid);

impl Id {
    /// A new identifier, greater than every one this process made before.
    pub fn new() -> Self {
        #[cfg(feature = "seeded")]
        if let Some(id) = super::seeded::next_id() {
            return id;
        }
        Self(Uuid::now_v7())
    }

    /// Reads an identifier out of the argument `field`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `field` when `text` is no UUID.
    pub fn parse(field: &str, text: &str) -> Result<Self> {
        text.parse().map_err(|()| {
            let shown: String = text.chars().take(60).collect();
            Error::invalid(field, format_args!("got {shown:?}, send the id of a record (a UUID)"))
        })
    }

    /// The 16 bytes, most significant first: their order is the order of ids.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The identifier with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

impl Default for Id {
    fn default() -> Self {
        Self::new()
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Uuid::try_parse(text.trim()).map(Self).map_err(|_| ())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Identifier of one call. A write stores it in its own transaction, so that the same call sent
/// again is answered from that record and never lands twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub Id);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_spelling_of_a_uuid_is_read_and_one_is_printed() {
        let printed = "0190b6f2-3a7e-7c11-8a55-0123456789ab";
        for spelling in [
            printed.to_owned(),
            printed.to_uppercase(),
            format!(" {printed}\n"),
            format!("{{{printed}}}"),
            format!("urn:uuid:{printed}"),
            printed.replace('-', ""),
        ] {
            assert_eq!(
                Id::parse("id", &spelling).map(|id| id.to_string()).ok().as_deref(),
                Some(printed)
            );
        }
    }

    #[test]
    fn other_text_is_refused_by_the_name_of_its_field() {
        for text in ["", "42", "0190b6f2-3a7e-7c11-8a55-0123456789a", "not an id"] {
            let error = Id::parse("doc_id", text).expect_err(text);
            assert!(error.to_string().starts_with("doc_id: got "), "{error}");
        }
    }

    #[test]
    fn later_ids_are_greater() {
        let ids: Vec<Id> = (0..1000).map(|_| Id::new()).collect();
        assert!(ids.is_sorted());
    }
}
