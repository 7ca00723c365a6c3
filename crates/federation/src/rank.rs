//! Comparing regions.

use std::cmp::Ordering;

use crate::observed::Standing;

/// How good a region is for one job, best first: its standing, its place in a configured order, and then a value
/// such as its latency. An unknown value is infinite: worse than any that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rank {
    pub standing: Standing,
    pub place: u32,
    pub value: f64,
}

impl Rank {
    pub fn compare(&self, other: &Self) -> Ordering {
        let by_order = self.standing.cmp(&other.standing).then(self.place.cmp(&other.place));
        by_order.then(self.value.total_cmp(&other.value))
    }

    /// Whether this rank is as good as the best one: of the same standing and place, with a value of at most
    /// `most`.
    pub fn equals(&self, best: &Self, most: f64) -> bool {
        self.standing == best.standing && self.place == best.place && self.value <= most
    }
}
