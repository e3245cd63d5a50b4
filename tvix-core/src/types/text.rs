//! Texts with limits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use crate::{Error, Result};

/// How a text is tidied before it is measured.
#[derive(Clone, Copy)]
enum Tidy {
    Trim,
    OneLine,
    Verbatim,
}

fn check(field: &str, text: &str, max: usize, blank_allowed: bool) -> Result<()> {
    if !blank_allowed && text.trim().is_empty() {
        return Err(Error::invalid(
            field,
            format_args!("got a blank text, send 1-{max} characters"),
        ));
    }
    let length = text.chars().count();
    if length > max {
        let range = if blank_allowed { format!("at most {max}") } else { format!("1-{max}") };
        return Err(Error::invalid(field, format_args!("got {length} characters, send {range}")));
    }
    Ok(())
}

macro_rules! bounded_text {
    ($(#[$doc:meta])* $name:ident, $field:literal, max $max:literal, $tidy:expr, blank $blank:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The greatest length, in characters.
            pub const MAX: usize = $max;
            /// The name of the argument that carries this text.
            pub const FIELD: &'static str = $field;

            /// Checks `text`.
            ///
            /// # Errors
            /// [`Error::InvalidInput`] naming the argument, what came and what is accepted.
            pub fn new(text: impl Into<String>) -> Result<Self> {
                let text = text.into();
                let text = match $tidy {
                    Tidy::OneLine => one_line(&text).trim().to_owned(),
                    Tidy::Trim if text.trim().len() < text.len() => text.trim().to_owned(),
                    Tidy::Trim | Tidy::Verbatim => text,
                };
                check(Self::FIELD, &text, Self::MAX, $blank)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, owned.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    };
}

bounded_text! {
    /// The content of a memory: 1-50,000 characters, trimmed, never blank.
    MemoryText, "content", max 50_000, Tidy::Trim, blank false
}
bounded_text! {
    /// The title of a wiki document: 1-500 characters on one line, trimmed, never blank.
    Title, "title", max 500, Tidy::OneLine, blank false
}
bounded_text! {
    /// The Markdown of a wiki document: 1-100,000 characters, kept to the letter, never blank.
    WikiText, "content", max 100_000, Tidy::Verbatim, blank false
}
bounded_text! {
    /// What is searched for: at most 1,000 characters; a blank query asks for what is recent.
    QueryText, "query", max 1_000, Tidy::Trim, blank true
}

impl QueryText {
    /// Whether this asks for what is recent instead of for a match.
    pub fn is_blank(&self) -> bool {
        self.0.is_empty()
    }
}

/// Equal for texts that differ only in case, white space and Unicode composition.
pub(crate) fn same_text_form(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    case_folded(&words.join(" "))
}

/// Equal for texts that differ only in case. Upper case first, since `ß` and `ς` have partners that
/// lower case alone does not reach.
pub(crate) fn case_folded(text: &str) -> String {
    text.to_uppercase().to_lowercase().nfc().collect::<String>().replace('ς', "σ")
}

/// `text` on one line: control characters and line ends become spaces, marks that turn the direction of
/// what follows are taken out. Titles and names stand in lists, terminals and descriptions of tools.
pub(crate) fn one_line(text: &str) -> String {
    let turns = |c: &char| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{feff}');
    let spaced =
        |c: char| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c };
    text.chars().filter(turns).map(spaced).collect()
}

/// Free-form fields that travel with a record: a JSON object of at most 16 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// The greatest size, in bytes of compact JSON.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// Checks the size of `fields`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming `metadata` when it is too large.
    pub fn new(fields: Map<String, Value>) -> Result<Self> {
        let size = serde_json::to_string(&fields)
            .map_err(|error| Error::invalid("metadata", error))?
            .len();
        if size > Self::MAX_BYTES {
            let reason = format!("got {size} bytes of JSON, send at most {}", Self::MAX_BYTES);
            return Err(Error::invalid("metadata", reason));
        }
        Ok(Self(fields))
    }

    /// The fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The fields, owned.
    pub fn into_fields(self) -> Map<String, Value> {
        self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_characters_and_the_error_names_the_field_and_the_range() {
        assert!(MemoryText::new("é".repeat(MemoryText::MAX)).is_ok());
        let error = MemoryText::new("é".repeat(MemoryText::MAX + 1)).expect_err("too long");
        assert_eq!(error.to_string(), "content: got 50001 characters, send 1-50000");
        assert!(QueryText::new("字".repeat(1_000)).is_ok());
        assert!(QueryText::new("字".repeat(1_001)).is_err());
    }

    #[test]
    fn blank_text_is_refused_except_in_a_query() {
        for blank in ["", "  \n\t", "\u{a0}\u{3000}"] {
            assert!(MemoryText::new(blank).is_err());
            assert!(Title::new(blank).is_err());
            assert!(WikiText::new(blank).is_err());
            assert!(QueryText::new(blank).is_ok_and(|query| query.is_blank()));
        }
    }

    #[test]
    fn a_memory_is_trimmed_and_a_document_is_kept_to_the_letter() {
        assert_eq!(
            MemoryText::new(" tea \n").map(MemoryText::into_string).ok().as_deref(),
            Some("tea")
        );
        assert_eq!(
            WikiText::new(" tea \n").map(WikiText::into_string).ok().as_deref(),
            Some(" tea \n")
        );
    }

    #[test]
    fn metadata_is_bounded_by_its_json() {
        let with = |size: usize| {
            let fields = Map::from_iter([("k".to_owned(), Value::from("x".repeat(size)))]);
            Metadata::new(fields)
        };
        assert!(with(Metadata::MAX_BYTES - 8).is_ok());
        assert!(with(Metadata::MAX_BYTES - 7).is_err());
    }
}
