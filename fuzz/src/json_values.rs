//! What the server accepts as JSON is what a strict parser can read, and the other way round.

use std::collections::BTreeSet;
use std::fmt;

use rota_model::json;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

const DEPTH: usize = 100;

/// Panics when the door accepts well-formed JSON that a strict parser rejects, or rejects JSON that it
/// can read.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Checks the grammar alone.
    if serde_json::from_str::<IgnoredAny>(text).is_err() || nests_deeper_than(text, DEPTH) {
        return;
    }
    let strict = serde_json::from_str::<Strict>(text);
    let door = json::check(bytes, DEPTH);
    assert_eq!(door.is_ok(), strict.is_ok(), "{door:?}, {:?}: {text}", strict.err());
}

fn nests_deeper_than(text: &str, most: usize) -> bool {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count();
    brackets > most
}

/// A value whose numbers are finite, whose strings are text, and whose keys are distinct.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strict, A::Error> {
        while list.next_element::<Strict>()?.is_some() {}
        Ok(Strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
        let mut keys = BTreeSet::new();
        while let Some((key, Strict)) = map.next_entry::<String, Strict>()? {
            if !keys.insert(key) {
                return Err(A::Error::custom("a key is given twice"));
            }
        }
        Ok(Strict)
    }
}
