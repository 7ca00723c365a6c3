use std::fmt;

use serde::de::{self, DeserializeOwned, IntoDeserializer};

use super::Kind;

/// A variant of an enum, under the name that serde has for it.
pub(crate) fn one_of<T: DeserializeOwned + 'static>() -> Kind<T> {
    let names = variant::<T>("").err().map_or(&[][..], |error| error.expected);
    let accepts = match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    };
    Kind::new(accepts, |text| variant(text).ok())
}

/// Several variants, the first counting most. A flag separates them by commas; the file may have an
/// array.
pub(crate) fn list_of<T: DeserializeOwned + 'static>() -> Kind<Vec<T>> {
    let parse = |text: &str| {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        let repeated = names.iter().enumerate().any(|(index, name)| names[..index].contains(name));
        if repeated { None } else { names.into_iter().map(|name| variant(name).ok()).collect() }
    };
    let accepts = format!("a list of {}, each at most once", one_of::<T>().accepts);
    Kind { list: true, ..Kind::new(accepts, parse) }
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
    use crate::TenantSource::{self, Body, Credentials, Header};

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
        assert_eq!(one_of::<FairStrategy>().accepts, "weighted, round-robin or strict");
        assert_eq!(one_of::<Durability>().accepts, "fsync or os");
    }

    #[test]
    fn a_list_keeps_its_order() {
        let sources = list_of::<TenantSource>();
        assert_eq!(sources.parse("header"), Some(vec![Header]));
        assert_eq!(sources.parse("credentials,body"), Some(vec![Credentials, Body]));
        assert_eq!(sources.parse("credentials, body"), Some(vec![Credentials, Body]));
        let accepts = "a list of body, header or credentials, each at most once";
        assert_eq!(sources.accepts, accepts);
    }

    #[test]
    fn a_list_has_no_repeats_gaps_or_other_names() {
        for text in ["", ",", "body,", "body,,header", "body,body", "body header", "cookie"] {
            assert_eq!(list_of::<TenantSource>().parse(text), None, "{text:?}");
        }
    }
}
