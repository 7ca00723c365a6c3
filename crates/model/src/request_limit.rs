//! Limits on the requests of one caller: how many per minute, and how many at once.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Rejection, json};

/// A number of requests per minute, of which some may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRate {
    /// Requests per minute, at least 1.
    pub per_minute: u32,
    /// Requests that may come at once after a pause, at least 1.
    pub burst: u32,
}

/// A limit on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLimit {
    /// There is none.
    Off,
    /// This many.
    Rate(RequestRate),
}

/// The largest rate and burst.
const MAX: u32 = 1_000_000_000;

impl RequestLimit {
    /// Parses `off`, `600/50` (600 per minute, 50 at once) or `600` (the same at once).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "off" {
            return Some(Self::Off);
        }
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| digits && (1..=MAX).contains(number))
        };
        let (per_minute, burst) = match text.split_once('/') {
            Some((per_minute, burst)) => (number(per_minute)?, number(burst)?),
            None => (number(text)?, number(text)?),
        };
        Some(Self::Rate(RequestRate { per_minute, burst }))
    }

    /// The text that [`RequestLimit::parse`] reads.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Rate(RequestRate { per_minute, burst }) => format!("{per_minute}/{burst}"),
        }
    }
}

/// The same text is stored and shown.
impl Serialize for RequestLimit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for RequestLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("is not a limit on requests"))
    }
}

/// Limits on requests, by the permission that a request needs. `None` leaves it to the next source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestLimits {
    /// For the permissions without one of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<RequestLimit>,
    /// Requests that add jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enqueue: Option<RequestLimit>,
    /// Requests of workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dequeue: Option<RequestLimit>,
    /// Requests that change single jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<RequestLimit>,
    /// Requests that only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect: Option<RequestLimit>,
    /// Requests that change queues, schedules, limits, pools and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<RequestLimit>,
}

impl RequestLimits {
    /// The names of the members.
    pub const FIELDS: &'static [&'static str] =
        &["default", "enqueue", "dequeue", "cancel", "inspect", "admin"];

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limit for a permission, by its name.
    #[must_use]
    pub fn get(&self, permission: &str) -> Option<RequestLimit> {
        let own = match permission {
            "enqueue" => self.enqueue,
            "dequeue" => self.dequeue,
            "cancel" => self.cancel,
            "inspect" => self.inspect,
            "admin" => self.admin,
            _ => None,
        };
        own.or(self.default)
    }

    /// Sets the given members. Null removes one.
    pub fn merge(&mut self, members: &Map<String, Value>) -> Result<(), Rejection> {
        for (name, value) in members {
            let field = format!("request_limits.{name}");
            let place = match name.as_str() {
                "default" => &mut self.default,
                "enqueue" => &mut self.enqueue,
                "dequeue" => &mut self.dequeue,
                "cancel" => &mut self.cancel,
                "inspect" => &mut self.inspect,
                "admin" => &mut self.admin,
                _ => {
                    let place = "request_limits";
                    return Err(json::unknown_member(name, Self::FIELDS, place, "the limits"));
                }
            };
            *place = match value {
                Value::Null => None,
                Value::String(text) => Some(RequestLimit::parse(text).ok_or_else(|| bad(&field))?),
                _ => return Err(bad(&field)),
            };
        }
        Ok(())
    }
}

fn bad(field: &str) -> Rejection {
    let problem = "must be requests per minute and burst such as \"600/50\", or \"off\"";
    Rejection::value(field.to_owned(), problem)
        .hint("\"600\" is 600 per minute, all of which may come at once.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_written_as_they_are_read() {
        let rate = |per_minute, burst| RequestLimit::Rate(RequestRate { per_minute, burst });
        for (text, limit, shown) in [
            ("off", RequestLimit::Off, "off"),
            ("600/50", rate(600, 50), "600/50"),
            ("600", rate(600, 600), "600/600"),
            ("1/1000000000", rate(1, MAX), "1/1000000000"),
        ] {
            assert_eq!(RequestLimit::parse(text), Some(limit), "{text}");
            assert_eq!(limit.text(), shown);
            let stored = serde_json::to_string(&limit).unwrap();
            assert_eq!(serde_json::from_str::<RequestLimit>(&stored).unwrap(), limit);
        }
        for bad in ["", "0", "0/5", "5/0", "+5", "5/", "/5", "5/5/5", "1000000001", "Off", "1.5"] {
            assert_eq!(RequestLimit::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn members_are_merged_and_a_permission_without_one_has_the_default() {
        let mut limits = RequestLimits::default();
        let merge =
            |limits: &mut RequestLimits, value: Value| limits.merge(value.as_object().unwrap());
        merge(&mut limits, json!({"default": "60/6", "admin": "off"})).unwrap();
        assert_eq!(limits.get("enqueue"), RequestLimit::parse("60/6"));
        assert_eq!(limits.get("admin"), Some(RequestLimit::Off));
        merge(&mut limits, json!({"enqueue": "5", "admin": null})).unwrap();
        assert_eq!(limits.get("enqueue"), RequestLimit::parse("5/5"));
        assert_eq!(limits.get("admin"), RequestLimit::parse("60/6"));
        let stored = serde_json::to_value(&limits).unwrap();
        assert_eq!(stored, json!({"default": "60/6", "enqueue": "5/5"}));
        assert_eq!(serde_json::from_value::<RequestLimits>(stored).unwrap(), limits);
        for bad in [json!({"enqueue": 5}), json!({"enqueue": "many"}), json!({"fetch": "5"})] {
            assert!(merge(&mut limits, bad.clone()).is_err(), "{bad}");
        }
    }
}
