//! Client ID Metadata Documents: a client whose id is the `https` address of a description of itself.
//!
//! The address comes from anybody, and this server fetches it, perhaps from within a private network. So
//! every address that the name resolves to must be public, the connection goes to just those addresses
//! without a second look-up, redirects are not followed, and time, size and number are bounded.
//!
//! TLS is done by graviola: Rust and inline assembly, so that the build compiles no C. It runs on `x86_64`
//! and `aarch64` processors with some extensions that are common since about 2015; on others documents are
//! not read, and the metadata of the server says so.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Semaphore;

use super::{clock::Seconds, limits::Buckets};

mod address;
mod document;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod fetch;
#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests;

pub(super) use document::{Document, is_address};

/// How many documents are remembered.
const MOST: usize = 256;
/// How many are fetched at the same time.
const AT_ONCE: usize = 4;
/// How long a failure is remembered, in seconds.
const FAILURE_LASTS: Seconds = 60;

/// What a fetch brings: the bytes, and for how many seconds they hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fetched {
    body: Vec<u8>,
    holds: Seconds,
}

/// Something that fetches an address.
trait Fetch: fmt::Debug + Send + Sync {
    /// Fetches it; a sentence if that is not possible or not allowed.
    fn fetch(&self, address: &str) -> Result<Fetched, String>;
}

type Known = (Result<Document, String>, Seconds);

/// The documents of clients: fetched when they are needed, and kept for a while.
#[derive(Clone)]
pub(in crate::auth) struct Documents(Arc<Inner>);

struct Inner {
    fetch: Box<dyn Fetch>,
    known: Mutex<HashMap<String, Known>>,
    turns: Semaphore,
    /// One bucket for all: whoever makes us fetch makes us fetch from somebody.
    fetches: Buckets,
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Documents").field(&self.0.fetch).finish()
    }
}

impl Documents {
    /// Ready to fetch; `None` where it is not possible: another processor, or no root certificates.
    pub(in crate::auth) fn new() -> Option<Self> {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        return fetch::Web::new().map(|web| Self::with(Box::new(web)));
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        None
    }

    fn with(fetch: Box<dyn Fetch>) -> Self {
        Self(Arc::new(Inner {
            fetch,
            known: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
            fetches: Buckets::new(60, 1),
        }))
    }

    /// The document at `address`; else a sentence that says what is wrong.
    pub(in crate::auth) async fn get(
        &self,
        address: &str,
        now: Seconds,
    ) -> Result<Document, String> {
        document::check_address(address)?;
        if let Some(known) = self.known(address, now) {
            return known;
        }
        self.0.fetches.take("", now).map_err(|_| "too many are being read; try again soon")?;
        let _turn = self.0.turns.acquire().await.map_err(|error| error.to_string())?;
        if let Some(known) = self.known(address, now) {
            return known;
        }
        let (inner, wanted) = (Arc::clone(&self.0), address.to_owned());
        let fetched = tokio::task::spawn_blocking(move || inner.fetch.fetch(&wanted)).await;
        let read = fetched.unwrap_or_else(|_| Err("the server is stopping".to_owned()));
        let (document, holds) = match read {
            Ok(fetched) => (Document::read(address, &fetched.body), fetched.holds),
            Err(reason) => (Err(reason), FAILURE_LASTS),
        };
        let holds = if document.is_ok() { holds } else { FAILURE_LASTS };
        if let Err(reason) = &document {
            tracing::info!(client = address, reason, "a client metadata document was refused");
        }
        self.remember(address, document.clone(), now, now + holds);
        document
    }

    fn known(&self, address: &str, now: Seconds) -> Option<Result<Document, String>> {
        let known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(address).filter(|(_, ends)| *ends > now).map(|(document, _)| document.clone())
    }

    fn remember(
        &self,
        address: &str,
        document: Result<Document, String>,
        now: Seconds,
        ends: Seconds,
    ) {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (_, ends)| *ends > now);
        }
        if known.len() >= MOST
            && let Some(first) =
                known.iter().min_by_key(|(_, (_, ends))| *ends).map(|(key, _)| key.clone())
        {
            known.remove(&first);
        }
        known.insert(address.to_owned(), (document, ends));
    }
}
