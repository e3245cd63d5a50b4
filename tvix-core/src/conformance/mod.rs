//! The suite that a backend passes before Tvix relies on it: one function per sentence of the
//! traits' contracts, for the stores of this crate and for those of others.
//!
//! ```
//! use tvix_core::{conformance, storage::MemoryStore};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! conformance::documents(async || MemoryStore::new()).await;
//! # }
//! ```
//!
//! The suite needs no runtime of its own; a backend that does is run inside of it. To get one test
//! per sentence, go over [`documents::ALL`].
#![allow(clippy::panic, reason = "a violated contract is reported by a panic")]
#![allow(clippy::missing_panics_doc, reason = "that is what these functions are for")]

use std::{
    any::Any,
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
};

pub use index::index;

use crate::storage::DocumentStore;

pub mod cases;
pub mod documents;
mod index;
#[cfg(feature = "local")]
#[doc(hidden)]
pub mod migration;
mod samples;

type Checking<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One sentence of the contract of [`DocumentStore`], ready to be checked.
#[derive(Clone, Copy)]
pub struct DocumentCheck {
    name: &'static str,
    run: fn(&dyn DocumentStore) -> Checking<'_>,
}

impl DocumentCheck {
    /// The sentence, with `_` between its words.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Checks it on `store`, which must be empty and used by nobody else.
    ///
    /// # Panics
    /// When the store breaks it.
    pub async fn run(&self, store: &dyn DocumentStore) {
        (self.run)(store).await;
    }
}

impl fmt::Debug for DocumentCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DocumentCheck").field(&self.name).finish()
    }
}

/// Checks every sentence of the contract of [`DocumentStore`], each on a fresh empty store that
/// `open` makes.
///
/// # Panics
/// At the end, with every sentence that the store breaks and how that was noticed.
pub async fn documents<S: DocumentStore>(open: impl AsyncFn() -> S) {
    let mut broken = Vec::new();
    for check in documents::ALL {
        let store = open().await;
        if let Err(panic) = caught((check.run)(&store)).await {
            broken.push(format!("{}: {}", check.name, text_of(panic.as_ref())));
        }
    }
    assert!(broken.is_empty(), "the store breaks its contract:\n{}", broken.join("\n"));
}

/// Runs `check` to its end or to its panic.
async fn caught(mut check: Checking<'_>) -> Result<(), Box<dyn Any + Send>> {
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| check.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text")
}
