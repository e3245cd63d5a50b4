//! Plain validated types: every limit of the product stands here, once.
//!
//! A value of one of these types is proof that its text was checked; nothing behind the door checks
//! again. Lengths count characters (Unicode scalar values), never bytes.

mod ids;
mod project;
#[cfg(feature = "seeded")]
pub mod seeded;
mod source;
mod text;
mod time;

use serde::{Deserialize, Serialize};

pub use ids::{Id, RequestId};
pub use project::{BASIC, ProjectName, ProjectSlug};
pub use source::{Source, SourceKey};
pub(crate) use text::same_text_form;
pub use text::{MemoryText, Metadata, QueryText, Title, WikiText};
use text::{case_folded, one_line};
pub use time::{Clock, EventTime, SystemClock, TimeRange, TimeZone, Timestamp};

/// What an edit does with one field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Patch<T> {
    /// Leaves it as it is.
    #[default]
    Keep,
    /// Empties it.
    Clear,
    /// Gives it this value.
    Set(T),
}
