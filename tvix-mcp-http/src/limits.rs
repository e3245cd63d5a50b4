//! How many calls are answered at a time: in all, and of one caller.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::{config::Limits, refusal::Refusal};

/// Counts calls. Nothing waits here: who comes too often is told when to come again, since a queue
/// would only hide the load and outlast the caller's patience.
#[derive(Debug)]
pub(crate) struct InFlight {
    all: Arc<Semaphore>,
    each: usize,
    callers: Arc<Mutex<HashMap<Uuid, usize>>>,
}

/// The right to be answered, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    caller: Uuid,
    callers: Arc<Mutex<HashMap<Uuid, usize>>>,
    _all: OwnedSemaphorePermit,
}

impl InFlight {
    pub(crate) fn new(limits: &Limits) -> Self {
        let all = Arc::new(Semaphore::new(limits.calls));
        Self { all, each: limits.calls_per_token, callers: Arc::default() }
    }

    /// Lets one more call of `caller` in.
    pub(crate) fn enter(&self, caller: Uuid) -> Result<Permit, Refusal> {
        let full = || {
            Refusal::busy(
                StatusCode::TOO_MANY_REQUESTS,
                "the server answers as many calls as it may; try again",
            )
        };
        let all = Arc::clone(&self.all).try_acquire_owned().map_err(|_| full())?;
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = callers.entry(caller).or_default();
        if *count >= self.each {
            return Err(Refusal::busy(
                StatusCode::TOO_MANY_REQUESTS,
                "this token has as many calls under way as it may; wait for one to be answered",
            ));
        }
        *count += 1;
        Ok(Permit { caller, callers: Arc::clone(&self.callers), _all: all })
    }

    /// How many calls are under way.
    pub(crate) fn count(&self) -> usize {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = callers.entry(self.caller) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(calls: usize, each: usize) -> InFlight {
        InFlight { all: Arc::new(Semaphore::new(calls)), each, callers: Arc::default() }
    }

    #[test]
    fn one_caller_cannot_take_the_place_of_another() {
        let limits = limits(3, 2);
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let held = (limits.enter(one), limits.enter(one));
        assert!(held.0.is_ok() && held.1.is_ok() && limits.enter(one).is_err());
        let last = limits.enter(other);
        assert!(last.is_ok() && limits.enter(Uuid::from_u128(3)).is_err());
        drop(held);
        assert!(limits.enter(one).is_ok());
        drop(last);
        assert_eq!(limits.count(), 0);
    }
}
