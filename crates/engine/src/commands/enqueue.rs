//! Accepting jobs.

use rota_model::envelope::NewJob;
use rota_model::mutation::{Mutation, NewRow};
use rota_model::{Class, ClassId, LimitKey, Live, OnLimit, Seq, State};

use super::admit::Obstacle;
use crate::blocked::only_tenant;
use crate::classes::Home;
use crate::effect::Pressure;
use crate::population::push_exact;
use crate::queue::QueueIx;
use crate::scheduler::{ClassRules, NewShard, Size, Waiting};
use crate::tenant::Tally;
use crate::timers::Timer;
use crate::{Accepted, Admission, Engine, Enqueue, EventKind, Refusal, Reply};

/// Where a job comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    /// A schedule. A held run is ready, but stays out of its lane until the one before it is over.
    Run {
        held: bool,
    },
}

impl Engine {
    /// All jobs or none: everything that could refuse one is asked before the first is accepted.
    pub(crate) fn enqueue(&mut self, enqueue: Enqueue) -> Reply {
        let jobs = enqueue.jobs;
        let over = match (self.make_way(&jobs), enqueue.wait) {
            (Ok(over), _) => over,
            (Err(Obstacle::Wait(refusal)), Some((id, ms))) if ms > 0 && !self.closing => {
                let tenant = only_tenant(&jobs);
                if let Err(reached) = self.blocked.check_cap(self.asker(tenant)) {
                    self.reject(refusal, &jobs);
                    return Reply::Refused(reached.into());
                }
                self.block(id, jobs, ms);
                return Reply::Waiting;
            }
            (Err(Obstacle::Wait(refusal)), _) => {
                return Reply::Refused(self.reject(refusal, &jobs));
            }
            (Err(Obstacle::No(refusal)), _) => return Reply::Refused(refusal),
        };
        self.accept_all(jobs, over)
    }

    /// Takes in jobs that nothing keeps out; `over` are limits that they cross and that only warn.
    pub(super) fn accept_all(&mut self, jobs: Vec<NewJob>, over: Vec<&'static str>) -> Reply {
        let mut classes = Vec::with_capacity(jobs.len());
        for job in &jobs {
            match self.class_id(&job.class) {
                Ok(class) => classes.push(class),
                Err(refusal) => return Reply::Refused(refusal),
            }
        }
        let mut queues: Vec<_> = classes.iter().map(|id| self.classes.slot(*id).queue).collect();
        queues.dedup();
        let limited =
            jobs.iter().zip(&classes).rev().find(|(job, _)| job.class.policy.limit.is_some());
        let limited = limited.map(|(_, class)| *class);
        let accept = |(job, class)| self.accept(job, class, Origin::Client);
        let jobs = jobs.into_iter().zip(classes).map(accept).collect();
        let limit = limited.and_then(|class| self.glance_at_limit(class));
        let pressure = self.pressure_of(&queues).map(|pressure| self.in_jobs(pressure, &queues));
        Reply::Enqueued(Admission { jobs, over_quota: over, pressure, limit })
    }

    /// What is told with a job is in jobs, also where the queue is bounded in bytes alone.
    fn in_jobs(&self, pressure: Pressure, queues: &[QueueIx]) -> Pressure {
        let mut queues = queues.iter().map(|ix| self.queues.get(*ix));
        let fullest = queues.find(|queue| queue.pressure() == Some(pressure.ratio));
        let bounds = fullest.and_then(|queue| queue.row.settings.bounds);
        match (fullest, bounds) {
            (Some(queue), Some(bounds)) if bounds.max_depth == 0 => {
                Pressure { depth: queue.jobs.depth(), bound: 0, ..pressure }
            }
            _ => pressure,
        }
    }

    /// Interns the class, making its queue and meeting its tenant where they are new.
    pub(crate) fn class_id(&mut self, class: &Class) -> Result<ClassId, Refusal> {
        let known = self.classes.find(class);
        if let Some(id) = known.filter(|id| self.queues.get(self.classes.slot(*id).queue).exists) {
            return Ok(id);
        }
        self.queue_ix(&class.queue, Some(&class.tenant))?;
        if let Some(id) = known {
            return Ok(id);
        }
        let home = self.home_of(class);
        let shared = self.share_names(class, &home);
        let (id, class) = self.classes.add(shared, home);
        self.class_added(id);
        self.out.mutations.push(Mutation::Class(id, class));
        Ok(id)
    }

    /// The same class, with names and policy that others have too: a hundred thousand tenants have
    /// as many classes, which are nearly alike.
    pub(crate) fn share_names(&mut self, class: &Class, home: &Home) -> Class {
        let (kind, policy) = self.classes.shared(class);
        Class {
            queue: self.queues.get(home.queue).name.clone(),
            kind,
            tenant: self.tenants.get(home.tenant).id.clone(),
            priority: class.priority,
            policy,
        }
    }

