//! Figures of the demo: jobs done and waiting times.

use std::time::Duration;

use serde_json::{Value, json};

use crate::output::milliseconds;

/// How long a job waited, or has waited so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wait {
    pub time: Duration,
    pub is_over: bool,
}

/// What one or more tenants received.
pub(super) struct Figures {
    pub enqueued: u64,
    pub begun: u64,
    pub done: u64,
    /// Jobs that have not started count with their time so far; otherwise only fast ones would count.
    pub median: Option<Wait>,
    pub p99: Option<Wait>,
}

impl Figures {
    pub fn new(enqueued: u64, begun: u64, done: u64, mut waits: Vec<Wait>) -> Self {
        waits.sort_unstable();
        let median = quantile(&waits, 50);
        let p99 = quantile(&waits, 99);
        Self { enqueued, begun, done, median, p99 }
    }

    pub fn waiting(&self) -> u64 {
        self.enqueued - self.begun
    }

    pub fn json(&self) -> Value {
        let ms = |wait: Option<Wait>| wait.map(Wait::ms);
        json!({
            "enqueued": self.enqueued,
            "done": self.done,
            "waiting": self.waiting(),
            "median_ms": ms(self.median),
            "p99_ms": ms(self.p99),
        })
    }
}

impl Wait {
    pub fn ms(self) -> f64 {
        self.time.as_secs_f64() * 1_000.0
    }

    pub fn short(self) -> String {
        milliseconds(self.ms())
    }
}

/// `waits` must be sorted.
fn quantile(waits: &[Wait], percent: usize) -> Option<Wait> {
    let rank = (waits.len() * percent).div_ceil(100);
    waits.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waited(ms: u64) -> Wait {
        Wait { time: Duration::from_millis(ms), is_over: true }
    }

    #[test]
    fn half_of_them_waited_no_longer_than_the_median() {
        let waits = (1..=200).rev().map(waited).collect();
        let figures = Figures::new(200, 200, 200, waits);
        assert_eq!(figures.median, Some(waited(100)));
        assert_eq!(figures.p99, Some(waited(198)));
        let figures = Figures::new(1, 1, 0, vec![waited(7)]);
        assert_eq!((figures.median, figures.p99), (Some(waited(7)), Some(waited(7))));
    }

    #[test]
    fn nobody_waited() {
        let figures = Figures::new(0, 0, 0, Vec::new());
        assert_eq!(figures.median, None);
        assert_eq!(figures.json()["median_ms"], Value::Null);
    }

    #[test]
    fn who_still_waits_counts_too() {
        let so_far = Wait { time: Duration::from_secs(9), is_over: false };
        let figures = Figures::new(3, 1, 1, vec![so_far, waited(5), so_far]);
        assert_eq!(figures.median, Some(so_far));
        assert_eq!(figures.waiting(), 2);
    }
}
