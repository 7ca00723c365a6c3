//! Explaining why a job has not started.

use std::cmp::Ordering;

use rota_model::{ClassId, LimitKey, Millis, PoolName, QueueName, Seq, State, TenantId};

use crate::command::later;
use crate::queue::QueueIx;
use crate::scheduler::limits::{Closed, GateIx};
use crate::shard::ShardIx;
use crate::{Engine, LimitKind, Target};

/// Why a job has not started, and when it can.
#[derive(Debug, Clone)]
pub struct Explained {
    pub state: State,
    pub queue: QueueName,
    pub tenant: TenantId,
    /// Everything that blocks the job, strongest first.
    pub reasons: Vec<Reason>,
    /// The earliest start, if known.
    pub earliest: Option<Millis>,
    pub line: Option<Line>,
    /// Fetches that wait for its queue.
    pub fetches_waiting: usize,
    pub weight: f64,
    pub share: f64,
    pub tenant_active: u64,
    pub tenant_cap: Option<u32>,
}

/// A job's position among waiting jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Jobs before it in its lane.
    pub in_lane: usize,
    /// Jobs of its tenant in this queue that are served before it.
    pub of_tenant: usize,
    /// Other tenants that have jobs at a higher level.
    pub above: usize,
    /// Tenants that may be served at its level.
    pub tenants: usize,
}

