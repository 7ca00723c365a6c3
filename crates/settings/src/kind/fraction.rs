use rota_model::Weight;

use super::Kind;

/// A number between two bounds, both included, that may have a decimal fraction.
pub(crate) struct Fraction {
    least: f64,
    most: f64,
}

impl Fraction {
    pub(crate) const fn between(least: f64, most: f64) -> Self {
        Self { least, most }
    }
}

impl Kind for Fraction {
    type Value = f64;

    fn parse(&self, text: &str) -> Option<f64> {
        let number = parse_decimal(text)?;
        let within = (self.least..=self.most).contains(&number);
        within.then_some(number)
    }

    fn accepts(&self) -> String {
        format!("a number from {} to {}", self.least, self.most)
    }

    fn expected(&self) -> String {
        let example =
            [0.5, 1.5].into_iter().find(|example| (self.least..=self.most).contains(example));
        match example {
            Some(example) => format!("{}, such as {example}", self.accepts()),
            None => self.accepts(),
        }
    }
}

/// A tenant's share of capacity beside the others' shares.
pub(crate) struct Share;

impl Kind for Share {
    type Value = Weight;

    const EXAMPLES: &'static str = "10 or 0.5";

    fn parse(&self, text: &str) -> Option<Weight> {
        parse_decimal(text).and_then(Weight::new)
    }

    fn accepts(&self) -> String {
        "a number from 0.01 to 1000".to_owned()
    }
}

/// Digits with at most one point among them: `str::parse` would let signs, exponents and
/// infinities through.
fn parse_decimal(text: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if digits(whole) && digits(fraction) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Fraction = Fraction::between(0.05, 10.0);

    #[test]
    fn takes_numbers_within_its_bounds() {
        for (text, number) in [("0.05", 0.05), ("1", 1.0), ("2.50", 2.5), ("10", 10.0)] {
            assert_eq!(SOME.parse(text), Some(number), "{text}");
        }
        assert_eq!(SOME.accepts(), "a number from 0.05 to 10");
        assert_eq!(SOME.expected(), "a number from 0.05 to 10, such as 0.5");
        let ratio = Fraction::between(1.0, 100.0);
        assert_eq!(ratio.expected(), "a number from 1 to 100, such as 1.5");
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "", ".", ".5", "5.", "0.04", "10.01", "-1", "+1", "1e1", "1,5", "1_0", " 1", "1.2.3",
            "nan", "inf", "half",
        ] {
            assert_eq!(SOME.parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_share_is_bounded_as_weights_are() {
        assert_eq!(Share.parse("1"), Some(Weight::ONE));
        assert_eq!(Share.parse("0.01").map(Weight::hundredths), Some(1));
        assert_eq!(Share.parse("1000").map(Weight::hundredths), Some(100_000));
        for text in ["0", "0.009", "1000.01", "-1", "heavy"] {
            assert_eq!(Share.parse(text), None, "{text:?}");
        }
    }
}
