//! The engine thread: applies requests to the engine and collects the effects into batches.
//!
//! The thread of the log commits one batch while the next is being collected.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::RandomState;
use rota_engine::{
    Claimed, Command, Engine, InFlight, Refusal, Reply, Resolved, Undelivered, WaiterId,
};
use rota_store::{Batch, Body};
use tokio::sync::oneshot;

use super::Health;
use super::ask::{Answer, Ask, Delivery, Input, Request, Unavailable};
use super::body_cache::BodyCache;
use super::clock::{ClockDriver, Reading};
use super::commit_loop::Work;
use super::facts::Facts;
use super::lookups::Lookups;
use super::mailbox::{Mail, Mailbox};
use super::pacing::Pacing;
use super::prefetch::{Prefetch, Prefetched, Prefetches, Wanted};
use super::prepare::{Prepared, adds_data};
use super::queue::Queue;
use super::release::Release;
use super::resolve::Resolver;
use crate::audit::Act;

/// The state of the engine thread.
pub(super) struct EngineLoop {
    pub engine: Engine,
    pub clock: ClockDriver,
    pub mailbox: Arc<Mailbox>,
    pub work: Arc<Queue<Work>>,
    pub resolver: Resolver,
    pub prefetches: Arc<Prefetches>,
    /// Requests that are in the prefetch stage, and those enqueues among them that may wait in the engine after it.
    pub outstanding: usize,
    pub waits_prefetched: HashSet<WaiterId, RandomState>,
    pub bodies: BodyCache,
    /// Changes that are decided and not in the view yet.
    pub in_flight: InFlight,
    /// The number of the last batch that was submitted to the log.
    pub last_batch: u64,
    /// How many events there have been in these batches.
    pub event_count: u64,
    /// The batch that is being collected, and the answers and events that wait for its commit.
    pub batch: Batch,
    pub release: Release,
    /// Jobs deleted so far.
    pub deletions: usize,
    /// Fetches and enqueues that wait in the engine.
    pub waiting: HashMap<WaiterId, oneshot::Sender<Answer>, RandomState>,
    /// The most requests that are taken from the mailbox at once.
    pub max_requests: usize,
    pub lookups: Arc<Lookups>,
    pub health: Health,
    /// When the store was last asked whether the disk has space again.
    pub space_checked: Instant,
    pub pacing: Pacing,
    pub on_fatal: Box<dyn Fn(&str) + Send>,
}

/// The longest sleep. It bounds the time until a change of the wall clock is noticed.
const MAX_SLEEP: Duration = Duration::from_millis(1000);

/// A pause in which workers may have missed their time to report, in milliseconds. The thread never sleeps that
/// long.
const PAUSE_MS: u64 = 3_000;

impl EngineLoop {
    pub fn run(mut self) {
        while !self.handle(self.wait()) {}
        self.finish();
    }

    /// Handles what is in the mailbox, and submits what may be submitted. Returns true if the thread
    /// is to stop.
    pub(super) fn handle(&mut self, mail: Mail) -> bool {
        match mail {
            Mail::Inputs(inputs) => self.handle_inputs(inputs),
            Mail::Stop => return true,
            Mail::StoreReport(report) => self.handle_store_report(report),
            Mail::TimedOut => self.tick(),
        }
        self.submit_batch(false);
        self.check_disk_space();
        false
    }

    fn wait(&self) -> Mail {
        // Sleep until that millisecond begins; the engine's own time may be up to 1 ms old.
        let wake_at = self.engine.wake_in_ms().map(|ms| self.engine.now().mono.saturating_add(ms));
        let sleep = wake_at.map_or(MAX_SLEEP, |mono| self.clock.clock().until(mono));
        let pause = self.pacing.pause(Instant::now());
        self.mailbox.wait(pause, sleep.min(MAX_SLEEP), self.max_requests, self.outstanding)
    }

    /// Handles messages in order.
    fn handle_inputs(&mut self, inputs: Vec<Input>) {
        // Timers change jobs, so they fire before any job is looked up.
        self.tick();
        // Ids in this round of messages need not be read from the store.
        for input in &inputs {
            if let Input::ActiveIds(ids) = input {
                ids.iter().for_each(|(id, seq)| self.resolver.note_active(*id, *seq));
            }
        }
        for input in inputs {
            match input {
                Input::Request(request) => self.begin(request),
                Input::Prefetched(prefetched) => self.resume(prefetched),
                Input::ActiveIds(_) => {}
                Input::Look(look) => look(&self.engine),
            }
        }
    }

