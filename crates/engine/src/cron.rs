//! The table of recurring schedules and their unfinished runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use bytes::Bytes;
use rota_model::cron::Schedule;
use rota_model::{Class, CronName, Millis, QueueName, Seq, TenantId};
use serde::{Deserialize, Serialize};

use crate::cron_history::CronHistory;
use crate::{Asker, Cap, CapCounter, CapReached, Capped, CronSpec};

pub(crate) struct Crons {
    owned: CapCounter,
    owned_runs: CapCounter,
    all: BTreeMap<CronName, Cron>,
    by_time: BTreeSet<(Millis, CronName)>,
    names: Names,
    by_tenant: BTreeMap<TenantId, Names>,
    /// Schedules by name without namespace.
    by_local: BTreeMap<Box<str>, BTreeSet<CronName>>,
    /// The schedule of each unfinished run.
    runs: BTreeMap<Seq, CronName>,
}

/// Names of schedules, enabled and disabled ones separately.
#[derive(Default)]
struct Names {
    enabled: BTreeSet<CronName>,
    disabled: BTreeSet<CronName>,
}

impl Names {
    fn of(&mut self, enabled: bool) -> &mut BTreeSet<CronName> {
        if enabled { &mut self.enabled } else { &mut self.disabled }
    }

    fn len(&self, enabled: Option<bool>) -> usize {
        match enabled {
            None => self.enabled.len() + self.disabled.len(),
            Some(true) => self.enabled.len(),
            Some(false) => self.disabled.len(),
        }
    }

    /// Up to `most` names after this one, sorted.
    fn after(&self, name: &str, most: usize, enabled: Option<bool>) -> Vec<&CronName> {
        let behind = (Bound::Excluded(name), Bound::Unbounded);
        let mut found: Vec<&CronName> = Vec::new();
        if enabled != Some(false) {
            found.extend(self.enabled.range::<str, _>(behind).take(most));
        }
        if enabled != Some(true) {
            found.extend(self.disabled.range::<str, _>(behind).take(most));
        }
        found.sort_unstable();
        found.truncate(most);
        found
    }
}

pub(crate) struct Cron {
    pub schedule: Schedule,
    pub row: CronRow,
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
        let mut cron = Self { schedule, row, next_skip: None, runs: BTreeSet::new() };
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

impl Crons {
    pub fn new(cap: Cap, run_cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::Schedules, cap),
            owned_runs: CapCounter::new(Capped::ScheduleRuns, run_cap),
            all: BTreeMap::new(),
            by_time: BTreeSet::new(),
            names: Names::default(),
            by_tenant: BTreeMap::new(),
            by_local: BTreeMap::new(),
            runs: BTreeMap::new(),
        }
    }

    /// Whether the tenant may have one more schedule.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    /// Whether the tenant may have one more unfinished run.
    pub fn check_run_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned_runs.check(asker)
    }

    pub fn get(&self, name: &CronName) -> Option<&Cron> {
        self.all.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CronName, &Cron)> {
        self.all.iter()
    }

    /// The number of schedules, of one tenant or of all, enabled or not.
    pub fn count(&self, tenant: Option<&TenantId>, enabled: Option<bool>) -> usize {
        self.names_of(tenant).map_or(0, |names| names.len(enabled))
    }

    /// Up to `most` of them after this name, sorted.
    pub fn after(
        &self,
        name: &str,
        most: usize,
        tenant: Option<&TenantId>,
        enabled: Option<bool>,
    ) -> impl Iterator<Item = (&CronName, &Cron)> {
        let names = self.names_of(tenant).map(|names| names.after(name, most, enabled));
        names.into_iter().flatten().filter_map(|name| self.all.get_key_value(name))
    }

    fn names_of(&self, tenant: Option<&TenantId>) -> Option<&Names> {
        tenant.map_or(Some(&self.names), |tenant| self.by_tenant.get(tenant))
    }

    /// Schedules of this name in all namespaces.
    pub fn named(&self, local: &str) -> impl Iterator<Item = (&CronName, &Cron)> {
        let names = self.by_local.get(local).into_iter().flatten();
        names.filter_map(|name| self.all.get_key_value(name))
    }

    pub fn insert(&mut self, name: CronName, cron: Cron) {
        if let Some(next) = cron.wake_at() {
            self.by_time.insert((next, name.clone()));
        }
        self.owned.add(Some(&cron.row.class.tenant));
        let (tenant, enabled) = (cron.row.class.tenant.clone(), cron.row.enabled);
        self.names.of(enabled).insert(name.clone());
        self.by_tenant.entry(tenant).or_default().of(enabled).insert(name.clone());
        self.by_local.entry(name.local().into()).or_default().insert(name.clone());
        self.all.insert(name, cron);
    }

    /// Removes a schedule; to change it, put it back with [`Crons::insert`]. Its runs stay listed.
    pub fn take(&mut self, name: &CronName) -> Option<Cron> {
        let cron = self.all.remove(name)?;
        if let Some(next) = cron.wake_at() {
            self.by_time.remove(&(next, name.clone()));
        }
        self.owned.remove(Some(&cron.row.class.tenant));
        let (tenant, enabled) = (&cron.row.class.tenant, cron.row.enabled);
        self.names.of(enabled).remove(name);
        if let Some(names) = self.by_tenant.get_mut(tenant) {
            names.of(enabled).remove(name);
            if names.len(None) == 0 {
                self.by_tenant.remove(tenant);
            }
        }
        if let Some(same) = self.by_local.get_mut(name.local()) {
            same.remove(name);
            if same.is_empty() {
                self.by_local.remove(name.local());
            }
        }
        Some(cron)
    }

    /// Adds an unfinished run; false if there is no such schedule.
    pub fn add_run(&mut self, name: &CronName, seq: Seq) -> bool {
        let Some(cron) = self.all.get_mut(name) else { return false };
        cron.runs.insert(seq);
        self.owned_runs.add(Some(&cron.row.class.tenant));
        self.runs.insert(seq, name.clone());
        true
    }

    /// Removes a run that has ended. Returns the next run if it may have been held behind this one.
    pub fn end_run(&mut self, seq: Seq) -> Option<Seq> {
        let name = self.runs.remove(&seq)?;
        let cron = self.all.get_mut(&name)?;
        let was_first = cron.runs.first() == Some(&seq);
        cron.runs.remove(&seq);
        self.owned_runs.remove(Some(&cron.row.class.tenant));
        let held_back = was_first && cron.row.overlap == Overlap::Enqueue;
        cron.runs.first().copied().filter(|_| held_back)
    }

    /// Forgets the runs of a schedule that is removed; they are ordinary jobs from now on.
    pub fn forget_runs(&mut self, cron: &Cron) {
        for seq in &cron.runs {
            self.runs.remove(seq);
            self.owned_runs.remove(Some(&cron.row.class.tenant));
        }
    }

    /// Whether the job is an unfinished run.
    pub fn is_run(&self, seq: Seq) -> bool {
        !self.runs.is_empty() && self.runs.contains_key(&seq)
    }

    pub fn next(&self) -> Option<Millis> {
        self.by_time.first().map(|&(at, _)| at)
    }

    pub fn due(&self, now: Millis) -> Option<CronName> {
        self.by_time.first().filter(|(at, _)| *at <= now).map(|(_, name)| name.clone())
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
