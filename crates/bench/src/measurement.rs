//! The operations and request times of a measurement.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Number of operations, and histograms of request times by kind of request.
pub(crate) struct Measurement {
    pub operations: u64,
    pub requests: u64,
    pub seconds: f64,
    times: Vec<Histogram<u64>>,
}

/// Percentiles of request times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
}

impl Measurement {
    pub fn new() -> Self {
        Self { operations: 0, requests: 0, seconds: 0.0, times: Vec::new() }
    }

    pub fn record(&mut self, kind: usize, operations: u64, time: Duration) {
        self.operations += operations;
        self.requests += 1;
        while self.times.len() <= kind {
            self.times.push(histogram());
        }
        self.times[kind].saturating_record(time.as_nanos().try_into().unwrap_or(u64::MAX));
    }

    /// Adds another round of the same measurement.
    pub fn add(&mut self, other: &Measurement) {
        self.operations += other.operations;
        self.requests += other.requests;
        self.seconds += other.seconds;
        for (kind, times) in other.times.iter().enumerate() {
            match self.times.get_mut(kind) {
                Some(own) => own.add(times).expect("all have the same bounds"),
                None => self.times.push(times.clone()),
            }
        }
    }

    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }

    /// The times of all kinds of requests together.
    pub fn all_times(&self) -> Option<Percentiles> {
        let mut all = histogram();
        for times in &self.times {
            all.add(times).expect("all have the same bounds");
        }
        (!all.is_empty()).then(|| percentiles(&all))
    }

    pub fn times(&self, kind: usize) -> Option<Percentiles> {
        self.times.get(kind).filter(|times| !times.is_empty()).map(percentiles)
    }
}

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("the bounds are sound")
}

pub(crate) fn percentiles(times: &Histogram<u64>) -> Percentiles {
    let at = |quantile| times.value_at_quantile(quantile) as f64 / 1e6;
    Percentiles {
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        p999_ms: at(0.999),
        max_ms: times.max() as f64 / 1e6,
    }
}
