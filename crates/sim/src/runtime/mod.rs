//! Drives the engine as the real server does: applies commands, seals batches, commits them and sends replies.
//! The simulation decides when each of these happens and whether it fails.

mod note;
mod pipeline;
mod resolve;
mod step;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use rota_engine::{Command, Config, Engine, InFlight, Now, Restore};
use rota_model::audit::AuditOutcome;
use rota_model::{Class, ClassId, Live, State, TenantId};
use rota_store::{Counts, HistoryRow, RowKind, Sink};

use crate::MemoryStore;
use crate::clock::Clock;
use crate::request::{Request, Ticket, Turned};
use crate::rng::Rng;
use crate::sabotage::Sabotage;
pub use pipeline::Sealed;
pub use step::Step;

/// More than this many slices of overdue things in one step is no progress.
const MOST_SLICES: usize = 1_000;

pub struct Runtime {
    config: Config,
    store: MemoryStore,
    engine: Engine,
    in_flight: InFlight,
    entropy: Rng,
    next_step: u64,
    open: Sealed,
    sealed: VecDeque<Sealed>,
    /// Committed, but nobody has been told.
    unreported: VecDeque<Sealed>,
    /// The last batch that the engine was told of.
    reported: u64,
    /// Whether due things are done before the jobs of a command are looked up.
    falsify: Option<Sabotage>,
}

/// What became of a request.
pub enum Submitted {
    /// These steps were taken, the last of them for the request itself.
    Applied(Vec<Rc<Step>>),
    /// Steps that time alone took, and why the request itself did not get to the engine.
    Turned(Vec<Rc<Step>>, Turned),
}

impl Runtime {
    #[must_use]
    pub fn new(config: Config, mut entropy: Rng, falsify: Option<Sabotage>) -> Self {
        let seed = entropy.next();
        Self {
            engine: Engine::new(config.clone(), seed),
            config,
            store: MemoryStore::default(),
            in_flight: InFlight::new(seed),
            entropy,
            next_step: 0,
            open: Sealed::numbered(1),
            sealed: VecDeque::new(),
            unreported: VecDeque::new(),
            reported: 0,
            falsify,
        }
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    #[must_use]
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    #[must_use]
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    #[must_use]
    pub fn store_mut(&mut self) -> &mut MemoryStore {
        &mut self.store
    }

    /// Lets time pass, looks up the jobs that the request names, and applies it.
    pub fn submit(
        &mut self,
        clock: &Clock,
        ticket: Ticket,
        request: Request,
    ) -> Result<Submitted, String> {
        let mut steps = Vec::new();
        self.settle_time(clock, &mut steps)?;
        match self.command_of(request, clock.now()) {
            Err(turned) => Ok(Submitted::Turned(steps, turned)),
            Ok(command) => {
                steps.push(self.apply(clock, ticket, command));
                Ok(Submitted::Applied(steps))
            }
        }
    }

    /// A second engine from what is committed, as a restart at this moment would make it.
    pub fn rebuilt(&self, now: Now, seed: u64) -> Result<Engine, String> {
        let mut sink = Restoring(Restore::new(self.config.clone(), seed, now));
        let loaded = self.store.load(&mut sink)?;
        sink.0.finish(loaded.next_seq, loaded.now, loaded.id_key, loaded.number)
    }

    /// The engine is gone, and with it all that was not committed and all that was not reported.
    pub fn restart(&mut self, now: Now) -> Result<(), String> {
        let seed = self.entropy.next();
        self.engine = self.rebuilt(now, seed)?;
        self.in_flight = InFlight::new(seed);
        self.reported = self.store.loaded().number;
        self.open = Sealed::numbered(self.reported + 1);
        self.sealed.clear();
        self.unreported.clear();
        Ok(())
    }

    /// Due things change jobs, and a job must not change between being looked up and acted upon.
    fn settle_time(&mut self, clock: &Clock, steps: &mut Vec<Rc<Step>>) -> Result<(), String> {
        for _ in 0..MOST_SLICES {
            steps.push(self.apply(clock, Ticket(0), Command::Tick(clock.now())));
            if self.engine.wake_in_ms() != Some(0) {
                return Ok(());
            }
        }
        Err("something stays due for ever".into())
    }

    fn apply(&mut self, clock: &Clock, ticket: Ticket, command: Command) -> Rc<Step> {
        self.next_step += 1;
        let now = clock.now();
        let before = self.engine.scheduler_steps();
        let note = note::is_act(&command).then(|| note::note(ticket, AuditOutcome::Success));
        let entropy = self.entropy.next();
        let mut reply = match note.clone() {
            Some(note) => self.engine.apply_audited(entropy, command.clone(), Some(note)).reply,
            None => self.engine.apply(entropy, command.clone()),
        };
        let mut cost = self.engine.scheduler_steps() - before;
        if self.falsify == Some(Sabotage::Scan) {
            cost += scanned(&self.engine);
        }
        let mut effects = self.engine.take_effects();
        if let Some(sabotage) = self.falsify {
            sabotage.falsify(&mut effects, &mut reply);
        }
        let batch = self.open.number;
        self.in_flight.note(batch, &effects.mutations);
        self.note_given_ids(batch, &reply);
        for (_, woken) in &effects.woken {
            self.note_given_ids(batch, woken);
        }
        let step = Rc::new(Step {
            number: self.next_step,
            ticket,
            batch,
            reported: self.reported,
            at: clock.elapsed(),
            now,
            command,
            note,
            reply,
            mutations: effects.mutations,
            woken: effects.woken,
            events: effects.events,
            cost,
        });
        self.open.steps.push(step.clone());
        step
    }
}

/// What a look at all waiting jobs costs.
pub(crate) fn scanned(engine: &Engine) -> u64 {
    100 * engine.totals().of(State::Available)
}

struct Restoring(Restore);

impl Sink for Restoring {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        self.0.class(id, class, counts);
    }

    fn stored(&mut self, tenant: TenantId, bytes: u64) {
        self.0.stored(&tenant, bytes);
    }

    fn named(&mut self, kind: RowKind, name: Arc<str>, json: Bytes) {
        self.0.named(kind, &name, &json);
    }

    fn live(&mut self, live: Live) {
        self.0.live(live);
    }

    fn history(&mut self, row: HistoryRow) {
        self.0.history(&row);
    }

    fn journal(&mut self, number: u64, data: Bytes) {
        self.0.journal(number, &data);
    }
}
