//! Sorting the members of an envelope into known, server-set and unknown ones.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::{Rejection, json};

/// Members that only the server sets. Values from clients are dropped.
const SERVER_SET: &[&str] = &[
    "state",
    "attempt",
    "max_attempts",
    "created_at",
    "enqueued_at",
    "started_at",
    "completed_at",
    "cancelled_at",
    "discarded_at",
    "expired_at",
    "activated_at",
    "re_enqueued_at",
    "next_attempt_at",
    "next_retry_at",
    "retry_delay_ms",
    "previous_state",
    "worker_id",
    "error",
    "errors",
    "result",
];

/// Members that are allowed at the top level and inside `options`.
pub(super) const OPTIONS: &[&str] = &[
    "queue",
    "priority",
    "timeout",
    "timeout_ms",
    "scheduled_at",
    "delay_until",
    "expires_at",
    "retry",
    "unique",
    "rate_limit",
    "tags",
    "visibility_timeout",
    "visibility_timeout_ms",
    "pending",
];

#[derive(Default)]
pub(super) struct Fields<'a> {
    pub specversion: Option<&'a RawValue>,
    pub id: Option<&'a RawValue>,
    pub kind: Option<&'a RawValue>,
    pub args: Option<&'a RawValue>,
    pub meta: Option<&'a RawValue>,
    pub schema: Option<&'a RawValue>,
    /// One slot for each of [`OPTIONS`].
    options: [Option<&'a RawValue>; OPTIONS.len()],
    /// Unknown members at the top level.
    pub unknown: json::Members<'a>,
    /// Unknown members inside `options`.
    pub unknown_options: json::Members<'a>,
}

impl<'a> Fields<'a> {
    pub fn read(text: &'a str) -> Result<Self, Rejection> {
        let mut fields = Fields::default();
        let mut nested = None;
        for (key, value) in json::members(text, "the job")? {
            match &*key {
                "specversion" => fields.specversion = present(value),
                "id" => fields.id = present(value),
                "type" => fields.kind = Some(value),
                "args" => fields.args = Some(value),
                "meta" => fields.meta = present(value),
                "schema" => fields.schema = present(value),
                "options" => nested = present(value),
                key if SERVER_SET.contains(&key) => {}
                _ => fields.add_option(key, value, false)?,
            }
        }
        if let Some(nested) = nested {
            super::object(nested, "options")?;
            for (key, value) in json::members(nested.get(), "'options'")? {
                fields.add_option(key, value, true)?;
            }
        }
        Ok(fields)
    }

    /// An option's value; null counts as absent.
    pub fn option(&self, name: &str) -> Option<&'a RawValue> {
        let slot = OPTIONS.iter().position(|o| *o == name).expect("the name of a known option");
        self.options[slot]
    }

    fn add_option(
        &mut self,
        key: Cow<'a, str>,
        value: &'a RawValue,
        nested: bool,
    ) -> Result<(), Rejection> {
        let Some(slot) = OPTIONS.iter().position(|o| *o == key) else {
            let rest = if nested { &mut self.unknown_options } else { &mut self.unknown };
            rest.push((key, value));
            return Ok(());
        };
        if present(value).is_none() {
            return Ok(());
        }
        match self.options[slot] {
            Some(first) if !same_value(first, value) => Err(Rejection::field(
                OPTIONS[slot],
                "is given at the top level and in 'options' with different values",
            )
            .hint("Give it once.")),
            _ => {
                self.options[slot] = Some(value);
                Ok(())
            }
        }
    }
}

/// A member's value; null counts as absent.
fn present(raw: &RawValue) -> Option<&RawValue> {
    (raw.get() != "null").then_some(raw)
}

fn same_value(a: &RawValue, b: &RawValue) -> bool {
    let parse = |raw: &RawValue| serde_json::from_str::<serde_json::Value>(raw.get()).ok();
    a.get() == b.get() || parse(a) == parse(b)
}
