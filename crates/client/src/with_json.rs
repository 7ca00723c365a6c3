//! Typed values with their original JSON.

use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A typed value with its original JSON, which preserves unknown members, the order of members, and
/// numbers that do not fit the types.
#[derive(Clone)]
pub struct WithJson<T> {
    view: T,
    raw: Box<RawValue>,
}

impl<T> WithJson<T> {
    /// The original JSON as text.
    pub fn json(&self) -> &str {
        self.raw.get()
    }

    /// The original JSON, including members that the type does not have.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

impl<T> Deref for WithJson<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.view
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for WithJson<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let view = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { view, raw })
    }
}

impl<T> Serialize for WithJson<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(to)
    }
}

impl<T> fmt::Debug for WithJson<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.json())
    }
}
