//! How long a region takes to answer.

use std::time::Duration;

/// An exponentially weighted moving average of round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Latency(Option<f64>);

/// How much the newest measurement counts.
const NEWEST: f64 = 0.2;

impl Latency {
    /// Adds a measurement.
    pub fn measured(&mut self, round_trip: Duration) {
        let newest = round_trip.as_secs_f64() * 1_000.0;
        self.0 = Some(self.0.map_or(newest, |average| average + NEWEST * (newest - average)));
    }

    /// The average in milliseconds; `None` for a region that was never measured, which is not 0 ms.
    #[must_use]
    pub fn ms(self) -> Option<f64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_measurements_smoothly() {
        let mut latency = Latency::default();
        assert_eq!(latency.ms(), None);
        latency.measured(Duration::from_millis(100));
        assert_eq!(latency.ms(), Some(100.0));
        latency.measured(Duration::from_millis(200));
        assert_eq!(latency.ms(), Some(120.0));
        for _ in 0..50 {
            latency.measured(Duration::from_millis(10));
        }
        assert!(latency.ms().is_some_and(|ms| (10.0..11.0).contains(&ms)));
    }
}
