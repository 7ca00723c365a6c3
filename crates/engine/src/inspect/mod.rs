//! Read-only views of the engine, for HTTP answers and dashboards.

mod entitled;
mod explain;
mod isolation_mismatch;
mod keys;
mod limits;
mod meters;
mod pools;
mod tenant_ranking;
mod tenants;

pub use explain::{Explained, Reason};
pub use isolation_mismatch::IsolationMismatch;
pub use limits::{LimitMeter, LimitName, LimitSlice, LimitView};
pub use meters::{LabelView, QueueMeter};
pub use pools::{PoolView, QueueShare};
pub use tenant_ranking::RankBy;
pub use tenants::{ShardView, ShareView, TenantView};

use rota_model::mutation::Counts;
use rota_model::{
    Class, ClassId, CronName, Directive, Ending, Live, Millis, QueueName, Seq, State, TenantId,
    WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::queue::{Queue, QueueIx};
use crate::stats::Interval;
use crate::worker::Worker;
use crate::{CronExecution, CronView, Engine, QueueSettings, Registration, WorkerCounts};

#[derive(Debug, Clone)]
pub struct QueueView {
    pub name: QueueName,
    pub created: Millis,
    pub paused: Option<Millis>,
    pub settings: QueueSettings,
    pub totals: Totals,
    /// Bytes of waiting jobs.
    pub bytes: u64,
    pub pressure: Option<f64>,
    /// The current minute.
    pub minute: Interval,
    /// The job that would be served next, if one is eligible. Clients see its age as that of the
    /// oldest.
    pub oldest: Option<Seq>,
}

/// Jobs by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    live: [u64; State::ALL.len()],
    done: Counts,
}

impl Totals {
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        if state.is_terminal() {
            self.done.of_state(state)
        } else {
            self.live[usize::from(state.code())]
        }
    }

    #[must_use]
    pub fn dead_letter(&self) -> u64 {
        self.done.get(Ending::DeadLetter)
    }

    /// Adds the counts of other jobs.
    pub fn merge(&mut self, other: &Self) {
        self.live.iter_mut().zip(other.live).for_each(|(count, more)| *count += more);
        for ending in Ending::ALL {
            *self.done.get_mut(ending) += other.done.get(ending);
        }
    }

    fn add(&mut self, queue: &Queue) {
        for state in State::ALL.into_iter().filter(|s| !s.is_terminal()) {
            self.live[usize::from(state.code())] += queue.count(state);
        }
        for ending in Ending::ALL {
            *self.done.get_mut(ending) += queue.done.get(ending);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerView {
    pub about: Registration,
    pub state: WorkerState,
    pub directive: Directive,
    pub since: Millis,
    pub last_seen: Millis,
    pub beats: bool,
    /// Jobs that it holds.
    pub active: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    Is(Directive),
    Stale,
}

impl WorkerState {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            WorkerState::Is(directive) => directive.as_str(),
            WorkerState::Stale => "stale",
        }
    }
}

/// An active job as the engine knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveView {
    pub seq: Seq,
    pub class: ClassId,
    pub attempt: u32,
    pub started: Millis,
    pub worker: Option<WorkerId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Maintenance {
    /// `None` when maintenance is off.
    pub since: Option<Millis>,
    pub reason: Option<String>,
    pub expected_end: Option<Millis>,
}

impl Maintenance {
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.since.is_some()
    }
}

impl Engine {
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<QueueView> {
        let ix = self.queues.find_existing(name)?;
        Some(self.queue_view(ix))
    }

