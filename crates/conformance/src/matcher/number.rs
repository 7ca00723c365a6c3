//! Matches numbers.

use crate::mode::Mode;

/// Below this distance two durations in milliseconds count as the same.
const SMALLEST_TOLERANCE: f64 = 50.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberRule {
    Positive,
    /// From the first to the second, both included; infinite where there is no bound.
    Between(f64, f64),
}

impl NumberRule {
    pub(super) fn at_least(least: f64) -> NumberRule {
        NumberRule::Between(least, f64::INFINITY)
    }

    pub(super) fn exactly(number: f64) -> NumberRule {
        NumberRule::Between(number, number)
    }

    /// `~1000`: within a fifth of the number when strict, within half of it when lenient, and never
    /// closer than 50.
    pub(super) fn about(number: f64, mode: Mode) -> NumberRule {
        let tolerance = (number.abs() * mode.approximation()).max(SMALLEST_TOLERANCE);
        NumberRule::Between(number - tolerance, number + tolerance)
    }

    pub(super) fn check(self, actual: Option<f64>) -> Result<(), String> {
        let number = actual.ok_or("is not a number")?;
        let (fits, otherwise) = match self {
            NumberRule::Positive => (number > 0.0, "is not positive".into()),
            NumberRule::Between(least, most) => {
                ((least..=most).contains(&number), format!("is not between {least} and {most}"))
            }
        };
        super::expect(fits, &otherwise)
    }
}
