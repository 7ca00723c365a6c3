//! Matches the type of a value: `{"$type": "string"}`.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Array,
    Object,
    Null,
}

impl Kind {
    pub(super) fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "string" => Kind::String,
            "number" => Kind::Number,
            "integer" => Kind::Integer,
            "boolean" => Kind::Boolean,
            "array" => Kind::Array,
            "object" => Kind::Object,
            "null" => Kind::Null,
            _ => return None,
        })
    }

    pub(super) fn check(self, actual: Option<&Value>) -> Result<(), String> {
        let fits = actual.is_some_and(|value| match self {
            Kind::String => value.is_string(),
            Kind::Number => value.is_number(),
            Kind::Integer => value.is_i64() || value.is_u64(),
            Kind::Boolean => value.is_boolean(),
            Kind::Array => value.is_array(),
            Kind::Object => value.is_object(),
            Kind::Null => value.is_null(),
        });
        super::expect(fits, "is of another type")
    }
}
