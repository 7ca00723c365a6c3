//! Numbers on the command line, with messages that name what is accepted.

use std::fmt::Display;
use std::str::FromStr;

/// A whole number of at least this.
pub(crate) fn at_least<T>(least: T) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Copy,
{
    move |text| {
        let number = text.parse().ok().filter(|number| *number >= least);
        number.ok_or_else(|| format!("a whole number of at least {least} is expected"))
    }
}

/// A whole number within bounds, both included.
pub(crate) fn between<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Copy,
{
    move |text| {
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("a whole number from {least} to {most} is expected"))
    }
}

/// A part of something, from 0 to 1.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    let ratio: Option<f64> = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "a number from 0 to 1 is expected".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_named() {
        assert_eq!(at_least(1_u64)("7"), Ok(7));
        for bad in ["0", "-5", "x", "", "1.5"] {
            let message = at_least(1_u64)(bad).unwrap_err();
            assert_eq!(message, "a whole number of at least 1 is expected", "{bad}");
            let message = between(1_u16, 10)(bad).unwrap_err();
            assert_eq!(message, "a whole number from 1 to 10 is expected", "{bad}");
        }
        assert_eq!(between(-3, 10)("-3"), Ok(-3));
        assert!(between(1_u8, 10)("300").is_err());
    }

    #[test]
    fn a_ratio_is_a_part_of_one() {
        assert_eq!(ratio("0.5"), Ok(0.5));
        assert!(["-0.1", "1.1", "NaN", "half"].iter().all(|bad| ratio(bad).is_err()));
    }
}
