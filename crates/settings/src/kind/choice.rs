use super::Kind;

/// One of a few words, each standing for a value.
pub(crate) struct Choice<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy> Kind for Choice<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Option<T> {
        self.0.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
    }

    fn accepts(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|(word, _)| *word).collect();
        match words.as_slice() {
            [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
            _ => words.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Choice<u8> = Choice(&[("small", 1), ("medium", 2), ("large", 3)]);

    #[test]
    fn takes_its_words_only() {
        assert_eq!(SIZES.parse("medium"), Some(2));
        for text in ["", "Medium", "medium ", "tiny"] {
            assert_eq!(SIZES.parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lists_its_words() {
        assert_eq!(SIZES.accepts(), "small, medium or large");
        assert_eq!(Choice(&[("fsync", ()), ("os", ())]).accepts(), "fsync or os");
    }
}