impl Explained {
    /// Leaves out what the job's tenant may not know of the operator's pools.
    pub fn redact_for_tenant(&mut self) {
        for reason in &mut self.reasons {
            if let Reason::PoolConcurrency { pool, is_open, .. } = reason
                && pool.owner_name().is_none()
            {
                *reason = Reason::PoolsFull { pool: is_open.then(|| pool.clone()) };
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    Finished,
    Active,
    Scheduled {
        due: Option<Millis>,
    },
    RetryDelay {
        due: Option<Millis>,
    },
    Pending,
    /// It waits for the previous run of its schedule to end.
    Held,
    Maintenance,
    QueuePaused {
        since: Millis,
    },
    TenantPaused {
        since: Millis,
    },
    QueueConcurrency {
        active: u64,
        limit: u32,
    },
    TenantConcurrency {
        active: u64,
        limit: u32,
    },
    Limit {
        key: LimitKey,
        strategy: LimitKind,
        limit: u64,
        current: u64,
        opens: Option<Millis>,
        /// When the limit lets this job start at the earliest, given the jobs before it in its
        /// lane.
        lets_in: Option<Millis>,
        /// Jobs of the key with other numbers also wait, and may start now, or when a job ends and
        /// before this one may.
        overtaken: bool,
    },
    /// All pools that serve its queue are full, and no other workers ask for it.
    PoolConcurrency {
        /// The first of them.
        pool: PoolName,
        /// Whether the job's tenant may use that pool, and so know of it.
        is_open: bool,
        active: u64,
        limit: u32,
    },
    /// The same, for the job's tenant, if it may not know the figures or the pool.
    PoolsFull {
        pool: Option<PoolName>,
    },
    /// No worker that may take it has asked for its queue lately.
    NoWorker {
        /// Only workers of certain pools may take it.
        kept: bool,
        /// Workers that serve other tenants only have asked.
        other_tenants: bool,
        /// How far back that is known, in ms; a minute at most.
        known_ms: u64,
    },
    /// This many other tenants have jobs at a higher level in its queue.
    LessUrgent {
        tenants: usize,
    },
    InLine,
}

impl Engine {
    /// Explains one job.
    #[must_use]
    pub fn explain(&self, target: &Target) -> Explained {
        let (state, class) = match self.active.get(target.seq) {
            Some(active) => (State::Active, active.class),
            None => (target.state(), target.now.class()),
        };
        let slot = self.classes.slot(class);
        let live = self.waiting_job(target);
        let due = live.as_ref().and_then(|live| live.due);
        let held = live.is_some_and(|live| live.is_held());
        let mut reasons = match state {
            State::Active => vec![Reason::Active],
            State::Scheduled => vec![Reason::Scheduled { due }],
            State::Retryable => vec![Reason::RetryDelay { due }],
            State::Pending => vec![Reason::Pending],
            State::Available if held => vec![Reason::Held],
            State::Available => Vec::new(),
            _ => vec![Reason::Finished],
        };
        let line = (state == State::Available && !held).then(|| self.line_of(target.seq, class));
        let waits = matches!(state, State::Available | State::Scheduled | State::Retryable);
        if waits {
            self.find_reasons(class, line.map_or(0, |line| line.in_lane), &mut reasons);
        }
        if let Some(line) = line {
            let less = Reason::LessUrgent { tenants: line.above };
            reasons.extend((line.above > 0).then_some(less));
            reasons.push(Reason::InLine);
        }
        let (queue, tenant) = (self.queues.get(slot.queue), self.tenants.get(slot.tenant));
        let share = self.share_of_queue(slot.queue, slot.tenant);
        let weight = self.effective_weight(slot.tenant).value();
        Explained {
            state,
            queue: queue.name.clone(),
            tenant: tenant.id.clone(),
            earliest: self.earliest(&reasons, line, due),
            reasons,
            line,
            fetches_waiting: self.scheduler.fetches().count_for(slot.queue),
            weight,
            share,
            tenant_active: tenant.jobs.count(State::Active),
            tenant_cap: self.cap_of(slot.tenant),
        }
    }

    fn find_reasons(&self, class: ClassId, before: usize, reasons: &mut Vec<Reason>) {
        let slot = self.classes.slot(class);
        let (queue, tenant) = (self.queues.get(slot.queue), self.tenants.get(slot.tenant));
        if self.maintenance.enabled() {
            reasons.push(Reason::Maintenance);
        }
        if let Some(since) = queue.row.paused {
            reasons.push(Reason::QueuePaused { since });
        }
        if let Some(since) = self.shards.get(slot.shard).paused {
            reasons.push(Reason::TenantPaused { since });
        }
        let active = queue.count(State::Active);
        if let Some(limit) =
            queue.row.settings.concurrency.filter(|most| active >= u64::from(*most))
        {
            reasons.push(Reason::QueueConcurrency { active, limit });
        }
        let active = tenant.jobs.count(State::Active);
        if let Some(limit) = self.cap_of(slot.tenant).filter(|most| active >= u64::from(*most)) {
            reasons.push(Reason::TenantConcurrency { active, limit });
        }
        for (gate, closed) in self.scheduler.closed_gates(class) {
            reasons.push(self.limit_reason(gate, &closed, before));
            reasons.extend(self.pause_reason_of(gate).filter(|_| closed.kind != LimitKind::Pause));
        }
        reasons.extend(self.worker_reason(slot.queue, slot.shard, &tenant.id));
    }

    /// Why a closed gate blocks a job with `before` jobs ahead of it in its lane.
    fn limit_reason(&self, gate: GateIx, closed: &Closed, before: usize) -> Reason {
        let limits = self.scheduler.limits();
        let limit = limits.limit(limits.gate(gate).limit);
        let (wall, mono) = (self.wall(), self.scheduler.now().mono as i64);
        let opens = closed.opens.map(|at| later(wall, at.saturating_sub(mono).max(0) as u64));
        let (before, every) = (before as u64, closed.every_ms.unwrap_or(0));
        let starts_before = match closed.kind {
            // The jobs of one window may start together.
            LimitKind::Rate => before - before % closed.limit.max(1),
            _ => before,
        };
        let lets_in = opens.map(|at| later(at, starts_before.saturating_mul(every)));
        // An override ends at its expiry.
        let ends = limit.settings.replaced.map(|replaced| replaced.expires).filter(|at| *at > wall);
        let sooner = |at: Option<Millis>| at.into_iter().chain(ends).min();
        // A slot may become free at any moment, so no time is known.
        let slot = closed.kind == LimitKind::Concurrency && closed.limit > 0;
        let (opens, lets_in) =
            if slot { (opens, lets_in) } else { (sooner(opens), sooner(lets_in)) };
        Reason::Limit {
            key: limit.partition.key.clone(),
            strategy: closed.kind,
            limit: closed.limit,
            current: closed.current,
            opens,
            lets_in,
            overtaken: limit.gates.iter().any(|other| {
                let waits = *other != gate && limits.gate(*other).available > 0;
                let numbers = limit.numbers(limits.gate(*other).numbers, wall);
                let more = numbers.concurrency.is_none_or(|most| u64::from(most) > closed.limit);
                waits && (slot && more || limits.opening(*other, self.scheduler.now()).free > 0)
            }),
        }
    }

    /// The pause of a limit that is closed for another reason as well.
    fn pause_reason_of(&self, gate: GateIx) -> Option<Reason> {
        let limits = self.scheduler.limits();
        let limit = limits.limit(limits.gate(gate).limit);
        let pause = limit.settings.pause.as_ref().filter(|pause| pause.until > self.wall())?;
        let (opens, lets_in) = (Some(pause.until), Some(pause.until));
        let key = limit.partition.key.clone();
        let strategy = LimitKind::Pause;
        Some(Reason::Limit {
            key,
            strategy,
            limit: 0,
            current: 0,
            opens,
            lets_in,
            overtaken: false,
        })
    }

    /// Why no worker would run jobs of this queue, if so.
    fn worker_reason(&self, ix: QueueIx, shard: ShardIx, tenant: &TenantId) -> Option<Reason> {
        let (queue, asked_for) = (self.queues.get(ix), self.shards.get(shard).asked_at);
        let name = &queue.name;
        let lately = |asked: Option<u64>| {
            asked.is_some_and(|at| self.now.mono.saturating_sub(at) < RECENT_MS)
        };
        let table = self.scheduler.pools();
        let kept = table.shuts_out(None, name);
        let serving = || table.serving(name, tenant);
        let asked = serving().filter_map(|(pool, _)| self.pool_watch.asked_at(pool));
        let asked = asked.max().max(queue.asked_at);
        let mut pools = serving().filter(|(pool, _)| !table.shuts_out(Some(pool), name));
        let others = !kept && lately(queue.asked_outside_pools);
        if !others
            && let Some((pool, first)) = pools.next()
            && first.room() == 0
            && pools.all(|(_, other)| other.room() == 0)
        {
            let limit = first.config().concurrency.unwrap_or(0);
            let (pool, active) = (pool.clone(), first.slots.active);
            let is_open = table.may_use(Some(tenant), &pool);
            return Some(Reason::PoolConcurrency { pool, is_open, active, limit });
        }
        let fetches = self.scheduler.fetches();
        let waits = fetches.count_for(ix) > fetches.count_for_tenants(ix);
        let nobody = !waits && !lately(asked) && !lately(asked_for);
        let other_tenants = lately(queue.asked_by_tenants);
        let known_ms = self.now.mono.saturating_sub(queue.known_since).min(RECENT_MS);
        nobody.then_some(Reason::NoWorker { kept, other_tenants, known_ms })
    }

    fn line_of(&self, seq: Seq, class: ClassId) -> Line {
        let slot = self.classes.slot(class);
        let level = self.scheduler.level_of(class);
        let urgency = |class| (self.scheduler.level_of(class), self.scheduler.priority_of(class));
        let job_urgency = urgency(class);
        let lanes = self.scheduler.lanes_of_shard(slot.shard);
        let lanes = lanes.filter_map(|class| Some((urgency(class), self.scheduler.lane(class)?)));
        let before = lanes.map(|(urgency, lane)| match urgency.cmp(&job_urgency) {
            Ordering::Less => 0,
            Ordering::Equal => lane.rank(seq),
            Ordering::Greater => lane.len(),
        });
        let (tenants, above) = self.scheduler.competitors(slot.queue, level, slot.shard);
        Line {
            in_lane: self.scheduler.lane(class).map_or(0, |lane| lane.rank(seq)),
            of_tenant: before.sum(),
            above,
            tenants,
        }
    }

    /// The earliest start; `None` unless everything that blocks the job ends at a known time.
    fn earliest(
        &self,
        reasons: &[Reason],
        line: Option<Line>,
        due: Option<Millis>,
    ) -> Option<Millis> {
        let mut earliest = due.unwrap_or(self.wall()).max(self.wall());
        let limited = reasons.iter().any(|reason| matches!(reason, Reason::Limit { .. }));
        if !limited && line.is_some_and(|line| line.of_tenant > 0) {
            return None;
        }
        for reason in reasons {
            match reason {
                Reason::Limit { lets_in: Some(lets_in), .. } => earliest = earliest.max(*lets_in),
                // A worker may ask at any moment.
                Reason::Scheduled { .. }
                | Reason::RetryDelay { .. }
                | Reason::NoWorker { .. }
                | Reason::InLine => {}
                _ => return None,
            }
        }
        Some(earliest)
    }
}

const RECENT_MS: u64 = 60_000;
