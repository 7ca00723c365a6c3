//! Compares the engine's counts and lists with a full scan of the expected world.

use std::collections::BTreeMap;

use rota_engine::Engine;
use rota_model::row::JobRow;
use rota_model::{Ending, QueueName, Seq, State};

use super::violation::{Check, Rule, ensure};
use super::world::{Job, World};

impl World {
    /// Compares all that the engine shows with a full scan.
    pub fn check_shown(&self, engine: &Engine) -> Check {
        self.check_counts(engine)?;
        self.check_dead_letters(engine)?;
        self.check_active(engine)?;
        self.check_listed(engine)?;
        self.check_figures(engine)?;
        self.check_weights_shown(engine)?;
        self.check_stored_bytes(engine)?;
        let (shown, waiting) = (engine.waiting_fetches(), self.waiters.len());
        ensure(shown == waiting, Rule::Waiting, || {
            format!("{shown} fetches are said to wait; {waiting} do")
        })?;
        let frozen = engine.maintenance().enabled();
        ensure(frozen == self.maintenance, Rule::Gate, || {
            format!("maintenance is said to be {frozen}")
        })
    }

    /// What must not be left undone once the engine says that nothing is due.
    pub fn check_nothing_owed(&self) -> Check {
        for (id, waiter) in &self.waiters {
            let missed = self.could_have(&waiter.fetch, |_| true);
            ensure(missed.is_none(), Rule::Waiting, || {
                format!("fetch {} waits though it could have job {missed:?}", id.0)
            })?;
            let gone = waiter.fetch.pool.as_ref().filter(|name| !self.pools.contains_key(*name));
            ensure(gone.is_none(), Rule::Waiting, || {
                format!("fetch {} waits for {gone:?}, which is no pool", id.0)
            })?;
            ensure(waiter.deadline > self.at, Rule::Waiting, || {
                format!("fetch {} waits beyond its time", id.0)
            })?;
        }
        for (id, blocked) in &self.blocked {
            ensure(blocked.deadline > self.at, Rule::Waiting, || {
                format!("enqueue {} waits beyond its time", id.0)
            })?;
        }
        for (seq, job) in &self.jobs {
            let owed = job.live().is_some_and(|_| self.is_owed(job));
            ensure(!owed, Rule::Time, || {
                format!("job {seq} is overdue: {:?} {:?}", job.place, job.lease)
            })?;
        }
        self.check_throttles_end()?;
        self.check_schedules()
    }

    fn is_owed(&self, job: &Job) -> bool {
        let Some(live) = job.live() else {
            return false;
        };
        let due = live.due.is_some_and(|due| due <= self.wall);
        match live.state {
            State::Active => {
                job.lease.is_some_and(|lease| lease.until.max(1).min(lease.times_out) <= self.at)
            }
            _ if live.expires.is_some_and(|at| at <= self.wall) => true,
            State::Scheduled | State::Retryable => due && !self.maintenance,
            _ => false,
        }
    }

    fn check_counts(&self, engine: &Engine) -> Check {
        let mut all = Tally::default();
        let mut by_queue: BTreeMap<&QueueName, Tally> = BTreeMap::new();
        for job in self.jobs.values() {
            all.add(job);
            by_queue.entry(&job.class.queue).or_default().add(job);
            let has_queue = job.live().is_none() || self.queues.contains_key(&job.class.queue);
            ensure(has_queue, Rule::Counts, || {
                format!("{} has jobs, but is gone", job.class.queue)
            })?;
        }
        let views = engine.queues_after("", 0, usize::MAX);
        for view in &views {
            let counted = by_queue.remove(&view.name).unwrap_or_default();
            counted.compare(&view.name, |state| view.totals.of(state))?;
            let (shown, dead) = (view.totals.dead_letter(), counted.dead_letter);
            ensure(shown == dead, Rule::Counts, || {
                format!("{}: dead letter {shown}, counted {dead}", view.name)
            })?;
        }
        // Finished jobs outlive a queue that was deleted.
        for (name, counted) in by_queue.iter().filter(|(name, _)| !self.queues.contains_key(**name))
        {
            let totals = engine.totals_of_queue(name, None);
            counted.compare(name, |state| totals.of(state))?;
        }
        by_queue.retain(|name, _| self.queues.contains_key(*name));
        ensure(by_queue.is_empty(), Rule::Counts, || {
            format!("queues {:?} are not shown", by_queue.keys())
        })?;
        let totals = engine.totals();
        all.compare("all", |state| totals.of(state))
    }

    /// Waiting jobs can be walked through from anywhere, in both directions.
    fn check_listed(&self, engine: &Engine) -> Check {
        let ready = self.jobs.iter().filter(|(_, job)| job.is_ready());
        let ready: Vec<Seq> = ready.map(|(&seq, _)| seq).collect();
        let classes = engine.classes_slice(0, usize::MAX, |_| true).0;
        let middle = ready.get(ready.len() / 2).copied();
        let rising = engine.available(&classes, middle, false, usize::MAX);
        let falling = engine.available(&classes, middle, true, usize::MAX);
        let behind = ready.iter().filter(|seq| middle.is_none_or(|m| **seq > m));
        let before = ready.iter().rev().filter(|seq| middle.is_none_or(|m| **seq < m));
        let right = rising.iter().eq(behind) && falling.iter().eq(before);
        ensure(right, Rule::Counts, || {
            format!("{falling:?} and {rising:?} are said to wait, not {ready:?}")
        })
    }

    fn check_active(&self, engine: &Engine) -> Check {
        let shown = engine.active();
        let active = self.jobs.iter().filter_map(|(seq, job)| {
            let live = job.live().filter(|live| live.state == State::Active)?;
            Some((*seq, live.attempt, live.worker.clone()))
        });
        let told = shown.iter().map(|view| (view.seq, view.attempt, view.worker.clone()));
        ensure(told.eq(active), Rule::Counts, || format!("active jobs are said to be {shown:?}"))?;
        for view in engine.workers_after(None, "", 0, usize::MAX) {
            let name = &view.about.worker;
            let held = self.held_by.get(name).into_iter().flatten();
            let shown: Vec<Seq> = engine.held_by(name, None).collect();
            ensure(shown.iter().eq(held), Rule::Counts, || {
                let held = self.held_by.get(name);
                format!("{name} is said to hold {shown:?}, not {held:?}")
            })?;
            ensure(view.active == shown.len(), Rule::Counts, || {
                format!("{name} is said to hold {} jobs, not {shown:?}", view.active)
            })?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Tally {
    by_state: [u64; State::ALL.len()],
    dead_letter: u64,
}

impl Tally {
    fn add(&mut self, job: &Job) {
        self.by_state[usize::from(job.state().code())] += 1;
        if let JobRow::Done(done) = &job.place {
            self.dead_letter += u64::from(done.ending == Ending::DeadLetter);
        }
    }

    fn compare(&self, what: &str, shown: impl Fn(State) -> u64) -> Check {
        for state in State::ALL {
            let (shown, counted) = (shown(state), self.by_state[usize::from(state.code())]);
            ensure(shown == counted, Rule::Counts, || {
                format!("{what}: {state} shown {shown}, counted {counted}")
            })?;
        }
        Ok(())
    }
}
