//! An open folder, and how calls on it wait.
//!
//! Each session has a runtime of its own and none is shared: after a fork a runtime has lost its threads,
//! and a call on it would wait for ever. So a session remembers the process that opened it, and the
//! child that inherits it is told to open the folder again, which gives it a runtime that works.

use std::{future::Future, pin::pin, process, sync::Arc, time::Duration};

use pyo3::{IntoPyObjectExt, prelude::*};
use tokio::runtime::{Builder, Handle as RuntimeHandle, Runtime};
use tvix_core::{Error, Result, shared::Handle, tools::CallContext};

use crate::{
    asyncio,
    error::{OrRaise, raised},
};

/// How long a blocking call may keep Python from looking for Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// The runtime only serves other processes and awaitables; blocking calls run on the thread that waits.
const WORKERS: usize = 2;

/// How the methods of an object answer.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// When the answer is there.
    Blocking,
    /// At once, with an awaitable.
    Awaitable,
}

/// A shared folder as one side of Python sees it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Session {
    open: Arc<Open>,
    mode: Mode,
}

struct Open {
    handle: Option<Handle>,
    runtime: Option<Runtime>,
    context: CallContext,
    process: u32,
}

impl Drop for Open {
    /// Lets go of the folder without making whoever dropped this wait. In a child process neither handle
    /// nor runtime may be dropped: they would wait for threads that are not there.
    fn drop(&mut self) {
        let (handle, runtime) = (self.handle.take(), self.runtime.take());
        let (Some(handle), Some(runtime)) = (handle, runtime) else { return };
        if self.process != process::id() {
            std::mem::forget((handle, runtime));
            return;
        }
        let ending = std::thread::Builder::new().name("tvix-close".to_owned());
        // Without a thread the folder is let go when the process ends.
        let _ = ending.spawn(move || {
            runtime.block_on(handle.close());
            drop(handle);
            runtime.shutdown_background();
        });
    }
}

impl Session {
    /// Opens a folder by `open` and waits for it.
    pub(crate) fn open<F>(
        py: Python<'_>,
        context: CallContext,
        mode: Mode,
        open: F,
    ) -> PyResult<Self>
    where
        F: Future<Output = Result<Handle>> + Send + 'static,
    {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(WORKERS).thread_name("tvix").enable_all();
        let runtime =
            builder.build().map_err(|error| Error::backend("starting", error)).or_raise(py)?;
        let handle = wait(py, runtime.handle(), open)?;
        let process = process::id();
        let open = Open { handle: Some(handle), runtime: Some(runtime), context, process };
        Ok(Self { open: Arc::new(open), mode })
    }

    /// The folder's handle.
    ///
    /// # Errors
    /// In a process that only inherited it.
    pub(crate) fn handle(&self, py: Python<'_>) -> PyResult<Handle> {
        self.parts().or_raise(py).map(|(handle, _)| handle.clone())
    }

    /// Who calls, for the tools.
    pub(crate) fn context(&self) -> CallContext {
        self.open.context.clone()
    }

    fn parts(&self) -> Result<(&Handle, &Runtime)> {
        let (here, there) = (process::id(), self.open.process);
        match (&self.open.handle, &self.open.runtime) {
            (Some(handle), Some(runtime)) if here == there => Ok((handle, runtime)),
            _ => Err(Error::conflict(format_args!(
                "this store was opened by process {there} and cannot be used in its child {here}: \
                 call tvix.open again there"
            ))),
        }
    }

    /// Waits for `future`, whatever the mode.
    pub(crate) fn wait<T, F>(&self, py: Python<'_>, future: F) -> PyResult<T>
    where
        F: Future<Output = Result<T>> + Send,
        T: Send,
    {
        wait(py, self.parts().or_raise(py)?.1.handle(), future)
    }

    /// Answers with what `future` comes to: waits for it, or hands out an awaitable.
    pub(crate) fn answer<T, F>(&self, py: Python<'_>, future: F) -> PyResult<Py<PyAny>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: for<'py> IntoPyObject<'py> + Send + 'static,
    {
        let (_, runtime) = self.parts().or_raise(py)?;
        match self.mode {
            Mode::Blocking => wait(py, runtime.handle(), future)?.into_py_any(py),
            Mode::Awaitable => asyncio::awaitable(py, runtime.handle(), future),
        }
    }
}

/// Waits for `future` on this thread, without the GIL. Ctrl-C drops the future: a write that has begun
/// goes on by itself, what has not begun does not happen.
fn wait<T, F>(py: Python<'_>, runtime: &RuntimeHandle, future: F) -> PyResult<T>
where
    F: Future<Output = Result<T>> + Send,
    T: Send,
{
    if RuntimeHandle::try_current().is_ok() {
        let reason = "a call from inside an embedder would wait for itself; embed without tvix";
        return Err(raised(py, &Error::conflict(reason)));
    }
    let mut future = pin!(future);
    loop {
        let step = async { tokio::time::timeout(TICK, future.as_mut()).await };
        match py.detach(|| runtime.block_on(step)) {
            Ok(answer) => return answer.or_raise(py),
            Err(_) => py.check_signals()?,
        }
    }
}
