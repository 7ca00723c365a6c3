use super::{Choice, Kind};

/// Some of a few words, the first counting most. A flag has them separated by commas; the file may
/// have them in an array.
pub(crate) struct Choices<T: 'static>(pub Choice<T>);

impl<T: Copy> Kind for Choices<T> {
    type Value = Vec<T>;

    const LIST: bool = true;

    fn parse(&self, text: &str) -> Option<Vec<T>> {
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        let repeated = words.iter().enumerate().any(|(at, word)| words[..at].contains(word));
        if repeated { None } else { words.into_iter().map(|word| self.0.parse(word)).collect() }
    }

    fn accepts(&self) -> String {
        format!("a list of {}, each at most once", self.0.accepts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Choices<u8> = Choices(Choice(&[("small", 1), ("medium", 2), ("large", 3)]));

    #[test]
    fn keeps_the_order_of_its_words() {
        assert_eq!(SIZES.parse("medium"), Some(vec![2]));
        assert_eq!(SIZES.parse("large,small"), Some(vec![3, 1]));
        assert_eq!(SIZES.parse("large, small"), Some(vec![3, 1]));
        assert_eq!(SIZES.accepts(), "a list of small, medium or large, each at most once");
    }

    #[test]
    fn refuses_repeats_gaps_and_other_words() {
        for text in ["", ",", "small,", "small,,large", "small,small", "small large", "tiny"] {
            assert_eq!(SIZES.parse(text), None, "{text:?}");
        }
    }
}
