//! Histograms of durations with fixed bounds, for metrics.

const EXECUTIONS_MS: [u64; 15] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000];
const WAITS_MS: [u64; 13] = [
    10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000,
];

/// A histogram of durations in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    bounds: &'static [u64],
    /// Counts by the first bound that is not below the time; the last is for times above all
    /// bounds.
    counts: [u64; EXECUTIONS_MS.len() + 1],
    sum: u64,
}

impl Times {
    /// With the bounds that the OJS observability document recommends for executions.
    #[must_use]
    pub fn of_executions() -> Self {
        Self { bounds: &EXECUTIONS_MS, counts: Default::default(), sum: 0 }
    }

    /// With the bounds that it recommends for waiting.
    #[must_use]
    pub fn of_waits() -> Self {
        Self { bounds: &WAITS_MS, counts: Default::default(), sum: 0 }
    }

    pub fn record(&mut self, ms: u64) {
        self.counts[self.bounds.partition_point(|bound| *bound < ms)] += 1;
        self.sum = self.sum.saturating_add(ms);
    }

    /// Adds a histogram with the same bounds.
    pub fn merge(&mut self, other: &Times) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, n)| *sum += n);
        self.sum = self.sum.saturating_add(other.sum);
    }

    #[must_use]
    pub fn bounds(&self) -> &'static [u64] {
        self.bounds
    }

    /// Cumulative counts: for each bound, the times not above it.
    pub fn up_to_each(&self) -> impl Iterator<Item = u64> {
        let mut sum = 0;
        self.counts[..self.bounds.len()].iter().map(move |n| {
            sum += n;
            sum
        })
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_for_each_bound_that_it_does_not_exceed() {
        let mut times = Times::of_waits();
        [0, 10, 11, 3_600_000, 3_600_001].into_iter().for_each(|ms| times.record(ms));
        let up_to: Vec<u64> = times.up_to_each().collect();
        assert_eq!((up_to.len(), up_to[0], up_to[1], up_to[12]), (13, 2, 3, 4));
        assert_eq!((times.count(), times.sum()), (5, 7_200_022));
        let mut twice = times.clone();
        twice.merge(&times);
        assert_eq!((twice.count(), twice.sum()), (10, 14_400_044));
    }
}
