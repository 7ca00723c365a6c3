//! One simulated run: interleaves requests, commits, faults and replies.

use rota_engine::{Claimed, Command, Reply, WaiterId};

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
    oracle: Oracle,
    trace: &'t mut Trace,
    steps: u64,
    sabotage: Option<Sabotage>,
}

impl<'t> Simulation<'t> {
    pub fn new(seed: u64, options: &Options, trace: &'t mut Trace) -> Self {
        let mut rng = Rng::new(seed);
        let workload = Workload::new(rng.fork(), options.theme);
        let config = workload.profile().config.clone();
        let falsify = options.sabotage;
        let given = falsify.map_or(config.clone(), |sabotage| sabotage.misread(config.clone()));
        let runtime = Runtime::new(given, rng.fork(), falsify);
        Self {
            rng,
            clock: Clock::default(),
            workload,
            runtime,
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
        let (crashes, disk_full) = {
            let profile = self.workload.profile();
            (profile.crashes, profile.disk_full)
        };
        if self.rng.below(1_000) < crashes {
            return self.crash();
        }
        match self.rng.weighted([60, 16, 16, 16]) {
            0 => {
                let (ticket, request) = self.workload.next(self.clock.now());
                self.submit(ticket, request)
            }
            1 => {
                self.runtime.seal();
                Ok(())
            }
            2 if self.runtime.has_sealed() && self.rng.below(300) < disk_full => self.disk_full(),
            2 => self.commit(),
            _ => self.report(),
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

    fn commit(&mut self) -> Check {
        if !self.runtime.has_sealed() {
            return Ok(());
        }
        self.runtime.commit().map_err(|problem| Violation::new(Rule::Store, problem))?;
        self.sabotage_store();
        let Some(batch) = self.runtime.newest_commit() else {
            return Ok(());
        };
        self.trace.line(format_args!("commit {}", batch.number));
        self.oracle.committed(batch, self.runtime.store())
    }

    /// The answers of the oldest commit go out.
    fn report(&mut self) -> Check {
        let Some(batch) = self.runtime.report() else {
            return Ok(());
        };
        self.trace.line(format_args!("report {}", batch.number));
        for step in &batch.steps {
            self.oracle.told(step)?;
            self.sabotage_delivery(step)?;
            self.workload.saw_runs(step);
            let claims = match &step.reply {
                Reply::Fetched(claims) => self.read(claims),
                _ => Vec::new(),
            };
            self.workload.answered(step.ticket, &step.reply, claims);
            for (waiter, reply) in &step.woken {
                self.oracle.woken(step, *waiter, reply)?;
                let claims = match reply {
                    Reply::Fetched(claims) => self.read(claims),
                    _ => Vec::new(),
                };
                self.workload.answered(Ticket(waiter.0), reply, claims);
            }
        }
        Ok(())
    }

    /// Workers are given bodies; a job that is gone by now has none.
    fn read(&self, claims: &[Claimed]) -> Vec<Delivery> {
        let store = self.runtime.store();
        let read = |claim: &Claimed| {
            let row = store.row(claim.seq)?;
            Some(Delivery { seq: claim.seq, id: row.id, attempt: claim.attempt })
        };
        claims.iter().filter_map(read).collect()
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
        let store = self.runtime.store_mut();
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
