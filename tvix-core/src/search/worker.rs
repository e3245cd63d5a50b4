//! Threads for models that take their time: one that embeds what was stored, and one for each query,
//! which waits no longer than it may.

use std::{
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, mpsc},
    thread,
    time::Duration,
};

use async_lock::OnceCell;

use super::meaning::{embed_changes, one_vector};
use crate::{
    Error, Result, Tvix,
    embed::{Embedder, Vector},
    tvix::WeakTvix,
};

/// A query waits so long for its vector, then it is answered by word alone.
const DEADLINE: Duration = Duration::from_secs(2);
/// The pause after a failure, which doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// The thread that embeds what was stored. It begins with the first document and ends with the last
/// handle.
#[derive(Debug, Default)]
pub(super) struct Worker(OnceLock<Arc<Signal>>);

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: bool,
    stop: bool,
}

impl Worker {
    /// Says that there is something to embed.
    pub(super) fn wake(&self, tvix: &Tvix) {
        let signal = self.0.get_or_init(|| start(tvix.downgrade()));
        signal.set(|state| state.wanted = true);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(signal) = self.0.get() {
            signal.set(|state| state.stop = true);
        }
    }
}

impl Signal {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits for work; false when it is time to stop.
    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| !state.wanted && !state.stop;
        let mut state = match self.changed.wait_while(state, idle) {
            Ok(state) => state,
            Err(poisoned) => poisoned.into_inner(),
        };
        state.wanted = false;
        !state.stop
    }

    fn goes_on(&self) -> bool {
        !self.state.lock().unwrap_or_else(PoisonError::into_inner).stop
    }

    /// Rests for `pause`; false when it is time to stop.
    fn rest(&self, pause: Duration) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.changed.wait_timeout_while(state, pause, |state| !state.stop) {
            Ok((state, _)) => !state.stop,
            Err(_) => false,
        }
    }
}

fn start(tvix: WeakTvix) -> Arc<Signal> {
    let signal = Arc::new(Signal::default());
    let thread = thread::Builder::new().name("tvix-embed".into());
    let spawned = thread.spawn({
        let signal = Arc::clone(&signal);
        move || run(&tvix, &signal)
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "documents cannot be embedded: no thread");
    }
    signal
}

fn run(tvix: &WeakTvix, signal: &Signal) {
    let Ok(runtime) = runtime() else { return };
    let mut pause = PAUSE_MIN;
    while signal.wait() {
        match runtime.block_on(embed_all(tvix, signal)) {
            Ok(()) => pause = PAUSE_MIN,
            Err(error) => {
                tracing::warn!(%error, "documents could not be embedded, trying again");
                if !signal.rest(pause) {
                    return;
                }
                pause = (pause * 2).min(PAUSE_MAX);
                signal.set(|state| state.wanted = true);
            }
        }
    }
}

/// Embeds step by step. The handle is let go while the model works: whoever drops the last one must
/// not wait for that.
async fn embed_all(tvix: &WeakTvix, signal: &Signal) -> Result<()> {
    while signal.goes_on() {
        let Some(strong) = tvix.upgrade() else { return Ok(()) };
        let (embedder, changes) =
            (strong.meaning().embedder().cloned(), strong.not_embedded().await?);
        drop(strong);
        let Some(embedder) = embedder.filter(|_| !changes.is_empty()) else { return Ok(()) };
        let vectors = embed_changes(embedder.as_ref(), &changes).await;
        let Some(strong) = tvix.upgrade() else { return Ok(()) };
        strong.take_vectors(vectors, &changes).await?;
    }
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// The vector of the query `text`, unless it takes too long.
pub(super) async fn within_deadline(embedder: Arc<dyn Embedder>, text: String) -> Result<Vector> {
    let answer: Arc<OnceCell<Result<Vector>>> = Arc::new(OnceCell::new());
    let waiting = thread::Builder::new().name("tvix-query".into()).spawn({
        let answer = Arc::clone(&answer);
        move || _ = answer.set_blocking(wait_for(embedder, text))
    });
    waiting.map_err(|error| Error::backend("embedding", error))?;
    let vector = answer.wait().await;
    vector.as_ref().cloned().map_err(|error| Error::backend("embedding", error.to_string()))
}

fn wait_for(embedder: Arc<dyn Embedder>, text: String) -> Result<Vector> {
    let (send, receive) = mpsc::channel();
    thread::Builder::new()
        .name("tvix-embed-query".into())
        .spawn(move || {
            let vector = runtime()
                .map_err(|error| Error::backend("embedding", error))
                .and_then(|runtime| runtime.block_on(one_vector(embedder.as_ref(), &text)));
            // Nobody waits any more when it took too long.
            let _ = send.send(vector);
        })
        .map_err(|error| Error::backend("embedding", error))?;
    receive.recv_timeout(DEADLINE).unwrap_or_else(|_| {
        Err(Error::Backend {
            operation: "embedding".to_owned(),
            reason: format!("no answer within {} seconds", DEADLINE.as_secs()),
            source: None,
        })
    })
}
