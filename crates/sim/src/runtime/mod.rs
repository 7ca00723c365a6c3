//! Drives the engine as the real server does: applies commands, seals batches, commits them to the log, applies them
//! to the view and sends replies. The simulation decides when each of these happens and whether it fails.

mod log;
mod note;
mod pipeline;
mod recovery;
mod release;
mod resolve;
mod step;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use rota_engine::{Command, Config, Engine, InFlight, Reply, Restore};
use rota_model::audit::AuditOutcome;
use rota_model::{Class, ClassId, JobId, Live, Seq, State, TenantId};
use rota_store::{Applied, Counts, HistoryRow, RowKind, Sink};

use crate::clock::Clock;
use crate::request::{Request, Ticket, Turned};
use crate::rng::Rng;
use crate::sabotage::Sabotage;
use log::Log;
pub use pipeline::Sealed;
pub use recovery::Crash;
pub use release::Release;
use resolve::Pruning;
pub use step::Step;
use view::View;

/// More than this many slices of overdue things in one step is no progress.
const MOST_SLICES: usize = 1_000;

pub struct Runtime {
    config: Config,
    engine: Engine,
    in_flight: InFlight,
    entropy: Rng,
    /// Decides what the caches of the server have.
    caches: Rng,
    next_step: u64,
    open: Sealed,
    sealed: VecDeque<Sealed>,
    /// In the log, but not synced.
    written: Option<Sealed>,
    log: Log,
    view: View,
    /// The view may be so many batches behind the log.
    most_lag: usize,
    /// How many events there have been in the batches that are sealed.
    event_count: u64,
    /// The number of the last batch that is committed.
    committed: u64,
    /// Answers that may go out.
    releases: VecDeque<Release>,
    /// What the view has applied and the engine has not heard of.
    reports: VecDeque<(u64, Applied)>,
    /// The last batch that the engine has heard of as applied.
    reported: u64,
    /// The ids of new jobs that need not be read from the view.
    bodies: BTreeMap<Seq, JobId>,
    /// A dead letter that is being pruned.
    pruning: Option<Pruning>,
    /// The process has not run since the last step.
    paused: bool,
    /// A fault of the server itself.
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
    pub fn new(
        config: Config,
        most_lag: usize,
        mut entropy: Rng,
        falsify: Option<Sabotage>,
    ) -> Self {
        let seed = entropy.next();
        Self {
            engine: Engine::new(config.clone(), seed),
            config,
            in_flight: InFlight::new(seed, 0),
            caches: entropy.fork(),
            entropy,
            next_step: 0,
            open: Sealed::numbered(1),
            sealed: VecDeque::new(),
            written: None,
            log: Log::default(),
            view: View::default(),
            most_lag,
            event_count: 0,
            committed: 0,
            releases: VecDeque::new(),
            reports: VecDeque::new(),
            reported: 0,
            bodies: BTreeMap::new(),
            pruning: None,
            paused: false,
            falsify,
        }
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The process has not run since the last step.
    pub fn pause(&mut self) {
        self.paused = true;
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
    pub fn view(&self) -> &View {
        &self.view
    }

    pub fn view_mut(&mut self) -> &mut View {
        &mut self.view
    }

    /// The number of the last batch that is committed. A read that begins now waits until the view has it.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// The id of a job that is handed out, if it need not be read from the view.
    pub fn take_body(&mut self, seq: Seq) -> Option<JobId> {
        self.bodies.remove(&seq)
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

    /// Due things change jobs, and a job must not change between being looked up and acted upon.
    fn settle_time(&mut self, clock: &Clock, steps: &mut Vec<Rc<Step>>) -> Result<(), String> {
        if std::mem::take(&mut self.paused) {
            steps.push(self.apply(clock, Ticket(0), Command::Resume(clock.now())));
        }
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
        self.note_enqueued(batch, &reply);
        for (_, woken) in &effects.woken {
            self.note_enqueued(batch, woken);
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

    /// The ids of new jobs are not in the view yet. Those that clients chose are always remembered.
    fn note_enqueued(&mut self, batch: u64, reply: &Reply) {
        let Reply::Enqueued(accepted) = reply else { return };
        for job in &accepted.jobs {
            if job.id_given {
                self.in_flight.note_id(batch, job.id, job.seq);
            }
            if self.caches.percent(CACHED) {
                self.bodies.insert(job.seq, job.id);
            }
        }
    }
}

/// New jobs are cached so often, in percent.
const CACHED: u64 = 85;

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
