//! One simulated run: interleaves requests, commits, faults and replies.

use rota_engine::{Claimed, Command, Reply, WaiterId};
use rota_model::JobId;

use crate::Options;
use crate::clock::Clock;
use crate::oracle::{Check, Oracle, Rule, Violation};
use crate::rebuild;
use crate::request::{Request, Ticket};
use crate::rng::Rng;
use crate::runtime::{Runtime, Step, Submitted};
use crate::sabotage::Sabotage;
use crate::trace::Trace;
use crate::workload::{Delivery, Workload};

mod drain;
mod faults;

pub(crate) struct Simulation<'t> {
    rng: Rng,
    clock: Clock,
    workload: Workload,
    runtime: Runtime,
    /// Jobs on their way to workers, whose bodies are read from the view.
    reads: Vec<DeliveryRead>,
    oracle: Oracle,
    trace: &'t mut Trace,
    steps: u64,
    sabotage: Option<Sabotage>,
}

/// Jobs that reach their worker when the view has the batch that was the last one committed when they were handed out.
struct DeliveryRead {
    after: u64,
    ticket: Ticket,
    claims: Vec<(Claimed, Option<JobId>)>,
}

impl<'t> Simulation<'t> {
    pub fn new(seed: u64, options: &Options, trace: &'t mut Trace) -> Self {
        let mut rng = Rng::new(seed);
        let workload = Workload::new(rng.fork(), options.theme);
        let config = workload.profile().config.clone();
        let falsify = options.sabotage;
        let given = falsify.map_or(config.clone(), |sabotage| sabotage.misread(config.clone()));
        let most_lag = workload.profile().most_lag;
        let runtime = Runtime::new(given, most_lag, rng.fork(), falsify);
        Self {
            rng,
            clock: Clock::default(),
            workload,
            runtime,
            reads: Vec::new(),
            oracle: Oracle::new(config),
            trace,
            steps: options.steps,
            sabotage: options.sabotage,
        }
    }

    pub fn run(mut self) -> Check {
        for _ in 0..self.steps {
            self.turn()?;
        }
        self.drain()
    }

    fn turn(&mut self) -> Check {
        self.let_time_pass();
        let profile = self.workload.profile();
        let (crashes, disk_full, view_pace) =
            (profile.crashes, profile.disk_full, profile.view_pace);
        if self.rng.below(1_000) < crashes {
            return self.crash();
        }
        match self.rng.weighted([85, 16, 24, 16, view_pace, 12, 3]) {
            0 => {
                let (ticket, request) = self.workload.next(self.clock.now());
                self.submit(ticket, request)
            }
            1 => {
                self.runtime.seal();
                Ok(())
            }
            2 if self.runtime.may_write() && self.rng.below(300) < disk_full => self.disk_full(),
            2 => self.go_on_with_log(),
            3 => self.release(),
            4 => self.go_on_with_view(),
            5 => {
                self.report();
                Ok(())
            }
            _ => self.checkpoint(),
        }
    }

    fn submit(&mut self, ticket: Ticket, request: Request) -> Check {
        self.trace.doing(&request);
        let submitted = self
            .runtime
            .submit(&self.clock, ticket, request)
            .map_err(|problem| Violation::new(Rule::Time, problem))?;
        self.trace.done();
        let steps = match submitted {
            Submitted::Applied(steps) => steps,
            Submitted::Turned(steps, turned) => {
                self.trace.line(format_args!("request {} turned away: {turned:?}", ticket.0));
                self.workload.turned(ticket);
                steps
            }
        };
        for step in &steps {
            if !step.is_quiet() {
                self.trace.line(format_args!("{step}"));
            }
            self.oracle.decided(step)?;
        }
        self.oracle.look(self.runtime.engine())?;
        steps.last().map_or(Ok(()), |step| self.sabotage_step(step))
    }

    /// The log writes a record, or syncs the one that it has written.
    fn go_on_with_log(&mut self) -> Check {
        if let Some(batch) = self.runtime.commit() {
            self.trace.line(format_args!("commit {}", batch.number));
            return self.oracle.committed(&batch);
        }
        if let Some(number) = self.runtime.write() {
            self.trace.line(format_args!("write {number}"));
        }
        Ok(())
    }

    /// The view begins a transaction, or ends the one that is under way.
    fn go_on_with_view(&mut self) -> Check {
        if !self.runtime.view().is_in_portion() {
            let most = self.rng.between(1, self.runtime.view().lag().max(1) as u64) as usize;
            self.runtime.begin_portion(most);
            return Ok(());
        }
        self.runtime.finish_portion().map_err(|problem| Violation::new(Rule::Store, problem))?;
        self.sabotage_store();
        let (applied, committed) = (self.runtime.view().applied(), self.runtime.committed());
        self.trace.line(format_args!("view at {applied} of {committed}"));
        self.oracle.applied(&self.runtime)?;
        self.deliver();
        Ok(())
    }

    /// The view makes some of what it has durable.
    fn checkpoint(&mut self) -> Check {
        let most = self.rng.between(1, 40) as usize;
        self.runtime.checkpoint(most).map_err(|problem| Violation::new(Rule::Store, problem))?;
        self.runtime.truncate();
        Ok(())
    }

    /// The engine hears what the view has applied.
    fn report(&mut self) {
        if let Some(number) = self.runtime.report() {
            self.trace.line(format_args!("report {number}"));
        }
    }