    /// Carries out a request at once, or hands it to the prefetch stage if something must be read for it.
    fn begin(&mut self, request: Request) {
        match self.wanted(&request.ask, request.caller.as_ref()) {
            None => self.carry_out(request, Facts::Nothing),
            Some(wanted) => self.prefetch(request, wanted),
        }
    }

    fn prefetch(&mut self, request: Request, wanted: Wanted) {
        if let Wanted::Jobs(ids) = &wanted {
            self.lookups.count_ids(ids.len());
        }
        let waiter = if let Ask::Command(command) = &request.ask { waiter(command) } else { None };
        let pin = self.in_flight.pin();
        match self.prefetches.push(Prefetch { request, wanted, pin }) {
            None => {
                self.outstanding += 1;
                self.waits_prefetched.extend(waiter);
            }
            Some(Prefetch { request, pin, .. }) => {
                self.in_flight.release(pin);
                if let Some(responder) = request.responder {
                    let _ = responder.send(Answer::Unavailable(Unavailable::Busy));
                }
            }
        }
    }

    /// Carries out a request that comes back from the prefetch stage.
    fn resume(&mut self, Prefetched { mut request, facts, pin }: Prefetched) {
        self.outstanding -= 1;
        if let Ask::Command(Command::Enqueue(enqueue)) = &mut request.ask {
            // Not there any longer if its client went away in the meantime.
            let waits_prefetched = &mut self.waits_prefetched;
            enqueue.wait = enqueue.wait.filter(|(id, _)| waits_prefetched.remove(id));
        }
        match self.in_flight.covers(pin) {
            true => self.carry_out(request, facts),
            // The engine was rebuilt, and what the facts would have to be corrected by is gone.
            false => self.begin(request),
        }
        self.in_flight.release(pin);
    }

    fn carry_out(&mut self, request: Request, facts: Facts) {
        let Request { ask, caller, responder } = request;
        if self.health.is_disk_full() && adds_data(&ask) {
            if let Some(responder) = responder {
                let _ = responder.send(Answer::Unavailable(Unavailable::DiskFull));
            }
            return;
        }
        if matches!(facts, Facts::Damaged) {
            if let Some(responder) = responder {
                let _ = responder.send(Answer::Unavailable(Unavailable::Damaged));
            }
            return;
        }
        match self.prepare(ask, facts, caller.as_ref()) {
            Prepared::Command(resolved) => self.apply_resolved(resolved, None, responder),
            Prepared::Act(resolved, act) => self.apply_resolved(resolved, Some(&act), responder),
            Prepared::Answer(answer) => self.answer(responder, answer),
        }
    }

    /// Applies a command that the engine thread itself issues; nobody waits for the reply.
    fn apply_command(&mut self, command: Command) {
        self.apply_resolved(Resolved { command, missing: Vec::new() }, None, None);
    }

    fn apply_resolved(
        &mut self,
        Resolved { command, missing }: Resolved,
        act: Option<&Act>,
        responder: Option<oneshot::Sender<Answer>>,
    ) {
        let waiter = waiter(&command);
        let stopped = match &command {
            Command::StopWaiting(id) => Some(*id),
            _ => None,
        };
        let deletions = self.deletions;
        let mut reply = self.apply(command, act);
        let deletes = self.deletions > deletions;
        for position in missing {
            match &mut reply {
                Reply::Settled(results) => results.insert(position, Err(Refusal::UnknownJob)),
                Reply::Changed(results) => results.insert(position, Err(Refusal::UnknownJob)),
                _ => {}
            }
        }
        match reply {
            Reply::Waiting => {
                if let (Some(id), Some(responder)) = (waiter, responder) {
                    self.waiting.insert(id, responder);
                }
            }
            Reply::Fetched(claimed) => {
                let jobs = self.deliveries(claimed);
                self.answer(responder, Answer::Fetched(jobs));
            }
            reply if deletes => self.answer_late(responder, Answer::Reply(reply)),
            reply => self.answer(responder, Answer::Reply(reply)),
        }
        if let Some(id) = stopped {
            self.waiting.remove(&id);
            self.waits_prefetched.remove(&id);
        }
    }

