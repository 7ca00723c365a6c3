//! Execution and retry policies of jobs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::RateLimit;

/// The rules of a job's execution. Interned, because most jobs share a few.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Policy {
    /// How failed executions are retried.
    pub retry: RetryPolicy,
    /// Length of the reservation in milliseconds; `None` uses that of the fetch or the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility_ms: Option<u64>,
    /// Maximum run time in milliseconds; `None` uses the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// A directive for the worker that runs the job. Used by conformance tests only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<Directive>,
    /// The job's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<RateLimit>,
}

/// How often and how soon a failed job is retried.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Maximum number of executions, including the first.
    pub max_attempts: u32,
    /// Delay before the first retry, in milliseconds.
    pub initial_ms: u64,
    /// Maximum delay between two attempts in milliseconds, including jitter.
    pub max_ms: u64,
    /// How fast delays grow; the meaning depends on the strategy.
    pub coefficient: Coefficient,
    /// How delays grow from one retry to the next.
    pub strategy: Strategy,
    /// Whether each delay is multiplied by a random number from 0.5 to 1.5, so that jobs that failed
    /// together are not retried together.
    pub jitter: bool,
    /// Error types that are not retried: exact, or a prefix that ends with `.*`.
    #[serde(default, skip_serializing_if = "no_patterns")]
    pub non_retryable: Arc<[Arc<str>]>,
    /// What happens after the last attempt.
    pub on_exhaustion: Exhaustion,
}

/// How the delay grows with `n`, the number of the retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The initial delay.
    Constant,
    /// The initial delay times `n`.
    Linear,
    /// The initial delay times the coefficient to the power of `n - 1`.
    Exponential,
    /// The initial delay times `n` to the power of the coefficient.
    Polynomial,
}

/// What happens to a job that has used up its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhaustion {
    /// Not specified, which means discarded and listed in the dead letter.
    Unstated,
    /// Discarded, and not listed in the dead letter.
    Discard,
    /// Discarded, and listed in the dead letter.
    DeadLetter,
}

/// A state that the server asks a worker to enter, in order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directive {
    /// Continue normally.
    Running,
    /// Finish the current jobs, but fetch no more.
    Quiet,
    /// Finish the current jobs, then exit.
    Terminate,
}

impl Directive {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Directive::Running => "running",
            Directive::Quiet => "quiet",
            Directive::Terminate => "terminate",
        }
    }

    /// Parses the name in JSON.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Directive::Running, Directive::Quiet, Directive::Terminate]
            .into_iter()
            .find(|d| d.as_str() == text)
    }
}

/// A finite number of at least 1. Compared and hashed by its bits, so that policies can be interned.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Coefficient(pub f64);

impl PartialEq for Coefficient {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Coefficient {}

impl std::hash::Hash for Coefficient {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_ms: 1_000,
            max_ms: 300_000,
            coefficient: Coefficient(2.0),
            strategy: Strategy::Exponential,
            jitter: true,
            non_retryable: Arc::default(),
            on_exhaustion: Exhaustion::Unstated,
        }
    }
}

impl RetryPolicy {
    /// Delay in milliseconds before retry number `retry`, counted from 1. `entropy` is the source of
    /// the jitter.
    #[must_use]
    pub fn delay_ms(&self, retry: u32, entropy: u64) -> u64 {
        let initial = self.initial_ms as f64;
        let n = f64::from(retry.max(1));
        let raw = match self.strategy {
            Strategy::Constant => initial,
            Strategy::Linear => initial * n,
            Strategy::Exponential => initial * self.coefficient.0.powf(n - 1.0),
            Strategy::Polynomial => initial * n.powf(self.coefficient.0),
        };
        let ceiling = self.max_ms as f64;
        let capped = raw.min(ceiling);
        let spread = if self.jitter { capped * (0.5 + unit_interval(entropy)) } else { capped };
        spread.min(ceiling).round() as u64
    }

    /// Whether an error of this type must not be retried.
    #[must_use]
    pub fn forbids_retry_of(&self, error_type: &str) -> bool {
        self.non_retryable.iter().any(|pattern| match pattern.strip_suffix(".*") {
            Some(prefix) => error_type
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with('.') && rest.len() > 1),
            None => **pattern == *error_type,
        })
    }
}

/// A number in [0, 1) from the upper 53 bits.
fn unit_interval(entropy: u64) -> f64 {
    (entropy >> 11) as f64 / (1u64 << 53) as f64
}

fn no_patterns(patterns: &Arc<[Arc<str>]>) -> bool {
    patterns.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(strategy: Strategy, coefficient: f64) -> RetryPolicy {
        RetryPolicy {
            coefficient: Coefficient(coefficient),
            strategy,
            jitter: false,
            ..RetryPolicy::default()
        }
    }

    #[test]
    fn growth_follows_the_strategy_up_to_the_cap() {
        let delays = |p: RetryPolicy| (1..=5).map(|n| p.delay_ms(n, 0)).collect::<Vec<_>>();
        assert_eq!(delays(plain(Strategy::Constant, 2.0)), [1000; 5]);
        assert_eq!(delays(plain(Strategy::Linear, 2.0)), [1000, 2000, 3000, 4000, 5000]);
        assert_eq!(delays(plain(Strategy::Exponential, 2.0)), [1000, 2000, 4000, 8000, 16000]);
        assert_eq!(
            delays(plain(Strategy::Polynomial, 4.0)),
            [1000, 16_000, 81_000, 256_000, 300_000]
        );
        assert_eq!(plain(Strategy::Exponential, 1e300).delay_ms(4_000_000_000, 0), 300_000);
    }

    #[test]
    fn jitter_stays_between_half_and_one_and_a_half_and_under_the_cap() {
        let policy = RetryPolicy { initial_ms: 2_000, ..RetryPolicy::default() };
        assert_eq!(policy.delay_ms(1, 0), 1_000);
        assert_eq!(policy.delay_ms(1, u64::MAX), 3_000);
        assert_eq!(policy.delay_ms(30, u64::MAX), 300_000);
    }

    #[test]
    fn errors_match_exactly_or_by_prefix() {
        let policy = RetryPolicy {
            non_retryable: ["validation.payload_invalid".into(), "auth.*".into()].into(),
            ..RetryPolicy::default()
        };
        for yes in ["validation.payload_invalid", "auth.token_expired", "auth.forbidden"] {
            assert!(policy.forbids_retry_of(yes), "{yes}");
        }
        for no in ["validation.schema_error", "auth", "auth.", "external.auth.failure", "authx.y"] {
            assert!(!policy.forbids_retry_of(no), "{no}");
        }
    }
}
