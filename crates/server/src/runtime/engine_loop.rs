//! The engine thread: takes requests, lets the engine decide, and gathers what follows for the
//! store, which commits one batch while the next is being made.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ahash::RandomState;
use rota_engine::{Claimed, Command, Engine, InFlight, Now, Refusal, Reply, Resolved, WaiterId};
use rota_store::{Batch, Body, Reader, StoreError};
use tokio::sync::oneshot;

use super::ask::{Answer, Ask, Delivery, Input, Unavailable};
use super::body_cache::BodyCache;
use super::mailbox::{Mail, Mailbox};
use super::pacing::Pacing;
use super::prepare::{Caller, Prepared, adds_data};
use super::queue::Queue;
use super::release::Release;
use super::resolve::Resolver;
use super::store_loop::{Done, Work};
use super::{Clock, Health};

pub(super) struct EngineLoop<R> {
    pub engine: Engine,
    pub clock: Clock,
    pub mailbox: Arc<Mailbox>,
    pub work: Arc<Queue<Work>>,
    pub resolver: Resolver<R>,
    pub bodies: BodyCache,
    pub in_flight: InFlight,
    /// The last batch that was handed to the store.
    pub number: u64,
    pub batch: Batch,
    pub release: Release,
    pub waiting: HashMap<WaiterId, oneshot::Sender<Answer>, RandomState>,
    pub most: usize,
    pub health: Health,
    pub room_checked: Instant,
    pub pacing: Pacing,
    pub on_fatal: Box<dyn Fn(&str) + Send>,
}

/// How often a full disk is looked at again.
const ROOM_CHECK: Duration = Duration::from_secs(2);
/// The longest sleep, so that a wall clock which was set is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(1000);

impl<R: Reader> EngineLoop<R> {
    pub fn run(mut self) {
        loop {
            match self.wait() {
                Mail::Inputs(inputs) => {
                    if self.serve(inputs) {
                        break;
                    }
                }
                Mail::News(done) => self.hear(done),
                Mail::Nothing => self.tick(),
            }
            self.hand_over(false);
            self.check_room();
        }
        self.finish();
    }

    fn wait(&self) -> Mail {
        // Until that very millisecond begins: the engine's time is up to a millisecond old.
        let wake_at = self.engine.wake_in_ms().map(|ms| self.engine.now().mono.saturating_add(ms));
        let sleep = wake_at.map_or(LONGEST_SLEEP, |mono| self.clock.until(mono));
        let pause = self.pacing.pause(Instant::now());
        self.mailbox.wait(pause, sleep.min(LONGEST_SLEEP), self.most)
    }

    /// Serves requests in their order; true when the last of them was the word to stop.
    fn serve(&mut self, inputs: Vec<Input>) -> bool {
        // Before anything is looked up: what is due changes jobs.
        self.tick();
        // And before that, what need not be looked up.
        for input in &inputs {
            if let Input::Ids(ids) = input {
                ids.iter().for_each(|(id, seq)| self.resolver.note_active(*id, *seq));
            }
        }
        let asks = inputs.iter().filter_map(|input| match input {
            Input::Ask(ask, _, _) | Input::Tell(ask) => Some(ask),
            Input::Ids(_) | Input::Look(_) | Input::Stop => None,
        });
        if let Err(error) = self.resolver.prepare(asks, &self.engine) {
            self.fatal(&error);
        }
        let mut stop = false;
        for input in inputs {
            match input {
                Input::Ask(ask, caller, responder) => {
                    self.ask(ask, caller.as_ref(), Some(responder));
                }
                Input::Tell(ask) => self.ask(ask, None, None),
                Input::Ids(_) => {}
                Input::Look(look) => look(&self.engine),
                Input::Stop => stop = true,
            }
        }
        stop
    }

    fn ask(&mut self, ask: Ask, caller: Caller<'_>, responder: Option<oneshot::Sender<Answer>>) {
        if self.health.is_full() && adds_data(&ask) {
            if let Some(responder) = responder {
                let _ = responder.send(Answer::Unavailable(Unavailable::DiskFull));
            }
            return;
        }
        match self.command_for(ask, caller) {
            Ok(Prepared::Command(resolved)) => self.apply_resolved(resolved, responder),
            Ok(Prepared::Answer(answer)) => self.answer(responder, answer),
            Err(error) => self.fatal(&error),
        }
    }

    /// A command of the engine thread's own, which nobody waits for.
    fn apply_command(&mut self, command: Command) {
        self.apply_resolved(Resolved { command, missing: Vec::new() }, None);
    }