    /// Up to `most` queues after this name, sorted by name, without the first `skip`.
    #[must_use]
    pub fn queues_after(&self, name: &str, skip: usize, most: usize) -> Vec<QueueView> {
        let page = self.queues.existing_after(name).skip(skip).take(most);
        page.map(|ix| self.queue_view(ix)).collect()
    }

    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.queues.len()
    }

    /// Queues without a bound.
    #[must_use]
    pub fn unbounded_queue_count(&self) -> usize {
        self.queues.iter().filter(|queue| queue.exists && !queue.is_bounded()).count()
    }

    #[must_use]
    pub fn totals(&self) -> Totals {
        let jobs = &self.queues.jobs;
        Totals { live: State::ALL.map(|state| jobs.count(state)), done: self.queues.done }
    }

    /// The current minute of all queues together.
    #[must_use]
    pub fn minute(&self) -> Interval {
        self.current_minute(None)
    }

    /// A worker. With a tenant, only its own jobs are counted.
    #[must_use]
    pub fn worker(&self, id: &WorkerId, tenant: Option<&TenantId>) -> Option<WorkerView> {
        self.workers.get(id).map(|worker| self.worker_view(worker, tenant))
    }

    /// The jobs that a worker holds, of one tenant or of all.
    pub fn held_by(&self, id: &WorkerId, tenant: Option<&TenantId>) -> impl Iterator<Item = Seq> {
        self.active.held_by(id).filter(move |seq| {
            tenant.is_none()
                || self.active.get(*seq).and_then(|job| self.owner_of(job.class)) == tenant
        })
    }

    /// The class of a job that a worker holds.
    #[must_use]
    pub fn class_of_active(&self, seq: Seq) -> Option<ClassId> {
        self.active.get(seq).map(|job| job.class)
    }

    /// Tenants' workers that their tenants call by this name, at most ten.
    #[must_use]
    pub fn tenants_workers_named(&self, name: &WorkerId) -> Vec<WorkerId> {
        self.workers.of_tenants_named(name, 10)
    }

    /// Up to `most` workers after this id, of one tenant or of all, without the first `skip`.
    #[must_use]
    pub fn workers_after(
        &self,
        tenant: Option<&TenantId>,
        id: &str,
        skip: usize,
        most: usize,
    ) -> Vec<WorkerView> {
        let of_tenant = tenant.map(|tenant| self.workers.of_tenant_after(tenant, id));
        let all = tenant.is_none().then(|| self.workers.after(id));
        let page = of_tenant.into_iter().flatten().chain(all.into_iter().flatten());
        page.skip(skip).take(most).map(|worker| self.worker_view(worker, tenant)).collect()
    }

    /// Workers by state, of one tenant or of all.
    #[must_use]
    pub fn worker_counts(&self, tenant: Option<&TenantId>) -> WorkerCounts {
        self.workers.tallies().counts(tenant)
    }

    /// The scheduler's steps so far: a measure of cost that does not depend on the machine.
    #[doc(hidden)]
    #[must_use]
    pub fn scheduler_steps(&self) -> u64 {
        self.scheduler.steps()
    }

    #[must_use]
    pub fn waiting_fetches(&self) -> usize {
        self.scheduler.fetches().len()
    }

    #[must_use]
    pub fn cron(&self, name: &CronName) -> Option<CronView> {
        self.crons.get(name).map(|cron| cron.view(name))
    }

    /// The last executions of a schedule, newest first.
    #[must_use]
    pub fn cron_history(&self, name: &CronName) -> Vec<CronExecution> {
        let history = self.crons.get(name).map(|cron| cron.state.history.newest_first());
        history.into_iter().flatten().cloned().collect()
    }

    /// Up to `most` schedules after this name, without the first `skip`. `None` for `enabled` means
    /// both.
    #[must_use]
    pub fn crons_after(
        &self,
        tenant: Option<&TenantId>,
        enabled: Option<bool>,
        name: &str,
        skip: usize,
        most: usize,
    ) -> Vec<CronView> {
        let page = self.crons.after(name, skip.saturating_add(most), tenant, enabled);
        page.skip(skip).map(|(name, cron)| cron.view(name)).collect()
    }

    #[must_use]
    pub fn cron_count(&self, tenant: Option<&TenantId>, enabled: Option<bool>) -> usize {
        self.crons.count(tenant, enabled)
    }

    /// Up to `most` schedules with this name, without their namespaces.
    #[must_use]
    pub fn crons_named(&self, local: &str, most: usize) -> Vec<CronView> {
        self.crons.named(local).take(most).map(|(name, cron)| cron.view(name)).collect()
    }

    #[must_use]
    pub fn maintenance(&self) -> &Maintenance {
        &self.maintenance
    }

    /// Active jobs, oldest first.
    #[must_use]
    pub fn active(&self) -> Vec<ActiveView> {
        let mut views: Vec<_> = self
            .active
            .iter()
            .map(|(seq, a)| ActiveView {
                seq,
                class: a.class,
                attempt: a.attempt,
                started: a.started,
                worker: a.worker.clone(),
            })
            .collect();
        views.sort_unstable_by_key(|view| view.seq);
        views
    }

    /// The row of an active job. `enqueued` is its start time, because the engine does not keep the
    /// original.
    #[must_use]
    pub fn active_job(&self, seq: Seq) -> Option<Live> {
        let active = self.active.get(seq)?;
        Some(Live {
            seq,
            class: active.class,
            state: State::Active,
            attempt: active.attempt,
            enqueued: active.started,
            due: None,
            started: Some(active.started),
            expires: active.expires,
            worker: active.worker.clone(),
            pool: active.pool.clone(),
            reserved_ms: active.reserved_ms,
            marked: false,
            bytes: active.size.bytes() as u32,
            pauses: active.pauses,
        })
    }

    #[must_use]
    pub fn active_count(&self) -> usize {
        self.active.len()
    }

    /// Up to `limit` available jobs of these classes after `from` (before it, if `falling`), by
    /// sequence number. Jobs of other classes are not visited.
    #[must_use]
    pub fn available(
        &self,
        classes: &[ClassId],
        from: Option<Seq>,
        falling: bool,
        limit: usize,
    ) -> Vec<Seq> {
        let lanes = classes.iter().filter_map(|class| self.scheduler.lane(*class));
        let mut seqs: Vec<Seq> = lanes.flat_map(|lane| lane.walk(from, falling, limit)).collect();
        seqs.sort_unstable();
        if falling {
            seqs.reverse();
        }
        seqs.truncate(limit);
        seqs
    }

    /// Active jobs of these classes, or of all, by sequence number. `classes` must be sorted.
    #[must_use]
    pub fn active_seqs(&self, classes: Option<&[ClassId]>) -> Vec<Seq> {
        let meant = |class: ClassId| classes.is_none_or(|all| all.binary_search(&class).is_ok());
        let jobs = self.active.iter().filter(|(_, active)| meant(active.class));
        let mut seqs: Vec<Seq> = jobs.map(|(seq, _)| seq).collect();
        seqs.sort_unstable();
        seqs
    }

    /// The matching classes among `most` indexes beginning at `from`, and the index to continue
    /// from, if there are more.
    #[must_use]
    pub fn classes_slice(
        &self,
        from: usize,
        most: usize,
        matches: impl Fn(&Class) -> bool,
    ) -> (Vec<ClassId>, Option<usize>) {
        let (slice, next) = self.classes.slice(from, most);
        (slice.filter(|(_, slot)| matches(&slot.class)).map(|(id, _)| id).collect(), next)
    }

    /// What a class is; `None` if it is unknown.
    #[must_use]
    pub fn class(&self, class: ClassId) -> Option<&Class> {
        self.classes.contains(class).then(|| &*self.classes.slot(class).class)
    }

    /// The tenant of a class.
    #[must_use]
    pub fn owner_of(&self, class: ClassId) -> Option<&TenantId> {
        self.classes.contains(class).then(|| &self.classes.slot(class).class.tenant)
    }

    pub(crate) fn queue_view(&self, ix: QueueIx) -> QueueView {
        let queue = self.queues.get(ix);
        let mut totals = Totals::default();
        totals.add(queue);
        QueueView {
            name: queue.name.clone(),
            created: queue.row.created,
            paused: queue.row.paused,
            settings: queue.row.settings.clone(),
            totals,
            bytes: queue.jobs.bytes,
            pressure: queue.pressure(),
            minute: self.current_minute(Some(ix)),
            oldest: self.scheduler.first_of(ix),
        }
    }

    fn worker_view(&self, worker: &Worker, tenant: Option<&TenantId>) -> WorkerView {
        let id = &worker.row.about.worker;
        let mut about = worker.row.about.clone();
        let pools = self.scheduler.pools();
        let worker_tenant = about.tenant.clone();
        about.pool.take_if(|name| !pools.may_use(worker_tenant.as_ref(), name));
        WorkerView {
            about,
            state: worker.state(),
            directive: worker.directive(),
            since: worker.row.since,
            last_seen: worker.last_seen,
            beats: worker.row.beats,
            active: match tenant {
                None => self.active.count_held_by(id),
                Some(_) => self.held_by(id, tenant).count(),
            },
        }
    }
}
