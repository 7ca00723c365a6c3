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
    /// Size of the stored row.
    pub row_bytes: u64,
    /// The next run that is skipped because its local time does not exist (DST).
    next_skip: Option<Millis>,
    /// Unfinished runs.
    pub runs: BTreeSet<Seq>,
}

/// A schedule, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CronRow {
    pub expression: String,
    pub timezone: String,
    pub overlap: Overlap,
    pub enabled: bool,
    pub class: Class,
    pub body: String,
    /// See [`CronSpec::proven`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proven: bool,
    pub shown: String,
    pub created: Millis,
    pub last_run: Option<Millis>,
    pub next_run: Option<Millis>,
    pub run_count: u64,
    /// Skipped runs, for any reason.
    #[serde(default)]
    pub skip_count: u64,
    /// When the next run was last computed. Skipped times up to here have been reported.
    #[serde(default)]
    planned: Option<Millis>,
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
            enabled: spec.enabled,
            class: spec.class.clone(),
            body: text(&spec.body),
            proven: spec.proven,
            shown: text(&spec.shown),
            created: now,
            last_run: None,
            next_run: None,
            run_count: 0,
            skip_count: 0,
            planned: None,
            history: CronHistory::default(),
        };
        let mut cron = Self::restored(spec.schedule.clone(), row);
        cron.plan(now);
        cron
    }

    pub fn restored(schedule: Schedule, mut row: CronRow) -> Self {
        // Older rows have no braces around the members.
        if !row.shown.starts_with('{') {
            row.shown = format!("{{{}}}", row.shown);
        }
        let mut cron = Self { schedule, row, row_bytes: 0, next_skip: None, runs: BTreeSet::new() };
        cron.find_next_skip();
        cron
    }

    /// Computes the next run after `now`.
    pub fn plan(&mut self, now: Millis) {
        let anchor = self.row.last_run.unwrap_or(self.row.created);
        self.row.next_run = self
            .row
            .enabled
            .then(|| self.schedule.next_after(now, anchor))
            .flatten()
            .map(|occurrence| occurrence.at);
        self.row.planned = Some(now);
        self.find_next_skip();
    }

    fn find_next_skip(&mut self) {
        let until = self.row.next_run.unwrap_or(Millis::MAX);
        let next = || self.schedule.next_skip(self.planned(), until);
        self.next_skip = self.row.enabled.then(next).flatten();
    }

    /// Times since the last plan that do not exist (DST), up to now.
    pub fn skipped(&self, now: Millis) -> Vec<Millis> {
        self.schedule.skipped_by_dst(self.planned(), now)
    }

    fn planned(&self) -> Millis {
        self.row.planned.or(self.row.last_run).unwrap_or(self.row.created)
    }

    /// When the schedule is due: for a run, or to report a skipped one.
    pub fn wake_at(&self) -> Option<Millis> {
        self.row.next_run.into_iter().chain(self.next_skip).min()
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
            enabled: self.row.enabled,
            shown: self.row.shown.clone().into(),
            created: self.row.created,
            last_run: self.row.last_run,
            next_run: self.row.next_run,
            run_count: self.row.run_count,
            skip_count: self.row.skip_count,
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
                enabled: true,
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
                last_run: None,
                next_run: None,
                run_count: 0,
                skip_count: 0,
                planned: None,
                history: CronHistory::default(),
            };
            let cron = Cron::restored(Schedule::parse("@hourly", "UTC").unwrap(), row);
            let shown = cron.view(&CronName::parse("a").unwrap()).shown;
            assert_eq!(shown, r#"{"type":"a","meta":{}}"#);
        }
    }
}
