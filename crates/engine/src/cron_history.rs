//! The last executions of a schedule, kept with it.

use std::collections::VecDeque;

use rota_model::{JobId, Millis, Seq};
use serde::{Deserialize, Serialize};

/// How many executions are remembered for each schedule.
const LENGTH: usize = 20;

/// Oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CronHistory(VecDeque<CronExecution>);

/// A run of a schedule, or one that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronExecution {
    pub scheduled_for: Millis,
    /// Its job. `None` if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<CronJob>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// A request triggered it, not the schedule.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_request: bool,
}

/// The job of an execution. It may be deleted before the execution is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronJob {
    seq: u64,
    pub id: String,
}

impl CronJob {
    #[must_use]
    pub fn seq(&self) -> Seq {
        Seq(self.seq)
    }
}

impl CronExecution {
    pub(crate) fn ran(scheduled_for: Millis, seq: Seq, id: JobId, by_request: bool) -> Self {
        let job = Some(CronJob { seq: seq.0, id: id.to_string() });
        Self { scheduled_for, job, skipped: None, by_request }
    }

    pub(crate) fn skipped(scheduled_for: Millis, reason: &str) -> Self {
        let skipped = Some(reason.to_owned());
        Self { scheduled_for, job: None, skipped, by_request: false }
    }
}

impl CronHistory {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn add(&mut self, execution: CronExecution) {
        if self.0.len() >= LENGTH {
            self.0.pop_front();
        }
        self.0.push_back(execution);
    }

    pub fn newest_first(&self) -> impl Iterator<Item = &CronExecution> {
        self.0.iter().rev()
    }
}
