//! Checks every step of the engine against the specification, without sharing code with the engine.
//!
//! The oracle sees requests, replies and the mutations written to the store. From these it maintains two
//! copies of the expected state: one as of the last commit, to which a crash returns, and one that includes
//! everything since.

mod accounts;
mod apply;
mod audit;
mod caps;
mod clients;
mod control;
mod cost;
mod dead_letter;
mod debts;
mod dispatch;
mod eligible;
mod exceeded_quotas;
mod execution_end;
mod lifecycle;
mod limits;
mod pools;
mod queue_turns;
mod quotas;
mod replies;
mod schedules;
mod shown_counts;
mod shown_figures;
mod step_context;
mod stored_bytes;
mod stored_time;
mod tenants;
mod throttles;
mod turns;
mod violation;
mod world;

use rota_engine::{Config, Engine, Now};
use rota_model::row::JobRow;
use rota_model::{Ending, Seq};
use rota_store::Counts;

use crate::MemoryStore;
use crate::runtime::{Runtime, Sealed, Step};
use clients::Clients;
pub(crate) use cost::check_cost;
pub(crate) use violation::ensure;
pub use violation::{Check, Rule, Violation};
use world::World;

pub struct Oracle {
    tip: World,
    committed: World,
    clients: Clients,
    /// How many events were committed.
    events: u64,
}

impl Oracle {
    #[must_use]
    pub fn new(config: Config) -> Self {
        let world = World::new(config);
        Self { tip: world.clone(), committed: world, clients: Clients::default(), events: 0 }
    }

    /// The engine has decided; nothing of it is durable.
    pub fn decided(&mut self, step: &Step) -> Check {
        let effects = step.mutations.len() + step.events.len() + step.woken.len();
        check_cost(&step.command, effects, step.cost)?;
        self.tip.apply(step)
    }

    /// After one or more decisions: what the engine shows, and what it must have done by now.
    pub fn look(&self, engine: &Engine) -> Check {
        self.tip.check_shown(engine)?;
        if engine.wake_in_ms() == Some(0) {
            return Ok(());
        }
        self.tip.check_nothing_owed()
    }

    /// What the engine shows, whatever may be due.
    pub fn shown(&self, engine: &Engine) -> Check {
        self.tip.check_shown(engine)
    }

    /// A batch is durable.
    pub fn committed(&mut self, batch: &Sealed) -> Check {
        for step in &batch.steps {
            self.committed.apply(step)?;
            self.events += step.events.len() as u64;
        }
        ensure(batch.event_count == self.events, Rule::Counts, || {
            format!("{} events are counted, {} happened", batch.event_count, self.events)
        })?;
        self.clients.check_kept(&self.committed)
    }

    /// The view has applied something. At any distance from the log, what the server looks up is as it was decided.
    pub fn applied(&self, runtime: &Runtime) -> Check {
        let view = runtime.view();
        if view.applied() == runtime.committed() {
            self.check_store(view.store())?;
        }
        for (seq, job) in &self.tip.jobs {
            let found = runtime.find(job.id);
            let right = found.as_ref().is_some_and(|found| found.seq == *seq);
            ensure(right, Rule::InFlight, || format!("job {seq} is looked up as {found:?}"))?;
            let now = found.map(|found| found.now);
            ensure(now.as_ref() == Some(&job.place), Rule::InFlight, || {
                format!("{now:?} is looked up, not {:?}", job.place)
            })?;
        }
        let gone = |seq: &Seq| !self.tip.jobs.contains_key(seq);
        let shown =
            view.store().seqs().filter(gone).find(|seq| runtime.current_row(*seq).is_some());
        ensure(shown.is_none(), Rule::InFlight, || format!("{shown:?} is deleted and looked up"))
    }

    /// The answers of a step went out, except those of fetches that had been waiting.
    pub fn told(&mut self, step: &Step) -> Check {
        self.clients.told(step)?;
        self.clients.check_kept(&self.committed)
    }

    /// A fetch that had been waiting was answered.
    pub fn woken(
        &mut self,
        step: &Step,
        waiter: rota_engine::WaiterId,
        reply: &rota_engine::Reply,
    ) -> Check {
        self.clients.woken(step, waiter, reply)
    }

    /// Everything that was not committed is gone.
    pub fn restarted(&mut self, at: u64, now: Now, store: &MemoryStore) -> Check {
        self.check_store(store)?;
        self.committed.restart(at, now);
        self.tip = self.committed.clone();
        Ok(())
    }

    /// Fetches that wait.
    pub fn waiting(&self) -> impl Iterator<Item = rota_engine::WaiterId> {
        self.tip.waiters.keys().chain(self.tip.blocked.keys()).copied()
    }

    /// Whether any job could still move by itself or be handed out.
    #[must_use]
    pub fn unfinished(&self) -> Vec<String> {
        use rota_model::State::{Cancelled, Completed, Discarded, Pending};
        let ended = |state| matches!(state, Completed | Cancelled | Discarded | Pending);
        let jobs = self.tip.jobs.iter();
        jobs.filter(|(_, job)| !ended(job.state()))
            .map(|(seq, job)| format!("{seq} is {:?}", job.place))
            .collect()
    }

    /// The store holds exactly what was committed, and counts it right.
    fn check_store(&self, store: &MemoryStore) -> Check {
        let world = &self.committed;
        let same = world.jobs.keys().copied().eq(store.seqs());
        ensure(same, Rule::Lost, || {
            let missing = world.jobs.keys().find(|seq| store.row(**seq).is_none());
            format!("the store holds other jobs than were committed; {missing:?} is missing")
        })?;
        for (seq, job) in &world.jobs {
            let place = store.place(*seq);
            ensure(place.as_ref() == Some(&job.place), Rule::Lost, || {
                format!("the store holds {place:?}, not {:?}", job.place)
            })?;
            let id = store.row(*seq).map(|row| row.id);
            ensure(id == Some(job.id), Rule::Lost, || format!("job {seq} is {id:?}"))?;
        }
        for class in store.classes() {
            let mut counted = Counts::default();
            for job in world.jobs.values().filter(|job| job.place.class() == class) {
                if let JobRow::Done(done) = &job.place {
                    *counted.get_mut(done.ending) += 1;
                }
            }
            let kept = store.counts_of(class);
            let right = Ending::ALL.into_iter().all(|e| kept.get(e) == counted.get(e));
            ensure(right, Rule::Counts, || {
                format!("class {}: {kept:?} kept, {counted:?} counted", class.0)
            })?;
        }
        let events = store.loaded().event_count;
        ensure(events == self.events, Rule::Counts, || {
            format!("{events} events are stored, {} happened", self.events)
        })?;
        world.check_audit(store)?;
        world.check_bytes_in(store)?;
        self.clients.check_kept(world)
    }
}