    fn apply_resolved(
        &mut self,
        Resolved { command, missing }: Resolved,
        responder: Option<oneshot::Sender<Answer>>,
    ) {
        let waiter = match &command {
            Command::Fetch(fetch) => fetch.wait.map(|(id, _)| id),
            Command::Enqueue(enqueue) => enqueue.wait.map(|(id, _)| id),
            _ => None,
        };
        let stopped = match &command {
            Command::StopWaiting(id) => Some(*id),
            _ => None,
        };
        let mut reply = self.apply(command);
        for position in missing {
            match &mut reply {
                Reply::Settled(all) => all.insert(position, Err(Refusal::UnknownJob)),
                Reply::Changed(all) => all.insert(position, Err(Refusal::UnknownJob)),
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
            reply => self.answer(responder, Answer::Reply(reply)),
        }
        if let Some(id) = stopped {
            self.waiting.remove(&id);
        }
    }

    /// Lets time pass. It never goes back; when the clock was set back, it goes on at half its speed
    /// until the clock has caught up, so that nothing that waits for a time stands still.
    fn tick(&mut self) {
        let (last, given) = (self.engine.now(), self.clock.now());
        // Halves before the difference, so that many short steps add up.
        let half = (given.mono / 2).saturating_sub(last.mono / 2);
        let wall = given.wall.max(last.wall.saturating_add_ms(half as i64));
        self.apply_command(Command::Tick(Now { wall, mono: given.mono }));
    }

    fn apply(&mut self, command: Command) -> Reply {
        let reply = self.engine.apply(fastrand::u64(..), command);
        let before = self.batch.mutations.len();
        let woken = self.engine.move_effects(&mut self.batch.mutations, &mut self.release.events);
        self.in_flight.note(self.number + 1, &self.batch.mutations[before..]);
        self.note_accepted(&reply);
        if !woken.is_empty() {
            self.wake(woken);
        }
        reply
    }

    fn note_accepted(&mut self, reply: &Reply) {
        let Reply::Enqueued(admission) = reply else { return };
        for job in &admission.jobs {
            let body = Body { id: job.id, created: job.created, json: job.body.clone() };
            self.bodies.insert(job.seq, body);
            if job.id_given {
                self.in_flight.note_id(self.number + 1, job.id, job.seq);
            }
        }
    }

    /// Answers fetches and enqueues that had been waiting. Jobs for a fetch that is not here any more
    /// go back.
    fn wake(&mut self, woken: Vec<(WaiterId, Reply)>) {
        let mut orphans = Vec::new();
        for (id, reply) in woken {
            self.note_accepted(&reply);
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
            self.apply_command(Command::Undelivered(orphans));
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

    /// Gives the store what has gathered, when it is time, or there is enough of it.
    fn hand_over(&mut self, now: bool) {
        if self.batch.mutations.is_empty() && self.release.is_empty() {
            return;
        }
        let enough = self.batch.mutations.len() >= self.most * 4;
        let present = Instant::now();
        if !now && !enough && !self.pacing.is_time(present) {
            return;
        }
        self.pacing.handed_over(self.release.answers.len(), present);
        let work = self.take_work();
        if let Err(Work::Commit(_, release) | Work::Pass(release)) = self.work.push(work) {
            release.fail(&Unavailable::ShuttingDown);
        }
    }

    fn take_work(&mut self) -> Work {
        let release = std::mem::take(&mut self.release);
        if self.batch.mutations.is_empty() {
            return Work::Pass(release);
        }
        self.engine.seal(self.number + 1, &mut self.batch.mutations);
        let mutations = std::mem::take(&mut self.batch.mutations);
        let batch = Batch {
            number: self.number + 1,
            now: self.engine.now().wall,
            next_seq: self.engine.next_seq(),
            mutations,
        };
        self.number += 1;
        Work::Commit(batch, release)
    }

    fn hear(&mut self, done: Done) {
        match done {
            Done::Committed(number) => {
                self.pacing.store_is_free();
                self.in_flight.committed(number);
                self.resolver.tidy(&self.engine);
            }
            Done::Full => self.rebuild(),
            Done::Free => self.pacing.store_is_free(),
            Done::Room => {
                tracing::info!("there is room on the disk again: new jobs are accepted");
                self.health.set_full(false);
            }
        }
    }

    /// A batch was not written, so the engine knows things that did not happen. Everyone who was
    /// to be told of them is told otherwise, and the engine starts again from what is stored.
    fn rebuild(&mut self) {
        std::mem::take(&mut self.release).fail(&Unavailable::NotWritten);
        self.batch.mutations.clear();
        for (_, responder) in self.waiting.drain() {
            let _ = responder.send(Answer::Fetched(Vec::new()));
        }
        self.pacing.reset();
        let (reply, engine) = std::sync::mpsc::channel();
        if self.work.push(Work::Reload(reply)).is_err() {
            return;
        }
        match engine.recv() {
            Ok(Ok((engine, loaded))) => {
                self.engine = engine;
                self.number = loaded.number;
                self.in_flight = InFlight::new(fastrand::u64(..));
                self.resolver.reset();
                // Numbers of jobs that were not written will be given to others.
                self.bodies.clear();
                // Failures of batches that followed the first say nothing new.
                self.mailbox.forget_news();
            }
            Ok(Err(error)) => self.fatal(&error),
            Err(_) => {}
        }
    }

    fn check_room(&mut self) {
        if self.health.is_full() && self.room_checked.elapsed() > ROOM_CHECK {
            self.room_checked = Instant::now();
            let _ = self.work.try_push(Work::CheckRoom);
        }
    }

    fn finish(mut self) {
        for (_, responder) in self.waiting.drain() {
            let _ = responder.send(Answer::Fetched(Vec::new()));
        }
        self.hand_over(true);
        // The database closes in order only when nobody reads from it any more.
        drop(self.resolver);
        let _ = self.work.push(Work::Close);
        self.mailbox.close();
    }

    fn fatal(&self, error: &StoreError) {
        (self.on_fatal)(&error.message);
    }
}
