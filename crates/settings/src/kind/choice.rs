use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeOwned, IntoDeserializer};

use super::Kind;

/// A variant of an enum, by the name that serde has for it.
pub(crate) struct Choice<T>(PhantomData<T>);

pub(crate) fn one_of<T: DeserializeOwned>() -> Choice<T> {
    Choice(PhantomData)
}

impl<T: DeserializeOwned> Kind for Choice<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Option<T> {
        variant(text).ok()
    }

    fn accepts(&self) -> String {
        let names = variant::<T>("").err().map_or(&[][..], |error| error.expected);
        match names {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => names.concat(),
        }
    }
}

fn variant<T: DeserializeOwned>(name: &str) -> Result<T, UnknownVariant> {
    T::deserialize(name.into_deserializer())
}

/// Keeps the names that serde lists when it meets an unknown one.
#[derive(Debug)]
struct UnknownVariant {
    expected: &'static [&'static str],
}

impl de::Error for UnknownVariant {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self { expected: &[] }
    }

    fn unknown_variant(_name: &str, expected: &'static [&'static str]) -> Self {
        Self { expected }
    }
}

impl std::error::Error for UnknownVariant {}

impl fmt::Display for UnknownVariant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected one of {:?}", self.expected)
    }
}

#[cfg(test)]
mod tests {
    use rota_model::{Durability, FairStrategy};

    use super::*;

    #[test]
    fn accepts_its_names_only() {
        let strategy = one_of::<FairStrategy>();
        assert_eq!(strategy.parse("round-robin"), Some(FairStrategy::RoundRobin));
        for text in ["", "Weighted", "weighted ", "fair"] {
            assert_eq!(strategy.parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lists_its_names() {
        assert_eq!(one_of::<FairStrategy>().accepts(), "weighted, round-robin or strict");
        assert_eq!(one_of::<Durability>().accepts(), "fsync or os");
    }
}
