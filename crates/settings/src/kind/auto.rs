use super::Kind;

/// A value of another kind, or `auto` for what suits the other settings.
pub(crate) struct Auto<K>(pub K);

impl<K: Kind> Kind for Auto<K> {
    type Value = Option<K::Value>;

    const TEXT_ONLY: bool = K::TEXT_ONLY;
    const EXAMPLES: &'static str = K::EXAMPLES;

    fn parse(&self, text: &str) -> Option<Option<K::Value>> {
        match text {
            "auto" => Some(None),
            _ => self.0.parse(text).map(Some),
        }
    }

    fn accepts(&self) -> String {
        format!("auto, {}", self.0.accepts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Switch;

    #[test]
    fn takes_auto_beside_the_values_of_its_kind() {
        assert_eq!(Auto(Switch).parse("auto"), Some(None));
        assert_eq!(Auto(Switch).parse("true"), Some(Some(true)));
        for text in ["", "Auto", "on"] {
            assert_eq!(Auto(Switch).parse(text), None, "{text:?}");
        }
        assert_eq!(Auto(Switch).accepts(), "auto, true or false");
    }
}
