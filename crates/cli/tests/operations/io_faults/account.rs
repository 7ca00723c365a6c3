//! What was asked of a server and what it answered, and whether its data agree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::faulty::Faulty;
use crate::wire::Wire;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    Done,
    /// It did not happen.
    Refused,
    /// It may have happened.
    Unknown,
}

impl Answered {
    pub fn of(answer: Option<&(u16, Value)>) -> Self {
        match answer {
            Some((200..=299, _)) => Self::Done,
            Some((503, _)) => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone)]
struct Job {
    enqueued: Answered,
    /// `None` if nobody tried.
    acked: Option<Answered>,
}

#[derive(Debug, Clone, Default)]
pub struct Account {
    jobs: BTreeMap<String, Job>,
}

impl Account {
    /// The id and the arguments of another job.
    pub fn new_job(&self) -> (String, Value) {
        let n = self.jobs.len();
        let id = format!("01900000-0000-7000-8000-{n:012x}");
        (id.clone(), args_of(&id))
    }

    pub fn enqueued(&mut self, id: &str, answered: Answered) {
        self.jobs.insert(id.to_owned(), Job { enqueued: answered, acked: None });
    }

    pub fn acked(&mut self, id: &str, answered: Answered) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.acked = Some(answered);
        }
    }

    pub fn check(&self, run: &Faulty) -> Result<(), String> {
        let mut wire = Wire::open(run.address).map_err(|error| error.to_string())?;
        self.check_with(false, &mut |path| {
            let answer = wire.get(path).ok()?;
            Some((answer.status, answer.json()))
        })?;
        // Lists and counts agree with single jobs.
        let there = self.jobs.keys().filter(|id| {
            wire.get(&format!("/ojs/v1/jobs/{id}")).is_ok_and(|answer| answer.status == 200)
        });
        let there = there.count() as u64;
        let stats = wire.get("/ojs/v1/admin/stats").map_err(|error| error.to_string())?.json();
        let counts = stats["jobs"].as_object().cloned().unwrap_or_default();
        let counted: u64 = counts.values().filter_map(Value::as_u64).sum();
        if counted != there {
            return Err(format!("{there} jobs are there, and {counted} are counted: {stats}"));
        }
        Ok(())
    }

    /// Whether each job is as it was answered. While a call may fail, a job that cannot be read is not wrong.
    pub fn check_with(
        &self,
        may_fail: bool,
        get: &mut dyn FnMut(&str) -> Option<(u16, Value)>,
    ) -> Result<(), String> {
        for (id, job) in &self.jobs {
            let answer = get(&format!("/ojs/v1/jobs/{id}"));
            let (status, body) = match answer {
                Some((status, body)) if status < 500 => (status, body),
                _ if may_fail => continue,
                other => return Err(format!("{id} cannot be read: {other:?}")),
            };
            let shown = &body["job"];
            let state = shown["state"].as_str().unwrap_or_default();
            let there = match (job.enqueued, status) {
                (Answered::Done, 200) | (Answered::Unknown, 200) => true,
                (Answered::Refused, 404) | (Answered::Unknown, 404) => false,
                _ => return Err(format!("{id} {job:?}: {status} {body}")),
            };
            if !there {
                continue;
            }
            let completed = state == "completed";
            let right = match job.acked {
                Some(Answered::Done) => completed && shown["result"] == json!({"of": id}),
                Some(Answered::Unknown) => true,
                Some(Answered::Refused) | None => !completed,
            };
            if !right || shown["args"] != args_of(id) || shown["id"] != *id {
                return Err(format!("{id} {job:?}: {body}"));
            }
        }
        Ok(())
    }
}

fn args_of(id: &str) -> Value {
    json!([id, "x".repeat(600)])
}
