use super::Kind;

/// Only the two words that TOML has too: `yes`, `on` and `1` mean different things elsewhere.
pub(crate) struct Switch;

impl Kind for Switch {
    type Value = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn accepts(&self) -> String {
        "true or false".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_true_and_false_only() {
        assert_eq!(Switch.parse("true"), Some(true));
        assert_eq!(Switch.parse("false"), Some(false));
        for text in ["", "True", "yes", "on", "1", "0"] {
            assert_eq!(Switch.parse(text), None, "{text:?}");
        }
    }
}
