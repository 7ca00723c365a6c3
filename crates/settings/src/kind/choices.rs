use serde::de::DeserializeOwned;

use super::Kind;
use super::choice::{Choice, one_of};

/// Several variants of an enum, the first counting most. A flag separates them by commas; the file
/// may have an array.
pub(crate) struct Choices<T>(Choice<T>);

pub(crate) fn list_of<T: DeserializeOwned>() -> Choices<T> {
    Choices(one_of())
}

impl<T: DeserializeOwned> Kind for Choices<T> {
    type Value = Vec<T>;

    const LIST: bool = true;

    fn parse(&self, text: &str) -> Option<Vec<T>> {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        let repeated = names.iter().enumerate().any(|(index, name)| names[..index].contains(name));
        if repeated { None } else { names.into_iter().map(|name| self.0.parse(name)).collect() }
    }

    fn accepts(&self) -> String {
        format!("a list of {}, each at most once", self.0.accepts())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TenantSource::{self, Body, Credentials, Header};

    #[test]
    fn keeps_the_order_of_its_names() {
        let sources = list_of::<TenantSource>();
        assert_eq!(sources.parse("header"), Some(vec![Header]));
        assert_eq!(sources.parse("credentials,body"), Some(vec![Credentials, Body]));
        assert_eq!(sources.parse("credentials, body"), Some(vec![Credentials, Body]));
        let accepts = "a list of body, header or credentials, each at most once";
        assert_eq!(sources.accepts(), accepts);
    }

    #[test]
    fn refuses_repeats_gaps_and_other_names() {
        for text in ["", ",", "body,", "body,,header", "body,body", "body header", "cookie"] {
            assert_eq!(list_of::<TenantSource>().parse(text), None, "{text:?}");
        }
    }
}
