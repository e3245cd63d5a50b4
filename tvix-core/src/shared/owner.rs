//! The side of the socket that answers.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncWriteExt as _, split},
    sync::{Semaphore, mpsc, watch},
    task::{AbortHandle, JoinHandle, JoinSet},
};

use super::{
    frame::{self, Call, Greeting, PROTOCOL, Request, Response, Welcome},
    operation,
    transport::{Listener, Stream},
};
use crate::{Error, Result, Settings, Tvix, format, types::RequestId};

/// How long a client may take to greet.
const GREETING: Duration = Duration::from_secs(5);
/// How many calls of one client are worked on at a time; the next waits in the socket.
const IN_FLIGHT: usize = 256;

/// The open store, and the tasks that answer other processes.
#[derive(Debug)]
pub(super) struct Owner {
    /// Its last clone lets go of the folder's lock, so every task that holds one must end first.
    tvix: Tvix,
    stop: watch::Sender<bool>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Owner {
    /// Answers on the socket of `folder`. Whoever calls this holds the lock of the folder.
    pub(super) fn start(tvix: Tvix, folder: &Path) -> Result<Self> {
        let listener = Listener::bind(folder)
            .map_err(|error| Error::backend("listening on the folder's socket", error))?;
        let (stop, stopped) = watch::channel(false);
        let listening = tokio::spawn(listen(listener, tvix.clone(), stopped));
        Ok(Self { tvix, stop, listening: Mutex::new(Some(listening)) })
    }

    pub(super) fn tvix(&self) -> &Tvix {
        &self.tvix
    }

    /// Stops listening, finishes what clients have in flight and hangs up.
    pub(super) async fn close(&self) {
        // Nobody listens any more only if that task has ended.
        let _ = self.stop.send(true);
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listening) = listening {
            // It ends by itself; a panic in it was reported where it happened.
            let _ = listening.await;
        }
    }
}

/// Accepts clients until it is told to stop, then waits for their calls.
async fn listen(listener: Listener, tvix: Tvix, mut stopped: watch::Receiver<bool>) {
    let mut clients = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => break,
        };
        while clients.try_join_next().is_some() {}
        match accepted {
            Ok(stream) => {
                clients.spawn(serve(stream, tvix.clone(), stopped.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

async fn serve(mut stream: Stream, tvix: Tvix, stopped: watch::Receiver<bool>) {
    let welcomed = tokio::time::timeout(GREETING, welcome(&mut stream, tvix.settings())).await;
    match welcomed {
        Ok(Ok(true)) => Connection::new(tvix).run(stream, stopped).await,
        Ok(Ok(false)) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client did not greet"),
    }
}

/// Answers the greeting; false when the client cannot be served.
async fn welcome(stream: &mut Stream, settings: &Settings) -> Result<bool> {
    let Some(greeting) = frame::read::<Greeting>(stream).await? else { return Ok(false) };
    let err = mismatch(&greeting);
    let differs = greeting.settings.is_some_and(|theirs| theirs != *settings);
    let warning = differs.then(|| {
        "another process owns the folder and its settings are in force here; they differ from yours"
            .to_owned()
    });
    let ok = err.is_none();
    frame::write(stream, &Welcome { ok, err, warning }).await?;
    Ok(ok)
}

fn mismatch(greeting: &Greeting) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    let theirs = &greeting.version;
    if greeting.tvix == PROTOCOL && greeting.format == format::FORMAT {
        return None;
    }
    let older = greeting.tvix < PROTOCOL || greeting.format < format::FORMAT;
    let advice = if older {
        format!("update the tvix that you start here (version {theirs})")
    } else {
        format!("update and restart the tvix that owns the folder (version {ours})")
    };
    Some(format!(
        "the data folder is owned by a tvix of version {ours}, this one is {theirs}: {advice}"
    ))
}

/// One client.
struct Connection {
    tvix: Tvix,
    places: Arc<Semaphore>,
    running: Arc<Mutex<HashMap<RequestId, AbortHandle>>>,
    calls: JoinSet<()>,
}

impl Connection {
    fn new(tvix: Tvix) -> Self {
        let places = Arc::new(Semaphore::new(IN_FLIGHT));
        Self { tvix, places, running: Arc::default(), calls: JoinSet::new() }
    }

    /// Answers the client until it hangs up or the owner stops. A client that hangs up no longer waits
    /// for its calls, but a write that was begun goes on.
    async fn run(mut self, stream: Stream, mut stopped: watch::Receiver<bool>) {
        let (mut from, mut to) = split(stream);
        let (outbox, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
        let writing = tokio::spawn(async move {
            while let Some(bytes) = frames.recv().await {
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        loop {
            let request = tokio::select! {
                request = frame::read::<Request>(&mut from) => request,
                _ = stopped.changed() => break,
            };
            match request {
                Ok(Some(Request::Call(call))) => self.begin(call, outbox.clone()).await,
                Ok(Some(Request::Cancel { id, .. })) => self.cancel(id),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "a client sent a frame that cannot be read");
                    break;
                }
            }
        }
        drop(outbox);
        while self.calls.join_next().await.is_some() {}
        // It ends when the last answer is written.
        let _ = writing.await;
    }

    async fn begin(&mut self, call: Call, outbox: mpsc::UnboundedSender<Vec<u8>>) {
        let place = Arc::clone(&self.places).acquire_owned().await;
        while self.calls.try_join_next().is_some() {}
        let (id, tvix, running) = (call.id, self.tvix.clone(), Arc::clone(&self.running));
        let task = self.calls.spawn(async move {
            let response = Response::new(id, operation::perform(&tvix, call).await);
            running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            let bytes = frame::encode(&response)
                .or_else(|error| frame::encode(&Response::new(id, Err(error))));
            // A client that has hung up needs no answer.
            let _ = bytes.map(|bytes| outbox.send(bytes));
            drop(place);
        });
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id, task);
    }

    fn cancel(&self, id: RequestId) {
        let task = self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(task) = task {
            task.abort();
        }
    }
}
