//! Parses a case file. Unknown parts are collected, and the mode decides whether they fail the case.

use std::{ops::Range, time::Duration};

use serde_json::{Map, Value};

mod groups;
mod keys;
mod step;

pub use keys::unknown as unknown_keys;
pub use step::Step;

#[derive(Debug)]
pub struct Case {
    pub test_id: String,
    pub name: String,
    pub steps: Vec<Step>,
    /// Keys and actions that are not understood, in words.
    pub unknown: Vec<String>,
}

impl Case {
    pub fn parse(text: &str) -> Result<Case, String> {
        let document: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| format!("cannot read the case: {error}"))?;
        let word =
            |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let steps =
            document.get("steps").and_then(Value::as_array).filter(|steps| !steps.is_empty());
        let steps = steps.ok_or("the case has no steps")?;

        let mut unknown = keys::unknown("the case", &document, &keys::CASE);
        let steps: Result<Vec<Step>, String> = steps
            .iter()
            .enumerate()
            .map(|(index, step)| Step::parse(index, step, &mut unknown))
            .collect();
        let case = Case { test_id: word("test_id"), name: word("name"), steps: steps?, unknown };
        case.check_references()?;
        Ok(case)
    }

    /// How long the steps wait in all, so that the longest cases can start first.
    pub fn waiting(&self) -> Duration {
        self.steps.iter().map(|step| step.delay).sum()
    }

    /// The steps in order; those within one range are sent at the same time.
    pub fn groups(&self) -> Vec<Range<usize>> {
        groups::of(&self.steps)
    }

    fn check_references(&self) -> Result<(), String> {
        for (index, step) in self.steps.iter().enumerate() {
            if self.steps[..index].iter().any(|earlier| earlier.id == step.id) {
                return Err(format!("two steps are called {:?}", step.id));
            }
        }
        groups::check(&self.steps)
    }
}

#[cfg(test)]
mod tests;
