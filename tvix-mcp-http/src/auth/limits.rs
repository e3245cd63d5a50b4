//! How often something may be tried: delays after failures, and buckets that fill again.
//!
//! Kept in memory, for each process: a restart forgives. Both maps are bounded; when one is full, the
//! entries that matter least go.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Mutex, PoisonError},
};

use super::clock::Seconds;

/// How many keys each map holds.
const KEYS: usize = 10_000;

/// What an address counts as: IPv6 by its /64, which is what one customer has.
pub(super) fn address_key(address: Option<IpAddr>) -> String {
    match address.map(|address| address.to_canonical()) {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
    }
}

/// Delays that double with each failure.
#[derive(Debug)]
pub(super) struct Delays {
    free: u32,
    longest: Seconds,
    tries: Mutex<HashMap<String, Tries>>,
}

#[derive(Debug, Clone, Copy)]
struct Tries {
    failures: u32,
    /// Before this no further try is looked at.
    not_before: Seconds,
}

impl Delays {
    /// `free` failures cost nothing; then 1, 2, 4 … seconds, at most `longest`.
    pub(super) fn new(free: u32, longest: Seconds) -> Self {
        Self { free, longest, tries: Mutex::default() }
    }

    /// Lets a try begin, and counts it as failed until [`forgive`](Self::forgive): many at the same time
    /// count as well as one after the other.
    ///
    /// # Errors
    /// How many seconds to wait.
    pub(super) fn begin(&self, key: &str, now: Seconds) -> Result<(), Seconds> {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        self.make_room(&mut tries, key, now);
        let entry = tries.entry(key.to_owned()).or_insert(Tries { failures: 0, not_before: 0 });
        if entry.not_before > now {
            return Err(entry.not_before - now);
        }
        // A day without a try is a new beginning.
        if entry.not_before + 86_400 < now {
            entry.failures = 0;
        }
        entry.failures = entry.failures.saturating_add(1);
        entry.not_before = now + self.delay(entry.failures);
        Ok(())
    }

    /// The try was good: its failures are forgotten.
    pub(super) fn forgive(&self, key: &str) {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    fn delay(&self, failures: u32) -> Seconds {
        match failures.checked_sub(self.free + 1) {
            None => 0,
            Some(doublings) => {
                1_u64.checked_shl(doublings.min(32)).unwrap_or(u64::MAX).min(self.longest)
            }
        }
    }

    fn make_room(&self, tries: &mut HashMap<String, Tries>, key: &str, now: Seconds) {
        if tries.len() < KEYS || tries.contains_key(key) {
            return;
        }
        tries.retain(|_, entry| entry.not_before > now || entry.failures > self.free);
        if tries.len() >= KEYS {
            tries.clear();
        }
    }
}

/// Buckets of tries that fill again with time.
#[derive(Debug)]
pub(super) struct Buckets {
    size: u32,
    /// How long it takes for one more.
    refill: Seconds,
    levels: Mutex<HashMap<String, (u32, Seconds)>>,
}

impl Buckets {
    /// Buckets of `size`, one more every `refill` seconds.
    pub(super) fn new(size: u32, refill: Seconds) -> Self {
        Self { size, refill, levels: Mutex::default() }
    }

    /// Takes one from the bucket of `key`.
    ///
    /// # Errors
    /// How many seconds to wait.
    pub(super) fn take(&self, key: &str, now: Seconds) -> Result<(), Seconds> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= KEYS && !levels.contains_key(key) {
            let whole = self.refill * u64::from(self.size);
            levels.retain(|_, (_, since)| *since + whole > now);
            if levels.len() >= KEYS {
                return Err(self.refill);
            }
        }
        let (level, since) = levels.entry(key.to_owned()).or_insert((self.size, now));
        let gained = now.saturating_sub(*since) / self.refill;
        *since += gained * self.refill;
        *level = u32::try_from(gained).unwrap_or(u32::MAX).saturating_add(*level).min(self.size);
        if *level == 0 {
            return Err((*since + self.refill).saturating_sub(now).max(1));
        }
        *level -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Buckets, Delays, address_key};

    #[test]
    fn failures_cost_more_and_more_and_a_success_forgives() {
        let delays = Delays::new(2, 8);
        let mut now = 1000;
        for _ in 0..2 {
            assert_eq!(delays.begin("a", now), Ok(()));
        }
        for wait in [1, 2, 4, 8, 8] {
            assert_eq!(delays.begin("a", now), Ok(()));
            assert_eq!(delays.begin("a", now), Err(wait));
            now += wait;
        }
        delays.forgive("a");
        assert_eq!(delays.begin("a", now), Ok(()));
        assert_eq!(delays.begin("b", now), Ok(()));
    }

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let buckets = Buckets::new(2, 10);
        assert_eq!([buckets.take("a", 5), buckets.take("a", 5)], [Ok(()), Ok(())]);
        assert_eq!(buckets.take("a", 5), Err(10));
        assert_eq!(buckets.take("b", 5), Ok(()));
        assert_eq!([buckets.take("a", 15), buckets.take("a", 16)], [Ok(()), Err(9)]);
    }

    #[test]
    fn one_customer_is_one_address() {
        let key = |text: &str| address_key(Some(text.parse().unwrap()));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.7"), key("192.0.2.7"));
    }
}
