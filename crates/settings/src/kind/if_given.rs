use super::Kind;

/// A value of another kind, or `None` when nobody gave one: the default may then be adapted.
pub(crate) struct IfGiven<K>(pub K);

impl<K: Kind> Kind for IfGiven<K> {
    type Value = Option<K::Value>;

    const TEXT_ONLY: bool = K::TEXT_ONLY;
    const EXAMPLES: &'static str = K::EXAMPLES;

    fn parse(&self, text: &str) -> Option<Option<K::Value>> {
        self.0.parse(text).map(Some)
    }

    fn parse_default(&self, text: &str) -> Option<Option<K::Value>> {
        self.0.parse(text).map(|_| None)
    }

    fn accepts(&self) -> String {
        self.0.accepts()
    }

    fn expected(&self) -> String {
        self.0.expected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Switch;

    #[test]
    fn a_default_is_no_value() {
        assert_eq!(IfGiven(Switch).parse("true"), Some(Some(true)));
        assert_eq!(IfGiven(Switch).parse_default("true"), Some(None));
        assert_eq!(IfGiven(Switch).parse_default("maybe"), None);
        assert_eq!(IfGiven(Switch).accepts(), Switch.accepts());
    }
}
