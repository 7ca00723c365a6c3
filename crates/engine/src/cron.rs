//! A recurring schedule: when it runs next, and its unfinished runs.

use std::collections::BTreeSet;

use bytes::Bytes;
use rota_model::cron::Schedule;
use rota_model::{Class, CronName, JobType, Millis, QueueName, Seq, TenantId};
use serde::{Deserialize, Serialize};

use crate::CronSpec;
use crate::cron_history::CronHistory;

pub(crate) struct Cron {
    pub schedule: Schedule,
    pub row: CronRow,
    pub state: CronState,
    /// Size of the stored row.
    pub row_bytes: u64,
    /// The next run that is skipped because its local time does not exist (DST).
    next_skip: Option<Millis>,
    /// Unfinished runs.
    pub runs: BTreeSet<Seq>,
}

/// What a schedule was registered with, as stored. It may be large, and is written only when it changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CronRow {
    pub expression: String,
    pub timezone: String,
    pub overlap: Overlap,
    pub class: Class,
    pub body: String,
    /// See [`CronSpec::proven`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proven: bool,
    pub shown: String,
    pub created: Millis,
}

/// What changes with every run, in a row of its own. Until format 11, it was part of [`CronRow`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CronState {
    #[serde(default)]
    pub enabled: bool,
    pub last_run: Option<Millis>,
    pub next_run: Option<Millis>,
    #[serde(default)]
    pub run_count: u64,
    /// Skipped runs, for any reason.
    #[serde(default)]
    pub skip_count: u64,
    /// When the next run was last computed. Skipped times up to here have been reported.
    #[serde(default)]
    pub planned: Option<Millis>,
    #[serde(default, skip_serializing_if = "CronHistory::is_empty")]
    pub history: CronHistory,
}

/// What happens to a due run while an earlier one is unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    Skip,
    Allow,
    CancelPrevious,
    Enqueue,
}

impl Overlap {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Overlap::Skip => "skip",
            Overlap::Allow => "allow",
            Overlap::CancelPrevious => "cancel_previous",
            Overlap::Enqueue => "enqueue",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Overlap::Skip, Overlap::Allow, Overlap::CancelPrevious, Overlap::Enqueue]
            .into_iter()
            .find(|o| o.as_str() == text)
    }
}

/// A schedule, as clients see it.
#[derive(Debug, Clone)]
pub struct CronView {
    pub name: CronName,
    /// The tenant of its jobs.
    pub tenant: TenantId,
    pub queue: QueueName,
    /// The type of its jobs.
    pub kind: JobType,
    pub expression: String,
    pub timezone: String,
    pub overlap: Overlap,
    pub enabled: bool,
    pub shown: Bytes,
    pub created: Millis,
    pub last_run: Option<Millis>,
    pub next_run: Option<Millis>,
    pub run_count: u64,
    /// Skipped runs, for any reason.
    pub skip_count: u64,
}

impl Cron {
    pub fn new(spec: &CronSpec, now: Millis) -> Self {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let row = CronRow {
            expression: spec.expression.clone(),
            timezone: spec.timezone.clone(),
            overlap: spec.overlap,
            class: spec.class.clone(),
            body: text(&spec.body),
            proven: spec.proven,
            shown: text(&spec.shown),
            created: now,
        };
        let state = CronState { enabled: spec.enabled, ..CronState::default() };
        let mut cron = Self::restored(spec.schedule.clone(), row, state);
        cron.plan(now);
        cron
    }

    pub fn restored(schedule: Schedule, mut row: CronRow, state: CronState) -> Self {
        // Older rows have no braces around the members.
        if !row.shown.starts_with('{') {
            row.shown = format!("{{{}}}", row.shown);
        }
        let runs = BTreeSet::new();
        let mut cron = Self { schedule, row, state, row_bytes: 0, next_skip: None, runs };
        cron.find_next_skip();
        cron
    }

    /// The state was in a row of its own.
    pub fn restore_state(&mut self, state: CronState) {
        self.state = state;
        self.find_next_skip();
    }

    /// The row in its stored form.
    pub fn stored_row(&self) -> Vec<u8> {
        serde_json::to_vec(&self.row).expect("rows are plain data")
    }

    /// Computes the next run after `now`.
    pub fn plan(&mut self, now: Millis) {
        let anchor = self.state.last_run.unwrap_or(self.row.created);
        self.state.next_run = self
            .state
            .enabled
            .then(|| self.schedule.next_after(now, anchor))
            .flatten()
            .map(|occurrence| occurrence.at);
        self.state.planned = Some(now);
        self.find_next_skip();
    }

    fn find_next_skip(&mut self) {
        let until = self.state.next_run.unwrap_or(Millis::MAX);
        let next = || self.schedule.next_skip(self.planned(), until);
        self.next_skip = self.state.enabled.then(next).flatten();
    }

    /// Times since the last plan that do not exist (DST), up to now.
    pub fn skipped(&self, now: Millis) -> Vec<Millis> {
        self.schedule.skipped_by_dst(self.planned(), now)
    }

    fn planned(&self) -> Millis {
        self.state.planned.or(self.state.last_run).unwrap_or(self.row.created)
    }

    /// When the schedule is due: for a run, or to report a skipped one.
    pub fn wake_at(&self) -> Option<Millis> {
        self.state.next_run.into_iter().chain(self.next_skip).min()
    }

    pub fn view(&self, name: &CronName) -> CronView {
        CronView {
            name: name.clone(),
            tenant: self.row.class.tenant.clone(),
            queue: self.row.class.queue.clone(),
            kind: self.row.class.kind.clone(),
            expression: self.row.expression.clone(),
            timezone: self.row.timezone.clone(),
            overlap: self.row.overlap,
            enabled: self.state.enabled,
            shown: self.row.shown.clone().into(),
            created: self.row.created,
            last_run: self.state.last_run,
            next_run: self.state.next_run,
            run_count: self.state.run_count,
            skip_count: self.state.skip_count,
        }
    }
}

#[cfg(test)]
mod tests {
    use rota_model::{JobType, Policy};

    use super::*;

    #[test]
    fn an_older_row_gets_its_braces_and_a_newer_one_keeps_them() {
        for stored in [r#""type":"a","meta":{}"#, r#"{"type":"a","meta":{}}"#] {
            let row = CronRow {
                expression: "@hourly".into(),
                timezone: "UTC".into(),
                overlap: Overlap::Skip,
                class: Class {
                    queue: QueueName::default_queue(),
                    kind: JobType::parse("a").unwrap(),
                    tenant: TenantId::default_tenant(),
                    priority: 0,
                    policy: Policy::default().into(),
                },
                body: String::new(),
                proven: false,
                shown: stored.into(),
                created: Millis(0),
            };
            let schedule = Schedule::parse("@hourly", "UTC").unwrap();
            let cron = Cron::restored(schedule, row, CronState::default());
            let shown = cron.view(&CronName::parse("a").unwrap()).shown;
            assert_eq!(shown, r#"{"type":"a","meta":{}}"#);
        }
    }
}
