//! Which terms of a query a passage holds.

/// Some of the terms of a query, by their place among
/// [`TextQuery::terms`](super::TextQuery::terms). Only the first 128 can be
/// members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TermSet(u128);

impl TermSet {
    /// Adds the term at `place`.
    pub fn insert(&mut self, place: usize) {
        let bit = u32::try_from(place).ok().and_then(|place| 1_u128.checked_shl(place));
        self.0 |= bit.unwrap_or_default();
    }

    /// Whether the term at `place` is a member.
    pub fn contains(self, place: usize) -> bool {
        u32::try_from(place).is_ok_and(|place| self.0.checked_shr(place).unwrap_or(0) & 1 == 1)
    }

    /// The terms of either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is no member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
