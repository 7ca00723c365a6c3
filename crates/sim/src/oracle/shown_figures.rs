//! Compares the figures shown for tenants and limits with a full scan of the expected world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_engine::{Engine, Meter};
use rota_model::{LimitKey, QueueName, State, TenantId};

use super::limits::Key;
use super::violation::{Check, Rule, ensure};
use super::world::{Job, World};

#[derive(Default)]
struct Tally {
    by_state: [u64; State::ALL.len()],
    bytes: u64,
}

impl Tally {
    fn add(&mut self, job: &Job) {
        let state = job.state();
        if !state.is_terminal() {
            self.by_state[usize::from(state.code())] += 1;
            let waits = state != State::Active;
            self.bytes += if waits { u64::from(job.bytes()) } else { 0 };
        }
    }

    fn compare(&self, what: &str, bytes: u64, shown: impl Fn(State) -> u64) -> Check {
        for state in State::ALL.into_iter().filter(|state| !state.is_terminal()) {
            let (shown, counted) = (shown(state), self.by_state[usize::from(state.code())]);
            ensure(shown == counted, Rule::Counts, || {
                format!("{what}: {state} shown {shown}, counted {counted}")
            })?;
        }
        ensure(bytes == self.bytes, Rule::Counts, || {
            format!("{what}: {bytes} bytes shown, {} counted", self.bytes)
        })
    }
}

impl World {
    pub(super) fn check_figures(&self, engine: &Engine) -> Check {
        let mut tenants: BTreeMap<&TenantId, Tally> = BTreeMap::new();
        let mut shards: BTreeMap<(&TenantId, &QueueName), Tally> = BTreeMap::new();
        let mut queues: BTreeMap<&QueueName, Tally> = BTreeMap::new();
        for job in self.jobs.values() {
            let class = &job.class;
            tenants.entry(&class.tenant).or_default().add(job);
            shards.entry((&class.tenant, &class.queue)).or_default().add(job);
            queues.entry(&class.queue).or_default().add(job);
        }
        for id in engine.tenant_ids_after("", 0, usize::MAX) {
            let Some(view) = engine.tenant(&id) else { continue };
            let counted = tenants.remove(&id).unwrap_or_default();
            counted.compare(&id, view.jobs.bytes, |state| view.jobs.count(state))?;
        }
        ensure(tenants.is_empty(), Rule::Counts, || {
            format!("tenants {:?} are not shown", tenants.keys())
        })?;
        let ids = engine.tenant_ids_after("", 0, usize::MAX);
        let views: Vec<_> =
            ids.iter().flat_map(|id| engine.shards_of_tenant(id, 0, usize::MAX).0).collect();
        for view in &views {
            let counted = shards.remove(&(&view.tenant, &view.queue)).unwrap_or_default();
            let name = format!("{}/{}", view.tenant, view.queue);
            counted.compare(&name, view.jobs.bytes, |state| view.jobs.count(state))?;
        }
        for view in engine.queues_after("", 0, usize::MAX) {
            let counted = queues.remove(&view.name).unwrap_or_default();
            counted.compare(&view.name, view.bytes, |state| view.totals.of(state))?;
        }
        self.check_meters(engine)?;
        self.check_limits_shown(engine)
    }

    /// What the metrics show: tenants with a label of their own, and the rest together.
    fn check_meters(&self, engine: &Engine) -> Check {
        let labels: Vec<Option<TenantId>> =
            engine.labels(0, usize::MAX).into_iter().map(|label| label.tenant).collect();
        let (meters, _) = engine.meters(0, usize::MAX);
        let pair_of =
            |meter: &Meter| (labels[meter.label.0 as usize].as_ref(), meter.queue.clone());
        let pairs: BTreeSet<_> = meters.iter().map(pair_of).collect();
        let bounds = self.config.metrics;
        // For each tenant there is one of all its other queues besides.
        let fits = labels.len() <= bounds.tenants + 1
            && pairs.iter().filter(|(_, queue)| queue.is_some()).count() <= bounds.pairs;
        ensure(fits, Rule::Counts, || format!("{} meters, though {bounds:?}", pairs.len()))?;
        // Where some queues of a label are counted together, any of them may be: a part of a queue stays
        // where it was counted first.
        let together = |label: Option<&TenantId>| pairs.contains(&(label, None));
        let mut counted: BTreeMap<_, Tally> = BTreeMap::new();
        for job in self.jobs.values() {
            let label = labels.iter().flatten().find(|tenant| **tenant == job.class.tenant);
            let queue = (!together(label)).then(|| Arc::from(job.class.queue.local()));
            counted.entry((label, queue)).or_default().add(job);
        }
        let mut shown: BTreeMap<_, Vec<&Meter>> = BTreeMap::new();
        for meter in &meters {
            let (label, queue) = pair_of(meter);
            shown.entry((label, queue.filter(|_| !together(label)))).or_default().push(meter);
        }
        for ((label, queue), meters) in shown {
            let name = format!("meter of {label:?} in {queue:?}");
            let counted = counted.remove(&(label, queue)).unwrap_or_default();
            let bytes = meters.iter().map(|meter| meter.bytes()).sum();
            counted
                .compare(&name, bytes, |state| meters.iter().map(|meter| meter.of(state)).sum())?;
        }
        // Where nothing lives, there may be nothing to show.
        for ((label, queue), counted) in counted {
            counted.compare(&format!("no meter of {label:?} in {queue:?}"), 0, |_| 0)?;
        }
        Ok(())
    }

    fn check_limits_shown(&self, engine: &Engine) -> Check {
        let ready = self.jobs.values().filter(|job| job.is_ready()).map(|job| {
            let held = self.limits_of(&job.class).into_iter().map(|(partition, _)| partition);
            (held.collect::<Vec<_>>(), self.limits_are_open(&job.class))
        });
        let ready: Vec<_> = ready.filter(|(held, _)| !held.is_empty()).collect();
        for view in crate::rebuild::limits(engine) {
            let partition = (view.key.clone(), view.tenant.clone());
            let said = self.limits.get(&partition).is_some_and(Key::is_spoken_of);
            if is_meant(&view.key) && !said {
                continue;
            }
            let active = self.active_of(&partition);
            ensure(view.active == active, Rule::Counts, || {
                format!("{} has {} active shown, {active} counted", view.key, view.active)
            })?;
            let mut waiting = 0;
            let mut certain = !is_meant(&view.key);
            for (held, open) in ready.iter().filter(|(held, _)| held.contains(&partition)) {
                certain &= held.len() == 1;
                waiting += u64::from(!open);
            }
            ensure(!certain || view.waiting <= waiting, Rule::Counts, || {
                format!("{} has {} waiting shown, {waiting} counted", view.key, view.waiting)
            })?;
        }
        Ok(())
    }
}

/// A key that holds jobs which do not name it.
fn is_meant(key: &LimitKey) -> bool {
    key.starts_with("queue:") || key.starts_with("type:")
}
