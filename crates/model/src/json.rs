//! Reading JSON from clients: bounds are checked before parsing, and values are not copied.

mod closed;
mod door;
mod one_line;
mod path;

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Rejection;

pub use closed::{check_members, unknown_member};
pub use one_line::on_one_line;
pub use path::{path_of_error, path_of_owner};

/// The members of a JSON object in order, with unparsed values.
pub type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Serializes members as an object, in their order and with their bytes.
#[derive(Debug, Default)]
pub struct Object<'a>(pub Members<'a>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Checks the encoding, the nesting depth, and what many parsers reject: numbers that overflow a double,
/// lone surrogates, and keys that are given twice.
pub fn check(bytes: &[u8], max_depth: usize) -> Result<&str, Rejection> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        Rejection::malformed(format!("the body is not UTF-8 (byte {})", e.valid_up_to()))
            .hint("Send JSON encoded as UTF-8.")
    })?;
    door::check(text, max_depth)?;
    Ok(text)
}

/// Splits an object into its members. In text that has passed [`check`], no key is repeated.
pub fn members<'a>(text: &'a str, what: &str) -> Result<Members<'a>, Rejection> {
    let mut de = serde_json::Deserializer::from_str(text);
    de.deserialize_map(Collect).and_then(|members| de.end().map(|()| members)).map_err(|e| {
        Rejection::malformed(format!("{what} is not a valid JSON object: {e}"))
            .hint("Send one JSON object.")
    })
}

/// The elements of an array, unparsed; `None` if it is not an array.
pub fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// The type of a value with an article, for error messages.
#[must_use]
pub fn type_name(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Appends a JSON string.
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(8);
        while let Some(key) = map.next_key::<Key<'de>>()? {
            members.push((key.0, map.next_value()?));
        }
        Ok(members)
    }
}

/// A key that borrows from the text unless it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert!(check(br#"{"a":[1,"[[[[\"[["]}"#, 2).is_ok());
        assert!(check(br#"{"a":[[1]]}"#, 2).is_err());
        assert!(check("[".repeat(100_000).as_bytes(), 100).is_err());
    }

    #[test]
    fn an_object_keeps_its_bytes_and_order() {
        let text = r#"{"b":1.50,"a":[ 1 ],"c":12345678901234567890123}"#;
        let object = Object(members(text, "it").unwrap());
        assert_eq!(serde_json::to_string(&object).unwrap(), text);
    }

    #[test]
    fn invalid_utf8_is_reported() {
        let error = check(b"{\"a\":\"\xff\"}", 9).unwrap_err();
        assert!(error.message.contains("UTF-8"), "{error}");
    }

    #[test]
    fn members_keep_their_bytes_and_order() {
        let members = members(r#"{"b": 1.50 ,"a\u0062":[ 1 ]}"#, "it").unwrap();
        let shown: Vec<_> = members.iter().map(|(k, v)| (&**k, v.get())).collect();
        assert_eq!(shown, [("b", "1.50"), ("ab", "[ 1 ]")]);
    }

    #[test]
    fn trailing_text_and_non_objects_are_rejected() {
        for bad in ["{} {}", "[]", "", "{", "null", "{'a':1}"] {
            assert!(members(bad, "it").is_err(), "{bad}");
        }
    }
}
