//! What the tests and benchmarks of this package need and no release has: the library itself, to compare
//! with what comes through Python.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use async_trait::async_trait;
use pyo3::{exceptions::PyRuntimeError, prelude::*};
use serde_json::{Value, json};
use tvix_core::{
    Tvix,
    conformance::cases::{self, Caller, Outcome},
    memory::NewMemory,
    search::Query,
    storage::{Filter, Kind, Page},
    tools::{CallContext, Service, ServiceError},
    types::{QueryText, seeded},
};

/// From now on time begins at `millis` and the same identifiers are made in the same order; `None` ends
/// that.
#[pyfunction]
#[pyo3(signature = (millis=None))]
pub(crate) fn seed(millis: Option<i64>) {
    match millis {
        Some(millis) => seeded::start(millis),
        None => seeded::stop(),
    }
}

/// The library, which notes what it was asked and what it answered.
struct Noting {
    tvix: Tvix,
    calls: Arc<Mutex<Vec<Value>>>,
}

#[async_trait]
impl Caller for Noting {
    async fn call(&mut self, tool: &str, args: Value) -> Outcome {
        let called = self.tvix.call(&CallContext::default(), tool, args.clone()).await;
        let outcome = match called {
            Ok(reply) => Outcome { text: reply.text, structured: reply.structured, error: None },
            Err(ServiceError::Failed(error)) => Outcome {
                text: error.to_string(),
                structured: Value::Null,
                error: Some(error.report()),
            },
            Err(other) => Outcome { text: other.to_string(), structured: Value::Null, error: None },
        };
        let Outcome { text, structured, error } = &outcome;
        let noted = json!({
            "tool": tool, "args": args, "text": text, "structured": structured, "error": error,
        });
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
        outcome
    }
}

/// Runs the tool cases in `folder` through the library, each with time and identifiers seeded anew by
/// `millis`: a list of `{name, calls: [{tool, args, text, structured, error}]}`, as JSON.
#[pyfunction]
pub(crate) fn rust_answers(py: Python<'_>, folder: PathBuf, millis: i64) -> PyResult<String> {
    let answers = py.detach(|| -> Result<Value, String> {
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        runtime.block_on(all(folder, millis))
    });
    answers.map(|answers| answers.to_string()).map_err(PyRuntimeError::new_err)
}

async fn all(folder: PathBuf, millis: i64) -> Result<Value, String> {
    let mut answers = Vec::new();
    for case in cases::load(&folder)? {
        seeded::start(millis);
        let calls = Arc::default();
        let mut caller = Noting { tvix: Tvix::in_memory(), calls: Arc::clone(&calls) };
        case.run(&mut caller).await?;
        let calls = std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
        answers.push(json!({"name": case.name, "calls": calls}));
    }
    seeded::stop();
    Ok(answers.into())
}

/// Runs searches for ten memories from Rust, on the folder that `store` has open, as its own method
/// does but for Python: the nanoseconds of each, for a comparison in one run.
#[pyfunction]
pub(crate) fn rust_searches(
    py: Python<'_>,
    store: &crate::tvix::Tvix,
    queries: Vec<String>,
) -> PyResult<Vec<u64>> {
    let handle = store.session.handle(py)?;
    store.session.wait(py, async move {
        let mut times = Vec::with_capacity(queries.len());
        for text in queries {
            let query = Query {
                kind: Kind::Memory,
                text: QueryText::new(text)?,
                filter: Filter::default(),
                page: Page::first(10),
            };
            let began = Instant::now();
            let answer = handle.search().search(&query).await?;
            times.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
            drop(answer);
        }
        Ok(times)
    })
}

/// Adds memories from Rust, on the folder that `store` has open: the seconds it took.
#[pyfunction]
pub(crate) fn rust_adds(
    py: Python<'_>,
    store: &crate::tvix::Tvix,
    texts: Vec<String>,
) -> PyResult<f64> {
    let handle = store.session.handle(py)?;
    store.session.wait(py, async move {
        let began = Instant::now();
        let memories = texts.into_iter().map(NewMemory::new).collect::<tvix_core::Result<_>>()?;
        handle.memory().add_many(memories).await?;
        Ok(began.elapsed().as_secs_f64())
    })
}
