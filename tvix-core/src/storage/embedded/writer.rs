//! One thread that owns writing.
//!
//! What waits in the queue when it comes to look is committed together: under load many callers
//! share one sync of the disk, and a lone caller never waits for company.

use std::{sync::mpsc, thread::JoinHandle};

use tokio::sync::oneshot;

use super::{Database, Failure, Fault, apply, rows::Tables};
use crate::{
    Error, Result,
    storage::{Batch, Operation, Written},
};

/// The most batches in one commit: what a caller waits for beyond its own stays small.
const GROUP_BATCHES: usize = 256;
/// The most text in one commit, in bytes.
const GROUP_BYTES: usize = 8 << 20;

/// What a commit is called in messages.
pub(super) const OPERATION: &str = "store documents";

/// The queue and its thread.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while this is dropped.
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    batch: Batch,
    reply: oneshot::Sender<Result<Written>>,
}

impl Writer {
    /// Starts a thread that hands what waits in the queue to `commit`, a group at a time.
    pub(super) fn start(
        commit: impl Fn(&[Batch]) -> Result<Vec<Result<Written>>> + Send + 'static,
    ) -> Result<Self> {
        let (queue, jobs) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("tvix-writer".to_owned())
            .spawn(move || run(commit, &jobs))
            .map_err(|error| Error::backend("start the writer thread", error))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues `batch` and waits for its commit. A caller that stops waiting does not call it back.
    pub(super) async fn write(&self, batch: Batch) -> Result<Written> {
        let (reply, answer) = oneshot::channel();
        // Both fail only if the thread is gone, and then nobody holds the other end.
        let queued = self.queue.as_ref().is_some_and(|it| it.send(Job { batch, reply }).is_ok());
        match answer.await {
            Ok(written) if queued => written,
            _ => Err(Error::backend(OPERATION, "the writer thread has ended; open the store anew")),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// Works until the store is dropped and the queue is empty.
fn run(commit: impl Fn(&[Batch]) -> Result<Vec<Result<Written>>>, jobs: &mpsc::Receiver<Job>) {
    while let Ok(first) = jobs.recv() {
        let (batches, replies): (Vec<_>, Vec<_>) =
            gather(first, jobs).into_iter().map(|job| (job.batch, job.reply)).unzip();
        match commit(&batches) {
            Ok(answers) => replies.into_iter().zip(answers).for_each(|(reply, answer)| {
                // The caller may have stopped waiting.
                let _ = reply.send(answer);
            }),
            Err(error) => replies.into_iter().for_each(|reply| {
                let _ = reply.send(Err(error.report().into()));
            }),
        }
    }
}

/// `first` and what else waits already, up to the bounds.
fn gather(first: Job, jobs: &mpsc::Receiver<Job>) -> Vec<Job> {
    let mut bytes = weight(&first.batch);
    let mut group = vec![first];
    while group.len() < GROUP_BATCHES && bytes < GROUP_BYTES {
        let Ok(job) = jobs.try_recv() else { break };
        bytes += weight(&job.batch);
        group.push(job);
    }
    group
}

fn weight(batch: &Batch) -> usize {
    let weight = |operation: &Operation| match operation {
        Operation::Put { document, .. } => document.text.len(),
        Operation::Delete { .. } => 0,
    };
    batch.operations.iter().map(weight).sum()
}

/// Commits the batches in one transaction. One that meets a damaged record gets an error of its
/// own: the transaction is begun again without it.
pub(super) fn commit<D: Database>(
    database: &D,
    batches: &[Batch],
) -> Result<Vec<Result<Written>>, Fault<D::Failure>> {
    let mut damaged: Vec<Option<Error>> = batches.iter().map(|_| None).collect();
    loop {
        let staged = database.write(|tables| {
            let staged = stage(tables, batches, &damaged)?;
            Ok((staged.as_ref().is_ok_and(|answers| change_something(answers)), staged))
        })?;
        match staged {
            Ok(answers) => {
                let answers = answers.into_iter().zip(damaged);
                return Ok(answers
                    .filter_map(|(answer, error)| answer.map(Ok).or(error.map(Err)))
                    .collect());
            }
            Err((index, error)) => damaged[index] = Some(error),
        }
    }
}

fn change_something(answers: &[Option<Written>]) -> bool {
    answers.iter().any(|answer| matches!(answer, Some(Written::Done { .. })))
}

type Staged = Result<Vec<Option<Written>>, (usize, Error)>;

/// Applies every batch that is not known to be `damaged`; the inner error names the next such.
fn stage<F: Failure>(
    tables: &mut dyn Tables<Failure = F>,
    batches: &[Batch],
    damaged: &[Option<Error>],
) -> Result<Staged, Fault<F>> {
    let mut answers = Vec::with_capacity(batches.len());
    for (index, batch) in batches.iter().enumerate() {
        if damaged[index].is_some() {
            answers.push(None);
            continue;
        }
        match apply::write(tables, batch) {
            Ok(written) => answers.push(Some(written)),
            Err(Fault::Record(error)) => return Ok(Err((index, error))),
            Err(fault) => return Err(fault),
        }
    }
    Ok(Ok(answers))
}
