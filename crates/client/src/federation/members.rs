//! A JSON object whose members keep their order and their spelling.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a JSON object, in order, as they were written. They borrow from the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

/// Up to this many names are compared with each other; more are sorted first.
const FEW: usize = 16;

impl<'a> Members<'a> {
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Like [`get`](Self::get), for as long as the text lives.
    pub fn borrowed(&self, name: &str) -> Option<&'a RawValue> {
        match self.0.iter().find(|(known, _)| known == name)?.1 {
            Cow::Borrowed(value) => Some(value),
            Cow::Owned(_) => None,
        }
    }

    /// Replaces a member, or adds it at the end.
    pub fn set(&mut self, name: &'a str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(name), Cow::Owned(value))),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// Writes the members, without the braces, and with a comma after each.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (name, value) in &self.0 {
            write_string(out, name);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
            out.push(b',');
        }
    }

    fn repeated(&self) -> Option<&str> {
        let names = || self.0.iter().map(|(name, _)| &**name);
        if self.0.len() <= FEW {
            let earlier = |(i, name): &(usize, &str)| names().take(*i).any(|other| other == *name);
            return names().enumerate().find(earlier).map(|(_, name)| name);
        }
        let mut sorted: Vec<&str> = names().collect();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("memory takes what is written");
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(FEW);
                while let Some(name) = map.next_key_seed(Name)? {
                    members.push((name, Cow::Borrowed(map.next_value::<&RawValue>()?)));
                }
                let members = Members(members);
                match members.repeated() {
                    Some(name) => Err(A::Error::custom(format!("'{name}' is there twice"))),
                    None => Ok(members),
                }
            }
        }

        from.deserialize_map(Object)
    }
}

/// A name, borrowed unless it has escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Cow<'de, str>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Members<'_>, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn members_stay_as_they_were_written() {
        let mut members = parse(r#"{"b": 1.10, "a\u0062": "\u00e4", "c": {"x": []}}"#).unwrap();
        members.set("c", RawValue::from_string("2".to_owned()).unwrap());
        members.remove("b");
        let mut out = Vec::new();
        members.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#""ab":"\u00e4","c":2,"#);
    }

    #[test]
    fn a_name_may_be_there_once() {
        assert!(parse(r#"{"a": 1, "\u0061": 2}"#).is_err());
        let many: Vec<String> = (0..100).map(|i| format!("\"m{i}\":{i}")).collect();
        assert!(parse(&format!("{{{}}}", many.join(","))).is_ok());
        assert!(parse(&format!("{{{},\"m7\":0}}", many.join(","))).is_err());
        assert!(parse("[]").is_err());
    }
}