    /// Where the jobs of a class belong. Its queue is there.
    pub(crate) fn home_of(&mut self, class: &Class) -> Home {
        let queue = self.queues.find(&class.queue).expect("the queue of a class is made first");
        let tenant = self.meet_tenant(&class.tenant);
        if let Some(shard) = self.scheduler.shard(queue, tenant) {
            return Home { queue, tenant, shard };
        }
        self.label_queue(queue);
        let meter = self.meters.of(&class.tenant, &class.queue);
        let shard = self.shards.add(queue, tenant, meter, self.now.mono);
        self.queues.get_mut(queue).shards += 1;
        let paused = &self.tenants.get(tenant).row.paused;
        let since = paused.iter().find(|(name, _)| *name == class.queue).map(|(_, at)| *at);
        self.shards.get_mut(shard).paused = since;
        let place = self.place_of_shard(tenant, &class.queue);
        let new = NewShard { queue, tenant, paused: since.is_some() };
        self.scheduler.add_shard(shard, new, place);
        Home { queue, tenant, shard }
    }

    /// A class is known to its tenant and to the scheduler.
    pub(crate) fn class_added(&mut self, id: ClassId) {
        let slot = self.classes.slot(id);
        let (queue, tenant, shard, class) =
            (slot.queue, slot.tenant, slot.shard, slot.class.clone());
        // One with a limit of its own uses it while it has jobs.
        let gates = Box::default();
        let on_limit = class.policy.limit.as_ref().map(|limit| limit.on_limit);
        let waits = on_limit.is_none_or(|on_limit| on_limit == OnLimit::Wait);
        let priority = class.priority;
        let kind = self.scheduler.use_type(&class.kind);
        let named = class.policy.limit.as_ref().map(|limit| &limit.key);
        let names_home = named.is_some_and(|key| {
            *key == LimitKey::of_queue(&class.queue) || *key == LimitKey::of_type(&class.kind)
        });
        let rules = ClassRules { queue, tenant, shard, priority, kind, gates, names_home, waits };
        self.scheduler.add_class(id, rules);
        let part = self.shards.get_mut(shard);
        part.classes += 1;
        part.used_at = self.now.mono;
        push_exact(&mut self.tenants.get_mut(tenant).classes, id);
    }

    /// One more job of this class lives.
    pub(crate) fn class_gained_job(&mut self, class: ClassId) {
        let slot = self.classes.slot_mut(class);
        slot.live += 1;
        if slot.live == 1 {
            let limited = slot.class.policy.limit.is_some();
            let tenant = self.tenants.get_mut(slot.tenant);
            tenant.living_classes += 1;
            self.classes.living += 1;
            tenant.keys += u32::from(limited);
            if limited {
                self.use_limit_again(class);
            }
        }
    }

    /// One fewer does, and was counted so.
    pub(crate) fn class_lost_job(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        if slot.live == 0 {
            let limited = slot.class.policy.limit.is_some();
            let tenant = self.tenants.get_mut(slot.tenant);
            tenant.living_classes -= 1;
            self.classes.living -= 1;
            tenant.keys -= u32::from(limited);
            if limited {
                self.limited_class_is_idle(class);
            }
        }
    }

    /// Takes in one job.
    pub(crate) fn accept(&mut self, job: NewJob, class: ClassId, origin: Origin) -> Accepted {
        let held = origin == Origin::Run { held: true };
        let seq = self.next_seq;
        self.next_seq = Seq(seq.0 + 1);
        let created = self.wall();
        let due = job.start_at.filter(|at| *at > created);
        let state = match (job.pending, due) {
            (true, _) => State::Pending,
            (false, Some(_)) => State::Scheduled,
            (false, None) => State::Available,
        };
        let size = Size::of(job.body.len() as u64);
        let live = Live {
            state,
            due: if state == State::Scheduled { due } else { None },
            expires: job.expires,
            held,
            ..Live::ready(seq, class, created, job.body.len() as u32)
        };
        if live.expires.is_some() || origin != Origin::Client {
            self.watch.add(live.clone());
        }
        let id = if job.id_given { job.id } else { job.id.seal(self.id_key, seq) };
        let given = job.id_given;
        if given {
            self.refuse_blocked_with(id);
        }
        let row = NewRow { seq, id, given, class, created, body: job.body.clone() };
        self.out.mutations.push(Mutation::Insert(row, live.into()));
        self.class_gained_job(class);
        self.seq_clock.note(seq, created);
        let slot = self.classes.slot(class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        self.record(ix, |minute| minute.enqueued += 1);
        self.meter(class).enqueued += 1;
        self.tally(tenant, Tally { enqueued: 1, ..Tally::default() });
        self.did(tenant).bytes += job.body.len() as u64;
        self.count_enqueued(tenant, 1, self.now.mono as i64);

        match (state, due) {
            (State::Scheduled, Some(due)) => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Scheduled { job: event, due });
                self.wait_until(due, seq, Timer { class, attempt: 0, pauses: 0, size, state });
            }
            (State::Available, _) if !held => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Enqueued { job: event });
                self.enter_lane(seq, class, Waiting::fresh(size));
            }
            _ => self.count_in(class, state, size),
        }
        Accepted { seq, id, id_given: given, state, created, body: job.body }
    }
}
