use std::time::Duration;

use super::Kind;

/// `auto` is `None`: the value follows from other settings.
pub(crate) fn or_auto<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let accepts = format!("auto, {}", kind.accepts);
    or_word("auto", accepts, kind)
}

/// `never` is `None`.
pub(crate) fn or_never(kind: Kind<Duration>) -> Kind<Option<Duration>> {
    let accepts = format!("{}, or never", kind.accepts);
    or_word("never", accepts, kind).such_as("12h, 7d or P30D")
}

/// `none` is `None`.
pub(crate) fn or_none<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let accepts = format!("none, or {}", kind.accepts);
    or_word("none", accepts, kind)
}

/// The default is `None`, so that it can be told from a value that was given.
pub(crate) fn if_given<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    Kind { unset: Some(|| None), ..kind.map(|value| Some(Some(value))) }
}

fn or_word<T: 'static>(word: &'static str, accepts: String, kind: Kind<T>) -> Kind<Option<T>> {
    let kind = kind.map(|value| Some(Some(value)));
    let parse = kind.parse;
    let parse = move |text: &str| if text == word { Some(None) } else { parse(text) };
    Kind { parse: Box::new(parse), accepts, ..kind }
}

#[cfg(test)]
mod tests {
    use super::super::{DAY, boolean, duration};
    use super::*;

    #[test]
    fn auto_comes_beside_the_values_of_its_kind() {
        let kind = or_auto(boolean());
        assert_eq!(kind.parse("auto"), Some(None));
        assert_eq!(kind.parse("true"), Some(Some(true)));
        for text in ["", "Auto", "on"] {
            assert_eq!(kind.parse(text), None, "{text:?}");
        }
        assert_eq!(kind.accepts, "auto, true or false");
    }

    #[test]
    fn never_comes_beside_durations() {
        let kind = or_never(duration(0..=30 * DAY));
        assert_eq!(kind.parse("never"), Some(None));
        assert_eq!(kind.parse("0"), Some(Some(Duration::ZERO)));
        assert_eq!(kind.parse("7d"), Some(Some(Duration::from_millis(7 * DAY))));
        assert_eq!(kind.parse("31d"), None);
        assert_eq!(kind.parse("Never"), None);
        assert_eq!(kind.accepts, "a duration from 0 to 30d, or never");
    }

    #[test]
    fn a_default_counts_as_not_given() {
        let kind = if_given(boolean());
        assert_eq!(kind.parse("true"), Some(Some(true)));
        assert_eq!(kind.parse_default("true"), Some(None));
        assert_eq!(kind.parse_default("maybe"), None);
        assert_eq!(kind.accepts, boolean().accepts);
    }
}
