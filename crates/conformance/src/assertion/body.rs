//! Checks a response body: matchers by path, `$or` for alternatives, and `$empty` for the whole body.

use serde_json::Value;

use super::Inspection;
use crate::{http::Response, path::Path};

impl Inspection<'_> {
    pub(super) fn body(&mut self, expected: &Value, response: &Response) {
        let Some(expectations) = expected.as_object() else {
            return self.not_understood("body", &format!("unknown expectation {expected}"));
        };
        for (path, expected) in expectations {
            match path.as_str() {
                "$or" => self.any_of(expected, response),
                "$empty" => self.emptiness(expected, response),
                path => self.body_at(path, expected, response),
            }
        }
    }

    pub(super) fn body_at(&mut self, path: &str, expected: &Value, response: &Response) {
        match Path::parse(path) {
            Ok(parsed) => {
                let actual = find(&parsed, &response.json, self.step.action.looks_into_job());
                self.compare(path, expected, actual.as_ref());
            }
            Err(why) => self.not_understood(path, &why),
        }
    }

    /// Every alternative is tried, so that an unknown matcher in any of them is noticed.
    fn any_of(&mut self, expected: &Value, response: &Response) {
        let Some(alternatives) = expected.as_array().filter(|list| !list.is_empty()) else {
            return self.not_understood("$or", &format!("unknown list of alternatives {expected}"));
        };
        let mut matched = false;
        for alternative in alternatives {
            let mut inspection = Inspection::new(self.step, self.response, self.context, self.mode);
            inspection.body(alternative, response);
            matched |= inspection.problems.is_empty();
            self.unknown.append(&mut inspection.unknown);
        }
        if !matched {
            self.problem("$or", expected, Some(&response.json), "no alternative matches");
        }
    }

    fn emptiness(&mut self, expected: &Value, response: &Response) {
        let Some(wanted) = expected.as_bool() else {
            return self.not_understood("$empty", &format!("unknown argument {expected}"));
        };
        if response.text.trim().is_empty() != wanted {
            let actual = Value::String(response.text.clone());
            self.problem("$empty", expected, Some(&actual), "differs in being empty");
        }
    }
}

/// The value in the answer, and where the step speaks of the job, in the answer's `job`.
pub fn find(path: &Path, body: &Value, look_into_job: bool) -> Option<Value> {
    let inside = || body.get("job").filter(|_| look_into_job);
    path.find(body).or_else(|| path.find(inside()?))
}
