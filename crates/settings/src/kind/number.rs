use super::{Kind, parse_digits};

/// A whole number between two bounds, both included.
pub(crate) struct Number {
    pub least: u32,
    pub most: u32,
}

impl Number {
    pub(crate) const fn between(least: u32, most: u32) -> Self {
        Self { least, most }
    }
}

impl Kind for Number {
    type Value = usize;

    fn parse(&self, text: &str) -> Option<usize> {
        let number = u32::try_from(parse_digits(text)?).ok()?;
        let within = (self.least..=self.most).contains(&number);
        if within { number.try_into().ok() } else { None }
    }

    fn accepts(&self) -> String {
        format!("a whole number from {} to {}", self.least, self.most)
    }

    fn amount(&self, value: &usize) -> Option<u64> {
        u64::try_from(*value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Number = Number::between(1, 1000);

    #[test]
    fn takes_whole_numbers_within_its_bounds() {
        for (text, number) in [("1", 1), ("007", 7), ("1000", 1000)] {
            assert_eq!(FEW.parse(text), Some(number));
        }
    }

    #[test]
    fn refuses_everything_else() {
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
            assert_eq!(FEW.parse(text), None, "{text:?}");
        }
    }
}
