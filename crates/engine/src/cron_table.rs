//! The table of recurring schedules, by name, tenant and time, and the runs of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rota_model::{CronName, Millis, Seq, TenantId};

use crate::cron::{Cron, Overlap};
use crate::{Asker, Cap, CapCounter, CapReached, Capped};

pub(crate) struct Crons {
    owned: CapCounter,
    owned_bytes: CapCounter,
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

impl Crons {
    pub fn new(cap: Cap, byte_cap: Cap, run_cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::Schedules, cap),
            owned_bytes: CapCounter::new(Capped::ScheduleBytes, byte_cap),
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

    /// Whether the tenant's schedules may be larger by this many bytes.
    pub fn check_byte_cap(&self, asker: Asker<'_>, more: u64) -> Result<(), CapReached> {
        match more {
            0 => Ok(()),
            more => self.owned_bytes.check_many(asker, 0, as_count(more)),
        }
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
        self.owned_bytes.add_many(Some(&cron.row.class.tenant), as_count(cron.row_bytes));
        let (tenant, enabled) = (cron.row.class.tenant.clone(), cron.state.enabled);
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
        self.owned_bytes.remove_many(Some(&cron.row.class.tenant), as_count(cron.row_bytes));
        let (tenant, enabled) = (&cron.row.class.tenant, cron.state.enabled);
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

fn as_count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
