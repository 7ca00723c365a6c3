//! Why a job has not started.

use rota_model::{ClassId, LimitKey, Millis, QueueName, Seq, State, TenantId};

use crate::command::later;
use crate::limit::GateIx;
use crate::{Engine, Strategy, Target};

/// What stands between a job and its start.
#[derive(Debug, Clone)]
pub struct Explained {
    pub state: State,
    pub queue: QueueName,
    pub tenant: TenantId,
    /// All that holds it, the strongest first.
    pub reasons: Vec<Reason>,
    /// When it can start at the earliest, where that is known.
    pub earliest: Option<Millis>,
    pub line: Option<Line>,
    /// Fetches that wait for jobs of its queue.
    pub fetches_waiting: usize,
    pub weight: f64,
    pub share: f64,
    pub tenant_active: u64,
    pub tenant_cap: Option<u32>,
}

/// Its place among the jobs that wait like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Jobs of the same kind before it.
    pub in_lane: usize,
    /// Jobs of its tenant before it at its level of priority.
    pub of_tenant: usize,
    /// Tenants that are served in turn with its own.
    pub tenants: usize,
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
    /// It waits for the previous run of its schedule.
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
        strategy: Strategy,
        limit: u64,
        current: u64,
        opens: Option<Millis>,
    },
    /// Every worker that asks for its queue is in a pool without room.
    PoolConcurrency {
        pool: String,
        active: u64,
        limit: u32,
    },
    /// Nobody has asked for its queue lately; `kept` where only workers of certain pools may.
    NoWorker {
        kept: bool,
    },
    InLine,
}

impl Engine {
    /// Looks at one job; `held` where it waits for a run of its schedule.
    #[must_use]
    pub fn explain(&self, target: &Target) -> Explained {
        let (state, class) = match self.active.get(target.seq) {
            Some(active) => (State::Active, active.class),
            None => (target.state(), target.now.class()),
        };
        let slot = self.classes.slot(class);
        let live = self.waiting_job(target);
        let due = live.as_ref().and_then(|live| live.due);
        let held = live.is_some_and(|live| live.held);
        let mut reasons = match state {
            State::Active => vec![Reason::Active],
            State::Scheduled => vec![Reason::Scheduled { due }],
            State::Retryable => vec![Reason::RetryDelay { due }],
            State::Pending => vec![Reason::Pending],
            State::Available if held => vec![Reason::Held],
            State::Available => Vec::new(),
            _ => vec![Reason::Finished],
        };
        let waits = matches!(state, State::Available | State::Scheduled | State::Retryable);
        if waits {
            self.find_obstacles(class, &mut reasons);
        }
        let line = (state == State::Available && !held).then(|| self.line_of(target.seq, class));
        if line.is_some() {
            reasons.push(Reason::InLine);
        }
        let (queue, tenant) = (self.queues.get(slot.queue), self.tenants.get(slot.tenant));
        let weights = self.tenants.competing();
        let weight = self.effective_weight(slot.tenant).value();
        Explained {
            state,
            queue: queue.name.clone(),
            tenant: tenant.id.clone(),
            earliest: self.earliest(&reasons, due),
            reasons,
            line,
            fetches_waiting: queue.waiters.len(),
            weight,
            share: if weights > 0.0 { (weight / weights).min(1.0) } else { 1.0 },
            tenant_active: tenant.jobs.count(State::Active),
            tenant_cap: self.cap_of(slot.tenant),
        }
    }

    fn find_obstacles(&self, class: ClassId, reasons: &mut Vec<Reason>) {
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
        for gate in slot.gates.iter().copied().chain(queue.gate) {
            reasons.extend(self.why_closed(gate));
        }
        reasons.extend(self.who_would_run(&queue.name));
    }

    fn why_closed(&self, gate: GateIx) -> Option<Reason> {
        let closed = self.limits.opening(gate, self.now).closed?;
        let limit = self.limits.limit(self.limits.gate(gate).limit);
        let (wall, mono) = (self.wall(), self.now.mono as i64);
        let opens = closed.opens.map(|at| later(wall, at.saturating_sub(mono).max(0) as u64));
        Some(Reason::Limit {
            key: limit.partition.key.clone(),
            strategy: closed.strategy,
            limit: closed.limit,
            current: closed.current,
            opens,
        })
    }

    /// What is wrong with the workers of a queue, if anything is.
    fn who_would_run(&self, name: &QueueName) -> Option<Reason> {
        let queue = self.queues.get(self.queues.find(name)?);
        let lately = |asked: Option<u64>| {
            asked.is_some_and(|at| self.now.mono.saturating_sub(at) < LATELY_MS)
        };
        let kept = self.pools.shuts_out(None, name);
        let mut pools = self.pools.iter().filter(|(pool, is)| {
            let serves = is.config().queues.iter().any(|own| **own == *name.local());
            serves && !self.pools.shuts_out(Some(pool), name)
        });
        let others = !kept && lately(queue.asked_outside_pools);
        if !others
            && let Some((pool, first)) = pools.next()
            && first.room() == 0
            && pools.all(|(_, other)| other.room() == 0)
        {
            let limit = first.config().concurrency.unwrap_or(0);
            let (pool, active) = (pool.to_string(), first.active);
            return Some(Reason::PoolConcurrency { pool, active, limit });
        }
        let nobody = !lately(queue.asked_at) && queue.waiters.is_empty();
        nobody.then_some(Reason::NoWorker { kept })
    }

    fn line_of(&self, seq: Seq, class: ClassId) -> Line {
        let slot = self.classes.slot(class);
        let level = self.level_of(class);
        let turns = self.shards.get(slot.shard).turns.iter();
        let turn = turns.filter(|(at, _)| *at == level).map(|(_, turn)| *turn);
        let lanes = turn.flat_map(|turn| self.lanes_of_turn(turn));
        let of_tenant = lanes.filter_map(|class| Some(self.lanes.get(class)?.rank(seq))).sum();
        let ring = self.queues.get(slot.queue).levels.get(&level);
        Line {
            in_lane: self.lanes.get(class).map_or(0, |lane| lane.rank(seq)),
            of_tenant,
            tenants: ring.map_or(0, |level| level.ring.len()),
        }
    }

    /// Known when all that holds the job ends at a known time.
    fn earliest(&self, reasons: &[Reason], due: Option<Millis>) -> Option<Millis> {
        let mut at = due.unwrap_or(self.wall()).max(self.wall());
        for reason in reasons {
            match reason {
                Reason::Limit { opens: Some(opens), .. } => at = at.max(*opens),
                // A worker may ask at any moment.
                Reason::Scheduled { .. }
                | Reason::RetryDelay { .. }
                | Reason::NoWorker { .. }
                | Reason::InLine => {}
                _ => return None,
            }
        }
        Some(at)
    }
}

const LATELY_MS: u64 = 60_000;
