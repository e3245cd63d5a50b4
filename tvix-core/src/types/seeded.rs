//! A clock and identifiers that are the same in every run: for tests that compare whole answers.
//!
//! The seed is one for the whole process, so such tests run one at a time.

use std::sync::{Mutex, PoisonError};

use super::{Id, Timestamp};

/// Where the clock stands, and how many identifiers were made.
static SEED: Mutex<Option<(i64, u64)>> = Mutex::new(None);

/// From now on time begins at `millis` and goes on by a millisecond with each question, and the same
/// identifiers are made in the same order.
pub fn start(millis: i64) {
    *SEED.lock().unwrap_or_else(PoisonError::into_inner) = Some((millis, 0));
}

/// From now on clock and identifiers are real again.
pub fn stop() {
    *SEED.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// The moment, if time was seeded.
pub(super) fn now() -> Option<Timestamp> {
    let mut seed = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let (millis, _) = seed.as_mut()?;
    *millis += 1;
    Some(Timestamp::from_millis(*millis))
}

/// The next identifier, if identifiers were seeded. All have the same time in them, so that they differ
/// in nothing but their number.
pub(super) fn next_id() -> Option<Id> {
    let mut seed = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, count) = seed.as_mut()?;
    *count += 1;
    let mut bytes = *b"\x01\x9a\x7f\xff\xff\xff\x70\0\x80\0\0\0\0\0\0\0";
    bytes[9..].copy_from_slice(&count.to_be_bytes()[1..]);
    Some(Id::from_bytes(bytes))
}
