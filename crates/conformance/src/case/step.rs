//! Parses one step of a case.

use std::time::Duration;

use serde_json::{Map, Value};

use super::keys;
use crate::action::Action;

#[derive(Debug)]
pub struct Step {
    pub id: String,
    pub action: Action,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Value>,
    /// A body that is sent as it is written, to be able to send what is not JSON.
    pub raw_body: Option<String>,
    /// What an operation is called with.
    pub request: Map<String, Value>,
    pub delay: Duration,
    pub repeat: u64,
    pub parallel_with: Option<String>,
    /// Names for later steps, and the path of their value in the answer.
    pub captures: Vec<(String, String)>,
    pub expectations: Map<String, Value>,
}

impl Step {
    pub(super) fn parse(
        index: usize,
        step: &Value,
        unknown: &mut Vec<String>,
    ) -> Result<Step, String> {
        let step = step.as_object().ok_or("a step is not an object")?;
        let fields =
            Fields { step, id: text(step, "id")?.unwrap_or(format!("step-{}", index + 1)) };
        let id = fields.id.clone();
        let action = Action::named(&fields.text("action")?.ok_or(format!("{id} has no action"))?);

        unknown.extend(keys::unknown(&id, step, &keys::STEP));
        if let Action::Unknown(name) = &action {
            unknown.push(format!("{id} has the unknown action {name:?}"));
        }
        let expectations = fields.expectations()?;
        let strange = expectations.keys().filter(|key| !keys::is_assertion(key));
        unknown.extend(strange.map(|key| format!("{id} has the unknown assertion {key:?}")));
        if action == Action::Wait && !expectations.is_empty() {
            unknown.push(format!("{id} waits, so its assertions have no answer to look at"));
        }

        Ok(Step {
            path: fields.text("path")?.unwrap_or_default(),
            headers: fields.texts("headers")?,
            body: step.get("body").cloned(),
            raw_body: fields.text("raw_body")?,
            request: fields.object("request")?,
            delay: fields.delay(&action)?,
            repeat: fields.number("repeat")?.unwrap_or(1).max(1),
            parallel_with: fields.text("parallel_with")?,
            captures: ["capture", "captures", "store"]
                .iter()
                .map(|key| fields.texts(key))
                .collect::<Result<Vec<_>, _>>()?
                .concat(),
            expectations,
            action,
            id,
        })
    }
}

/// The typed members of a step. A member of the wrong type is an error and not a missing member.
struct Fields<'a> {
    step: &'a Map<String, Value>,
    id: String,
}

impl Fields<'_> {
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        text(self.step, key)
    }

    fn number(&self, key: &str) -> Result<Option<u64>, String> {
        let number = self.step.get(key);
        number.map(|value| value.as_u64().ok_or_else(|| self.wrong(key))).transpose()
    }

    fn object(&self, key: &str) -> Result<Map<String, Value>, String> {
        match self.step.get(key) {
            None => Ok(Map::new()),
            Some(Value::Object(members)) => Ok(members.clone()),
            Some(_) => Err(self.wrong(key)),
        }
    }

    /// Two words for the same thing, of which a step may use one.
    fn expectations(&self) -> Result<Map<String, Value>, String> {
        if self.step.contains_key("assertions") && self.step.contains_key("expect") {
            return Err(format!("{} has both assertions and expect", self.id));
        }
        let mut expectations = self.object("assertions")?;
        expectations.extend(self.object("expect")?);
        Ok(expectations)
    }

    fn texts(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let members = self.object(key)?.into_iter();
        let texts = members.map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            _ => Err(self.wrong(key)),
        });
        texts.collect()
    }

    /// A wait has its length in `duration_ms` or, failing that, in `delay_ms`; any step may be
    /// delayed.
    fn delay(&self, action: &Action) -> Result<Duration, String> {
        let delay = self.number("delay_ms")?;
        let duration = self.number("duration_ms")?;
        if *action != Action::Wait && duration.is_some() {
            return Err(format!("{}: only a WAIT has a duration_ms", self.id));
        }
        Ok(Duration::from_millis(duration.or(delay).unwrap_or(0)))
    }

    fn wrong(&self, key: &str) -> String {
        format!("{}: {key} is of the wrong type", self.id)
    }
}

fn text(step: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match step.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("a step's {key} is not a text")),
    }
}
