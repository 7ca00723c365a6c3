//! Checks a response against everything that its step expects.

use serde::Serialize;
use serde_json::Value;

use crate::{case::Step, context::Context, http::Response, matcher::Matcher, mode::Mode, template};

mod across;
mod body;
mod headers;
mod status;

pub use body::find as find_in_body;

/// An expectation that was not met.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    pub what: String,
    pub expected: String,
    pub actual: String,
    pub why: String,
}

#[derive(Debug, Default)]
pub struct Findings {
    pub problems: Vec<Problem>,
    pub warnings: Vec<String>,
}

pub fn check(step: &Step, response: Option<&Response>, context: &Context, mode: Mode) -> Findings {
    let mut inspection = Inspection::new(step, response, context, mode);
    // The status first, since it explains most of what is wrong with the rest.
    let (statuses, others): (Vec<_>, Vec<_>) =
        step.expectations.iter().partition(|(key, _)| key.starts_with("status"));
    for (key, expected) in statuses.into_iter().chain(others) {
        if key.ends_with("_comment") {
            continue;
        }
        match template::fill(expected, context) {
            Ok(expected) => inspection.expectation(key, &expected),
            Err(why) => inspection.problem(key, expected, None, &why),
        }
    }
    inspection.conclude()
}

struct Inspection<'a> {
    step: &'a Step,
    response: Option<&'a Response>,
    context: &'a Context,
    mode: Mode,
    problems: Vec<Problem>,
    /// Matchers and paths that are not understood: errors when strict, warnings when lenient.
    unknown: Vec<String>,
    left_out: Vec<String>,
}

impl<'a> Inspection<'a> {
    fn new(
        step: &'a Step,
        response: Option<&'a Response>,
        context: &'a Context,
        mode: Mode,
    ) -> Self {
        let (problems, unknown, left_out) = Default::default();
        Inspection { step, response, context, mode, problems, unknown, left_out }
    }

    fn expectation(&mut self, key: &str, expected: &Value) {
        match key {
            "equality" | "exclusive_claim" if !self.mode.is_strict() => {
                self.left_out
                    .push(format!("{}: {key} is checked in strict mode only", self.step.id));
            }
            "equality" => self.equality(expected),
            "exclusive_claim" => self.exclusive_claim(expected),
            _ => match self.response {
                Some(response) => self.of_response(key, expected, response),
                None => self.problem(key, expected, None, "there is no answer to look at"),
            },
        }
    }

    fn of_response(&mut self, key: &str, expected: &Value, response: &Response) {
        match key {
            "status" => self.status(expected, response.status),
            "status_in" | "status_one_of" => self.status_among(key, expected, response.status),
            "headers" => self.headers(expected, response),
            "body" => self.body(expected, response),
            // Any other key was told when the case was read.
            _ => {
                if let Some(path) = key.strip_prefix("body.") {
                    self.body_at(path, expected, response);
                }
            }
        }
    }

    /// The common end of most expectations: one matcher against one value.
    fn compare(&mut self, what: &str, expected: &Value, actual: Option<&Value>) {
        match Matcher::parse(expected, self.mode) {
            Ok(matcher) => self.apply(what, expected, &matcher, actual),
            Err(why) => self.not_understood(what, &why),
        }
    }

    fn apply(&mut self, what: &str, expected: &Value, matcher: &Matcher, actual: Option<&Value>) {
        if let Err(why) = matcher.check(actual) {
            self.problem(what, expected, actual, &why);
        }
    }

    fn problem(&mut self, what: &str, expected: &Value, actual: Option<&Value>, why: &str) {
        self.problems.push(Problem {
            what: what.into(),
            expected: expected.to_string(),
            actual: actual.map_or_else(|| "nothing".into(), Value::to_string),
            why: why.into(),
        });
    }

    fn not_understood(&mut self, what: &str, why: &str) {
        self.unknown.push(format!("{}: {what}: {why}", self.step.id));
    }

    fn conclude(self) -> Findings {
        let mut findings = Findings { problems: self.problems, warnings: self.left_out };
        if self.mode.is_strict() {
            findings.problems.extend(self.unknown.into_iter().map(Problem::of_unknown));
        } else {
            findings.warnings.extend(self.unknown);
        }
        findings
    }
}

impl Problem {
    pub fn of_unknown(what: String) -> Problem {
        Problem {
            what,
            expected: "a vocabulary that is known".into(),
            actual: "nothing".into(),
            why: "strict mode passes nothing that it does not understand".into(),
        }
    }
}

#[cfg(test)]
mod tests;
