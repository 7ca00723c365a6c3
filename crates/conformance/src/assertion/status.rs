//! Checks a response status: `200`, `"one_of:400,422"`, `"number:range(400,422)"`, `{"$in": [200, 204]}`, or a
//! list of statuses.

use serde_json::Value;

use super::Inspection;
use crate::matcher::Matcher;

impl Inspection<'_> {
    pub(super) fn status(&mut self, expected: &Value, status: u16) {
        match expected.as_str().and_then(|text| text.strip_prefix("one_of:")) {
            Some(list) => {
                let choices = list.split(',').map(|choice| choice.trim().parse().ok());
                self.among("status", expected, choices.collect(), status);
            }
            None => self.compare("status", expected, Some(&status.into())),
        }
    }

    pub(super) fn status_among(&mut self, key: &str, expected: &Value, status: u16) {
        let statuses = expected.as_array().into_iter().flatten();
        let choices =
            statuses.map(|choice| choice.as_u64().and_then(|choice| choice.try_into().ok()));
        self.among(key, expected, choices.collect(), status);
    }

    fn among(&mut self, key: &str, expected: &Value, choices: Option<Vec<u16>>, status: u16) {
        match choices.filter(|choices| !choices.is_empty()) {
            Some(choices) => {
                let choices = choices.into_iter().map(|choice| Matcher::Equal(choice.into()));
                let matcher = Matcher::OneOf(choices.collect());
                self.apply(key, expected, &matcher, Some(&status.into()));
            }
            None => self.not_understood(key, &format!("unknown list of statuses {expected}")),
        }
    }
}