    /// Advances the engine's time.
    fn tick(&mut self) {
        let last = self.engine.now().mono;
        let Reading { now, jump_ms } = self.clock.drive();
        let gap_ms = now.mono.saturating_sub(last);
        if gap_ms >= PAUSE_MS {
            tracing::warn!(gap_ms, "the server did not run; workers get time to report");
        }
        // Monotonic time may stand still while the machine is suspended; then only the wall clock shows it.
        let paused = gap_ms >= PAUSE_MS || jump_ms >= PAUSE_MS as i64;
        self.apply_command(if paused { Command::Resume(now) } else { Command::Tick(now) });
    }

    fn apply(&mut self, command: Command, act: Option<&Act>) -> Reply {
        if let Command::SetPriority(targets, _) = &command {
            // The body says the priority. The new one is read from the store.
            targets.iter().for_each(|target| drop(self.bodies.take(target.seq)));
        }
        let entropy = fastrand::u64(..);
        let reply = match act {
            Some(act) => {
                let audited = self.engine.apply_audited(entropy, command, act.entry());
                act.applied(&audited);
                audited.reply
            }
            None => self.engine.apply(entropy, command),
        };
        let before = self.batch.mutations.len();
        let woken = self.engine.move_effects(&mut self.batch.mutations, &mut self.release.events);
        self.release.keys.append(&mut self.engine.take_key_changes());
        self.release.request_limits.append(&mut self.engine.take_request_limit_changes());
        self.deletions += self.in_flight.note(self.last_batch + 1, &self.batch.mutations[before..]);
        self.note_enqueued(&reply);
        if !woken.is_empty() {
            self.answer_waiting(woken);
        }
        reply
    }

    /// Caches the bodies of newly enqueued jobs, and the ids that clients chose for them.
    fn note_enqueued(&mut self, reply: &Reply) {
        let Reply::Enqueued(admission) = reply else { return };
        for job in &admission.jobs {
            let body = Body { id: job.id, created: job.created, json: job.body.clone() };
            self.bodies.insert(job.seq, body);
            if job.id_given {
                self.in_flight.note_id(self.last_batch + 1, job.id, job.seq);
            }
        }
    }

    /// Answers fetches and enqueues that were waiting in the engine. Claims for a fetch whose client
    /// has gone are undone.
    fn answer_waiting(&mut self, woken: Vec<(WaiterId, Reply)>) {
        let mut orphans = Vec::new();
        for (id, reply) in woken {
            self.note_enqueued(&reply);
            match (self.waiting.remove(&id), reply) {
                (Some(responder), Reply::Fetched(claimed)) => {
                    let jobs = self.deliveries(claimed);
                    self.answer(Some(responder), Answer::Fetched(jobs));
                }
                (Some(responder), reply) => self.answer(Some(responder), Answer::Reply(reply)),
                (None, Reply::Fetched(claimed)) => {
                    orphans.extend(claimed.iter().map(|job| (job.seq, job.attempt)));
                }
                (None, _) => {}
            }
        }
        if !orphans.is_empty() {
            let undelivered = Undelivered { claims: orphans, partly_sent: false };
            self.apply_command(Command::Undelivered(undelivered));
        }
    }

    fn deliveries(&mut self, claimed: Vec<Claimed>) -> Vec<Delivery> {
        let deliver = |claimed: Claimed| {
            let body = self.bodies.take(claimed.seq);
            if let Some(body) = &body {
                self.resolver.note_active(body.id, claimed.seq);
            }
            Delivery { claimed, body }
        };
        claimed.into_iter().map(deliver).collect()
    }

    fn answer(&mut self, responder: Option<oneshot::Sender<Answer>>, answer: Answer) {
        if let Some(responder) = responder {
            self.release.answers.push((responder, answer));
        }
    }

    /// Answers when the view has applied the deletions of the request.
    fn answer_late(&mut self, responder: Option<oneshot::Sender<Answer>>, answer: Answer) {
        if let Some(responder) = responder {
            self.release.late_answers.push((responder, answer));
        }
    }

    pub(super) fn finish(mut self) {
        for (_, responder) in self.waiting.drain() {
            let _ = responder.send(Answer::Fetched(Vec::new()));
        }
        self.submit_batch(true);
        // The database can only be closed cleanly when all readers are gone.
        self.prefetches.close();
        let _ = self.work.push(Work::Close);
        self.mailbox.close();
    }
}

/// The fetch or enqueue that waits if the command cannot be carried out at once.
fn waiter<J>(command: &Command<J>) -> Option<WaiterId> {
    let wait = match command {
        Command::Fetch(fetch) => fetch.wait,
        Command::Enqueue(enqueue) => enqueue.wait,
        _ => None,
    };
    wait.map(|(id, _)| id)
}