    /// The oldest answers go out.
    fn release(&mut self) -> Check {
        let Some(release) = self.runtime.release() else {
            return Ok(());
        };
        self.trace.line(format_args!("answer {}", release.batch));
        for answer in &release.answers {
            let step = &answer.step;
            if answer.reply {
                self.oracle.told(step)?;
                self.sabotage_delivery(step)?;
                self.answer(step.ticket, &step.reply);
            }
            if answer.woken {
                self.workload.saw_runs(step);
                for (waiter, reply) in &step.woken {
                    self.oracle.woken(step, *waiter, reply)?;
                    self.answer(Ticket(waiter.0), reply);
                }
            }
        }
        self.deliver();
        Ok(())
    }

    /// Workers are given bodies, which the server has in memory or reads from the view.
    fn answer(&mut self, ticket: Ticket, reply: &Reply) {
        let Reply::Fetched(claims) = reply else {
            return self.workload.answered(ticket, reply);
        };
        let with_body = |claim: &Claimed| (claim.clone(), self.runtime.take_body(claim.seq));
        let claims: Vec<_> = claims.iter().map(with_body).collect();
        let in_memory = claims.iter().all(|(_, id)| id.is_some());
        let after = if in_memory { 0 } else { self.runtime.committed() };
        self.reads.push(DeliveryRead { after, ticket, claims });
    }

    /// Jobs whose bodies can be read reach their workers.
    fn deliver(&mut self) {
        let applied = self.runtime.view().applied();
        for read in self.reads.extract_if(.., |read| read.after <= applied) {
            let store = self.runtime.view().store();
            // A job that is gone by now has no body.
            let read_id = |seq| store.row(seq).map(|row| row.id);
            let deliveries = read.claims.iter().filter_map(|(claim, id)| {
                let id = id.or_else(|| read_id(claim.seq))?;
                Some(Delivery { seq: claim.seq, id, attempt: claim.attempt })
            });
            self.workload.arrived(read.ticket, deliveries.collect());
        }
    }

    /// Everything decided is committed, applied and told.
    fn settle(&mut self) -> Check {
        while !self.runtime.is_idle() {
            self.runtime.seal();
            self.go_on_with_log()?;
            self.go_on_with_view()?;
            self.report();
            self.release()?;
        }
        self.deliver();
        Ok(())
    }

    fn let_time_pass(&mut self) {
        let wake = self.runtime.engine().wake_in_ms().unwrap_or(1_000);
        let ms = match self.rng.weighted([40, 40, 8, 4, 8]) {
            0 => 0,
            1 => self.rng.between(1, 200),
            2 => self.rng.between(1_000, 5_000),
            3 => self.rng.between(10_000, 90_000),
            _ => wake.min(120_000),
        };
        self.clock.pass(ms);
        // Half of the long times are pauses of the process.
        if ms >= 10_000 && ms % 2 == 0 {
            self.trace.line(format_args!("the process was paused for {ms} ms"));
            self.runtime.pause();
        }
        if self.rng.below(1_000) < self.workload.profile().clock_jumps {
            let by = self.rng.one_of([-600_000, -3_000, 4_000, 90_000, 7_200_000]);
            self.trace.line(format_args!("the wall clock jumps by {by} ms"));
            self.clock.set_wall(by);
        }
    }

    fn sabotage_step(&mut self, step: &Step) -> Check {
        if let Some(secret) = self.sabotage.and_then(|sabotage| sabotage.secret(step)) {
            self.runtime.engine_mut().apply(0, secret);
            if self.sabotage == Some(Sabotage::GhostJob) {
                self.runtime.engine_mut().take_effects();
            }
            return Ok(());
        }
        match (self.sabotage, &step.command, &step.reply) {
            (Some(Sabotage::EarlyReply), _, Reply::Enqueued(_)) => {
                self.oracle.told(step)?;
                self.crash()
            }
            (Some(Sabotage::FastClock), _, Reply::Fetched(claims)) if !claims.is_empty() => {
                let mut now = self.clock.now();
                now.mono += 3_600_000;
                self.runtime.engine_mut().apply(0, Command::Tick(now));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sabotage_store(&mut self) {
        let store = self.runtime.view_mut().store_mut();
        match self.sabotage {
            Some(Sabotage::DropRow) => drop(store.drop_a_row()),
            Some(Sabotage::DropAuditEntry) => store.drop_an_audit_entry(),
            Some(Sabotage::Miscount) => drop(store.miscount()),
            Some(Sabotage::LoseJournal) => store.forget_journal(),
            _ => {}
        }
    }

    fn sabotage_delivery(&mut self, step: &Step) -> Check {
        match (self.sabotage, &step.reply) {
            (Some(Sabotage::DeliverTwice), Reply::Fetched(claims)) if !claims.is_empty() => {
                self.oracle.woken(step, WaiterId(u64::MAX), &step.reply)
            }
            _ => Ok(()),
        }
    }

    /// Restoring must not change what happens next.
    fn check_rebuild(&mut self) -> Check {
        let waiting: Vec<_> = self.oracle.waiting().collect();
        let steady = self.workload.profile().clock_jumps == 0;
        rebuild::check(&mut self.runtime, &waiting, steady, self.rng.next())
    }
}
