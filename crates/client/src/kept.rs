use std::fmt;
use std::ops::Deref;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A typed view of an answer, with the JSON that it came from kept as it was: members without a
/// field, their order, and numbers that no type here could hold.
#[derive(Clone)]
pub struct Kept<T> {
    view: T,
    raw: Box<RawValue>,
}

impl<T> Kept<T> {
    /// The JSON as the server wrote it.
    pub fn json(&self) -> &str {
        self.raw.get()
    }

    /// The JSON as the server sent it, with members that the type does not know.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.view
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Kept<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let view = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self { view, raw })
    }
}

impl<T> Serialize for Kept<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(to)
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.json())
    }
}
