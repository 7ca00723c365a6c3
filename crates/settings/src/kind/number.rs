use std::ops::RangeInclusive;

use rota_model::Weight;

use super::{Kind, parse_digits};

pub(crate) fn number(range: RangeInclusive<u32>) -> Kind<usize> {
    let accepts = format!("a whole number from {} to {}", range.start(), range.end());
    let parse = move |text: &str| {
        let number = u32::try_from(parse_digits(text)?).ok().filter(|n| range.contains(n))?;
        usize::try_from(number).ok()
    };
    Kind { amount: Some(|number| *number as u64), ..Kind::new(accepts, parse) }
}

pub(crate) fn fraction(range: RangeInclusive<f64>) -> Kind<f64> {
    let accepts = format!("a number from {} to {}", range.start(), range.end());
    let example = [(0.5, "0.5"), (1.5, "1.5")].into_iter().find(|(n, _)| range.contains(n));
    Kind::new(accepts, move |text| parse_decimal(text).filter(|n| range.contains(n)))
        .such_as(example.map_or("", |(_, example)| example))
}

/// A tenant's share relative to the shares of others.
pub(crate) fn weight() -> Kind<Weight> {
    let parse = |text: &str| parse_decimal(text).and_then(Weight::new);
    Kind::new("a number from 0.01 to 1000", parse).such_as("10 or 0.5")
}

/// Digits with at most one point: `str::parse` accepts signs, exponents and infinities.
fn parse_decimal(text: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if digits(whole) && digits(fraction) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_whole_and_within_its_bounds() {
        for (text, value) in [("1", 1), ("007", 7), ("1000", 1000)] {
            assert_eq!(number(1..=1000).parse(text), Some(value));
        }
    }

    #[test]
    fn a_number_is_nothing_else() {
        for text in [
            "",
            "0",
            "1001",
            "-1",
            "+1",
            "1.0",
            "1e2",
            "1_000",
            " 5",
            "many",
            "18446744073709551617",
        ] {
            assert_eq!(number(1..=1000).parse(text), None, "{text:?}");
        }
    }

    fn some() -> Kind<f64> {
        fraction(0.05..=10.0)
    }

    #[test]
    fn a_fraction_is_within_its_bounds() {
        for (text, number) in [("0.05", 0.05), ("1", 1.0), ("2.50", 2.5), ("10", 10.0)] {
            assert_eq!(some().parse(text), Some(number), "{text}");
        }
        assert_eq!(some().accepts, "a number from 0.05 to 10");
        assert_eq!(some().expected(), "a number from 0.05 to 10, such as 0.5");
        let ratio = fraction(1.0..=100.0);
        assert_eq!(ratio.expected(), "a number from 1 to 100, such as 1.5");
    }

    #[test]
    fn a_fraction_is_nothing_else() {
        for text in [
            "", ".", ".5", "5.", "0.04", "10.01", "-1", "+1", "1e1", "1,5", "1_0", " 1", "1.2.3",
            "nan", "inf", "half",
        ] {
            assert_eq!(some().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_weight_has_the_bounds_of_the_model() {
        assert_eq!(weight().parse("1"), Some(Weight::ONE));
        assert_eq!(weight().parse("0.01").map(Weight::hundredths), Some(1));
        assert_eq!(weight().parse("1000").map(Weight::hundredths), Some(100_000));
        for text in ["0", "0.009", "1000.01", "-1", "heavy"] {
            assert_eq!(weight().parse(text), None, "{text:?}");
        }
    }
}
