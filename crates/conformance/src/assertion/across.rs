//! Expectations about several responses.

use serde_json::{Map, Value, json};

use super::Inspection;
use crate::{case::unknown_keys, path::Path};

impl Inspection<'_> {
    /// Both sides are the same in every detail.
    pub(super) fn equality(&mut self, expected: &Value) {
        let Some(pairs) = expected.as_object() else {
            return self.not_understood("equality", &format!("unknown comparison {expected}"));
        };
        for (path, expected) in pairs {
            match Path::parse(path) {
                Ok(parsed) => match self.context.find(&parsed) {
                    Some(actual) if actual == *expected => {}
                    actual => self.problem(path, expected, actual.as_ref(), "is not equal"),
                },
                Err(why) => self.not_understood(path, &why),
            }
        }
    }

    /// Of several lists of fetched jobs, one has the job and the others are empty.
    pub(super) fn exclusive_claim(&mut self, expected: &Value) {
        let Some(claim) = expected.as_object().and_then(Claim::parse) else {
            return self.not_understood("exclusive_claim", &format!("unknown claim {expected}"));
        };
        let holders = claim.fetches.iter().filter(|jobs| claim.is_in(jobs)).count();
        let empty = claim.fetches.iter().filter(|jobs| jobs.is_empty()).count();
        if claim.one_has_job && holders != 1 {
            let why = format!("{holders} fetches have the job instead of 1");
            self.problem("exclusive_claim", expected, Some(&json!(claim.fetches)), &why);
        }
        if claim.one_empty && empty != 1 {
            let why = format!("{empty} fetches are empty instead of 1");
            self.problem("exclusive_claim", expected, Some(&json!(claim.fetches)), &why);
        }
    }
}

struct Claim<'a> {
    job_id: &'a Value,
    fetches: Vec<&'a Vec<Value>>,
    one_has_job: bool,
    one_empty: bool,
}

impl<'a> Claim<'a> {
    fn parse(members: &'a Map<String, Value>) -> Option<Claim<'a>> {
        let known = ["job_id", "fetches", "exactly_one_has_job", "exactly_one_empty"];
        let flag = |key: &str| members.get(key).map_or(Some(false), Value::as_bool);
        let fetches = members.get("fetches")?.as_array()?.iter().map(Value::as_array);
        let claim = Claim {
            job_id: members.get("job_id")?,
            fetches: fetches.collect::<Option<_>>()?,
            one_has_job: flag("exactly_one_has_job")?,
            one_empty: flag("exactly_one_empty")?,
        };
        unknown_keys("the claim", members, &known).is_empty().then_some(claim)
    }

    fn is_in(&self, jobs: &[Value]) -> bool {
        jobs.iter().any(|job| job.get("id") == Some(self.job_id))
    }
}
