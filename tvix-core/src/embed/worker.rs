//! Work that blocks, kept away from the caller's runtime.

use std::thread;

use tokio::sync::oneshot;

use crate::{Error, Result};

/// Runs `work` on a thread of its own and waits for it without blocking; needs no runtime. `work` is
/// given a test whether anyone still waits.
///
/// # Errors
/// What `work` returns; [`Error::Backend`] when the thread cannot be started or panicked.
pub(super) async fn run<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    let body = move || {
        let result = work(&|| !answer.is_closed());
        // Nobody waits for it any longer: nothing is lost.
        let _ = answer.send(result);
    };
    let started = thread::Builder::new().name("tvix-embed".to_owned()).spawn(body);
    started.map_err(|error| Error::backend(operation, error))?;
    answered.await.unwrap_or_else(|_| Err(Error::backend(operation, "it stopped half-way")))
}
