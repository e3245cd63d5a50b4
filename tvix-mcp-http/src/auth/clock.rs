//! The time by which tokens end.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

/// Seconds since 1970-01-01 UTC.
pub type Seconds = u64;

/// One minute, in seconds.
pub(super) const MINUTE: Seconds = 60;
/// One hour, in seconds.
pub(super) const HOUR: Seconds = 60 * MINUTE;
/// One day, in seconds.
pub(super) const DAY: Seconds = 24 * HOUR;

/// Where the time comes from: the system, or a hand that tests move.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// The system's time.
    pub fn system() -> Self {
        Self(None)
    }

    /// A time that stands still at `now` until it is [moved](Self::advance); clones share it.
    pub fn at(now: Seconds) -> Self {
        Self(Some(Arc::new(AtomicU64::new(now))))
    }

    /// Moves a clock made by [`at`](Self::at) on; the system's time stays as it is.
    pub fn advance(&self, by: Seconds) {
        if let Some(hand) = &self.0 {
            hand.fetch_add(by, Ordering::SeqCst);
        }
    }

    /// The time now.
    pub fn now(&self) -> Seconds {
        match &self.0 {
            Some(hand) => hand.load(Ordering::SeqCst),
            // A system that says it is before 1970 would make every token look fresh for ever; at zero
            // everything issued later still ends.
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
