//! Recurring schedules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use rota_model::cron::Schedule;
use rota_model::{Class, CronName, Millis, Seq, TenantId};
use serde::{Deserialize, Serialize};

use crate::CronSpec;

#[derive(Default)]
pub(crate) struct Crons {
    all: BTreeMap<CronName, Cron>,
    by_time: BTreeSet<(Millis, CronName)>,
    /// Which schedule an unfinished run belongs to.
    runs: BTreeMap<Seq, CronName>,
}

pub(crate) struct Cron {
    pub schedule: Schedule,
    pub row: CronRow,
}

/// What is kept of a schedule on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CronRow {
    pub expression: String,
    pub timezone: String,
    pub overlap: Overlap,
    pub enabled: bool,
    pub class: Class,
    pub body: String,
    pub shown: String,
    pub created: Millis,
    pub last_run: Option<Millis>,
    pub next_run: Option<Millis>,
    pub run_count: u64,
    /// Runs that have not finished, oldest first.
    pub runs: VecDeque<u64>,
}

/// What happens to a run that is due while an earlier one has not finished.
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

/// A schedule as people see it.
#[derive(Debug, Clone)]
pub struct CronView {
    pub name: CronName,
    /// Whose jobs its runs are.
    pub tenant: TenantId,
    pub expression: String,
    pub timezone: String,
    pub overlap: Overlap,
    pub enabled: bool,
    pub shown: Bytes,
    pub created: Millis,
    pub last_run: Option<Millis>,
    pub next_run: Option<Millis>,
    pub run_count: u64,
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
            shown: text(&spec.shown),
            created: now,
            last_run: None,
            next_run: None,
            run_count: 0,
            runs: VecDeque::new(),
        };
        let mut cron = Self { schedule: spec.schedule.clone(), row };
        cron.plan(now);
        cron
    }

    /// Sets the next run after `now`.
    pub fn plan(&mut self, now: Millis) {
        let anchor = self.row.last_run.unwrap_or(self.row.created);
        self.row.next_run = self
            .row
            .enabled
            .then(|| self.schedule.next_after(now, anchor))
            .flatten()
            .map(|occurrence| occurrence.at);
    }

    pub fn view(&self, name: &CronName) -> CronView {
        CronView {
            name: name.clone(),
            tenant: self.row.class.tenant.clone(),
            expression: self.row.expression.clone(),
            timezone: self.row.timezone.clone(),
            overlap: self.row.overlap,
            enabled: self.row.enabled,
            shown: self.row.shown.clone().into(),
            created: self.row.created,
            last_run: self.row.last_run,
            next_run: self.row.next_run,
            run_count: self.row.run_count,
        }
    }
}

impl Crons {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, name: &CronName) -> Option<&Cron> {
        self.all.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CronName, &Cron)> {
        self.all.iter()
    }

    pub fn insert(&mut self, name: CronName, cron: Cron) {
        if let Some(next) = cron.row.next_run {
            self.by_time.insert((next, name.clone()));
        }
        for &seq in &cron.row.runs {
            self.runs.insert(Seq(seq), name.clone());
        }
        self.all.insert(name, cron);
    }

    /// Takes a schedule out; put it back with [`Crons::insert`] to change it.
    pub fn take(&mut self, name: &CronName) -> Option<Cron> {
        let cron = self.all.remove(name)?;
        if let Some(next) = cron.row.next_run {
            self.by_time.remove(&(next, name.clone()));
        }
        for &seq in &cron.row.runs {
            self.runs.remove(&Seq(seq));
        }
        Some(cron)
    }

    /// The schedule that an unfinished run belongs to.
    pub fn of_run(&self, seq: Seq) -> Option<&CronName> {
        if self.runs.is_empty() { None } else { self.runs.get(&seq) }
    }

    pub fn next(&self) -> Option<Millis> {
        self.by_time.first().map(|&(at, _)| at)
    }

    pub fn due(&self, now: Millis) -> Option<CronName> {
        self.by_time.first().filter(|(at, _)| *at <= now).map(|(_, name)| name.clone())
    }
}
