//! Numbers that look random and are the same for the same seed.

/// A generator of numbers; `SplitMix64` by name.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `limit`, without it.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True so many times out of a hundred.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A number from the environment, or `default`.
pub(crate) fn wanted(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).unwrap_or_default();
    text.parse().unwrap_or(default)
}

/// Says which seed was in use when the test that holds it panics.
pub(crate) struct Seed(pub(crate) u64);

impl Drop for Seed {
    #[allow(clippy::print_stderr, reason = "only seen when a test fails")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with TVIX_SEED={}", self.0);
        }
    }
}
