//! The kinds of values a setting can have. All take text, so that a flag, a variable and a line of
//! the file mean the same thing.

mod address;
mod auto;
mod choice;
mod choices;
mod fraction;
mod if_given;
mod number;
mod path;
mod size;
mod span;
mod switch;
mod tenant;

pub(super) use address::Address;
pub(super) use auto::Auto;
pub(super) use choice::one_of;
pub(super) use choices::list_of;
pub(super) use fraction::{Fraction, Share};
pub(super) use if_given::IfGiven;
pub(super) use number::Number;
pub(super) use path::Directory;
pub(super) use size::{GIB, KIB, Size, TIB};
pub(super) use span::{DAY, HOUR, Keep, MILLISECOND, SECOND, Span};
pub(super) use switch::Switch;
pub(super) use tenant::Tenant;

pub(super) trait Kind {
    type Value;

    /// Nearly any text would do, so a number or a boolean in the file is taken for a slip.
    const TEXT_ONLY: bool = false;

    /// The file may have an array of strings.
    const LIST: bool = false;

    const EXAMPLES: &'static str = "";

    fn parse(&self, text: &str) -> Option<Self::Value>;

    /// The value when nobody gave one; `text` is the declared default.
    fn parse_default(&self, text: &str) -> Option<Self::Value> {
        self.parse(text)
    }

    /// In a few words, to follow "expected" or "accepts".
    fn accepts(&self) -> String;

    /// For the kinds that can be compared with each other.
    fn amount(&self, _value: &Self::Value) -> Option<u64> {
        None
    }

    fn expected(&self) -> String {
        match Self::EXAMPLES {
            "" => self.accepts(),
            examples => format!("{}, such as {examples}", self.accepts()),
        }
    }
}

/// Digits only: `str::parse` would let a sign through.
fn parse_digits(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}
