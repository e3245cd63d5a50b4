//! The side of the socket that asks.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncWriteExt as _, split},
    sync::{mpsc, oneshot},
};

use super::{
    frame::{self, Call, Greeting, PROTOCOL, Request, Response, Welcome},
    transport::{self, Stream},
};
use crate::{Error, Result, Settings, format, types::RequestId};

/// How long an owner may take to answer a greeting.
const GREETING: Duration = Duration::from_secs(5);

/// The connection broke before the answer came.
#[derive(Debug)]
pub(super) struct Lost;

/// A connection to the process that owns the folder.
#[derive(Debug)]
pub(super) struct Client {
    outbox: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
}

/// Calls without an answer so far; `None` when the connection has broken.
#[derive(Debug)]
struct Waiting(Mutex<Option<HashMap<RequestId, oneshot::Sender<Response>>>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<RequestId, oneshot::Sender<Response>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, id: RequestId) -> Option<oneshot::Sender<Response>> {
        self.lock().as_mut().and_then(|calls| calls.remove(&id))
    }
}

impl Client {
    /// Connects to the owner of `folder` and greets it.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the owner speaks another protocol; anything else is worth another try.
    pub(super) async fn connect(folder: &Path, settings: &Settings) -> Result<Self> {
        let mut stream = transport::connect(folder)
            .await
            .map_err(|error| Error::backend("connecting to the owner of the folder", error))?;
        tokio::time::timeout(GREETING, greet(&mut stream, settings)).await.map_err(|_| {
            Error::backend("greeting the owner of the folder", "it does not answer")
        })??;
        Ok(Self::start(stream))
    }

    fn start(stream: Stream) -> Self {
        let (mut from, mut to) = split(stream);
        let (outbox, mut frames) = mpsc::unbounded_channel::<Vec<u8>>();
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let answered = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Ok(Some(response)) = frame::read::<Response>(&mut from).await {
                if let Some(caller) = answered.take(response.id) {
                    // The caller may have stopped waiting.
                    let _ = caller.send(response);
                }
            }
            // Dropping the senders tells every caller that its connection is lost.
            answered.lock().take();
        });
        tokio::spawn(async move {
            while let Some(bytes) = frames.recv().await {
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        Self { outbox, waiting }
    }

    /// Sends `call` and waits for its answer. A caller that stops waiting cancels it.
    pub(super) async fn send(&self, call: &Call) -> Result<Result<Value>, Lost> {
        let bytes = match frame::encode(call) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        let (caller, answer) = oneshot::channel();
        match self.waiting.lock().as_mut() {
            Some(calls) => calls.insert(call.id, caller),
            None => return Err(Lost),
        };
        let _cancel = Cancel { client: self, id: call.id };
        self.outbox.send(bytes).map_err(|_| Lost)?;
        answer.await.map(Response::into_answer).map_err(|_| Lost)
    }
}

/// Cancels a call whose caller has gone before the answer.
struct Cancel<'a> {
    client: &'a Client,
    id: RequestId,
}

impl Drop for Cancel<'_> {
    fn drop(&mut self) {
        if self.client.waiting.take(self.id).is_none() {
            return;
        }
        if let Ok(bytes) = frame::encode(&Request::Cancel { id: self.id, cancel: true }) {
            // A broken connection cancels it as well.
            let _ = self.client.outbox.send(bytes);
        }
    }
}

async fn greet(stream: &mut Stream, settings: &Settings) -> Result<()> {
    let greeting = Greeting {
        tvix: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        format: format::FORMAT,
        settings: Some(settings.clone()),
    };
    frame::write(stream, &greeting).await?;
    let welcome: Option<Welcome> = frame::read(stream).await?;
    let Some(welcome) = welcome else {
        return Err(Error::backend("greeting the owner of the folder", "it hung up"));
    };
    if let Some(warning) = welcome.warning {
        tracing::warn!("{warning}");
    }
    match welcome.err {
        Some(reason) => Err(Error::conflict(reason)),
        None => Ok(()),
    }
}
