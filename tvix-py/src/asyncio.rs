//! Answers as awaitables of asyncio.
//!
//! `pyo3-async-runtimes` does this for one runtime of the whole process, which a fork would break for
//! good; here each session has its own.

use std::future::Future;

use pyo3::{IntoPyObjectExt, prelude::*};
use tokio::{runtime::Handle as RuntimeHandle, task::AbortHandle};
use tvix_core::Result;

use crate::error::OrRaise;

/// Runs `future` on `runtime`; the answer is a future of the running event loop. Cancelling that one
/// drops this one.
///
/// # Errors
/// When no event loop is running.
pub(crate) fn awaitable<T, F>(
    py: Python<'_>,
    runtime: &RuntimeHandle,
    future: F,
) -> PyResult<Py<PyAny>>
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    let event_loop = py.import("asyncio")?.call_method0("get_running_loop")?;
    let waiter = event_loop.call_method0("create_future")?;
    let (event_loop, told) = (event_loop.unbind(), waiter.clone().unbind());
    let task = runtime.spawn(async move {
        let outcome = future.await;
        // Nobody waits for it once the interpreter is ending.
        let _ = Python::try_attach(|py| tell(py, event_loop.bind(py), told, outcome));
    });
    waiter.call_method1("add_done_callback", (Cancel(task.abort_handle()),))?;
    Ok(waiter.unbind())
}

/// Hands `outcome` to the event loop, whose futures only its own thread may settle.
fn tell<T>(
    py: Python<'_>,
    event_loop: &Bound<'_, PyAny>,
    waiter: Py<PyAny>,
    outcome: Result<T>,
) -> PyResult<()>
where
    T: for<'py> IntoPyObject<'py>,
{
    let (method, value) = match outcome.or_raise(py).and_then(|value| value.into_py_any(py)) {
        Ok(value) => ("set_result", value),
        Err(error) => ("set_exception", error.into_value(py).into_py_any(py)?),
    };
    event_loop.call_method1("call_soon_threadsafe", (Settle { waiter, method, value },))?;
    Ok(())
}

/// Settles a future unless it was cancelled.
#[pyclass(frozen)]
struct Settle {
    waiter: Py<PyAny>,
    method: &'static str,
    value: Py<PyAny>,
}

#[pymethods]
impl Settle {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let waiter = self.waiter.bind(py);
        if !waiter.call_method0("done")?.extract::<bool>()? {
            waiter.call_method1(self.method, (&self.value,))?;
        }
        Ok(())
    }
}

/// Called when the future is done: ends the task if that is because it was cancelled.
#[pyclass(frozen)]
struct Cancel(AbortHandle);

#[pymethods]
impl Cancel {
    fn __call__(&self, waiter: &Bound<'_, PyAny>) -> PyResult<()> {
        if waiter.call_method0("cancelled")?.extract()? {
            self.0.abort();
        }
        Ok(())
    }
}
