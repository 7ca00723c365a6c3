//! The kinds of values that settings have. All are parsed from text, so that a flag, a variable and a
//! line of the file mean the same thing.

mod choice;
mod credentials;
mod duration;
mod networks;
mod number;
mod optional;
mod origins;
mod request_limit;
mod size;
mod text;

pub(crate) use choice::{list_of, one_of};
pub use credentials::JwksSource;
pub(crate) use credentials::{claims, file, job_types, jwks, word};
pub(crate) use duration::{DAY, HOUR, MILLISECOND, SECOND, duration};
pub use networks::Networks;
pub(crate) use networks::networks;
pub(crate) use number::{fraction, number, weight};
pub(crate) use optional::{if_given, or_auto, or_never, or_none};
pub use origins::Origins;
pub(crate) use origins::origins;
pub(crate) use request_limit::request_limit;
pub(crate) use size::{GIB, KIB, TIB, size};
pub(crate) use text::{address, boolean, directory, tenant};

type Parser<T> = Box<dyn Fn(&str) -> Option<T>>;

/// How the text of a setting is parsed into a `T`, and how documentation and errors describe it.
pub(crate) struct Kind<T> {
    parse: Parser<T>,
    /// A few words to follow "expected" or "accepts".
    pub accepts: String,
    pub examples: &'static str,
    /// Nearly any text is valid, so a number or a boolean in the file is more likely a mistake.
    pub text_only: bool,
    /// The file may have an array of strings.
    pub list: bool,
    /// Replaces the default when no source gives a value.
    unset: Option<fn() -> T>,
    /// The value as a number, for kinds whose values are compared with each other.
    pub amount: Option<fn(&T) -> u64>,
}

impl<T: 'static> Kind<T> {
    fn new(accepts: impl Into<String>, parse: impl Fn(&str) -> Option<T> + 'static) -> Self {
        Self {
            parse: Box::new(parse),
            accepts: accepts.into(),
            examples: "",
            text_only: false,
            list: false,
            unset: None,
            amount: None,
        }
    }

    fn such_as(self, examples: &'static str) -> Self {
        Self { examples, ..self }
    }

    fn text_only(self) -> Self {
        Self { text_only: true, ..self }
    }

    /// The same text for another type of value.
    fn map<U: 'static>(self, convert: impl Fn(T) -> Option<U> + 'static) -> Kind<U> {
        let parse = self.parse;
        Kind {
            parse: Box::new(move |text| convert(parse(text)?)),
            accepts: self.accepts,
            examples: self.examples,
            text_only: self.text_only,
            list: self.list,
            unset: None,
            amount: None,
        }
    }

    pub(crate) fn parse(&self, text: &str) -> Option<T> {
        (self.parse)(text)
    }

    /// The value when no source gives one; `text` is the declared default.
    pub(crate) fn parse_default(&self, text: &str) -> Option<T> {
        let default = self.parse(text)?;
        Some(self.unset.map_or(default, |unset| unset()))
    }

    pub(crate) fn expected(&self) -> String {
        match self.examples {
            "" => self.accepts.clone(),
            examples => format!("{}, such as {examples}", self.accepts),
        }
    }
}

/// Digits only: `str::parse` accepts a sign.
fn parse_digits(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// In the first unit that divides it: `90m`, `16MiB`.
fn in_units(amount: u64, units: &[(&str, u64)]) -> String {
    let divides = |(_, unit): &&(&str, u64)| amount > 0 && amount.is_multiple_of(*unit);
    match units.iter().find(divides) {
        Some((name, unit)) => format!("{}{name}", amount / unit),
        None => amount.to_string(),
    }
}
