//! One command with everything that the engine produced for it, and its line in the trace.

use std::fmt;

use rota_engine::{Claimed, Command, Event, Now, Reply, Settle, Target, WaiterId};
use rota_model::audit::AuditNote;
use rota_model::{Directive, LimitNumbers};
use rota_store::Mutation;

use crate::request::Ticket;

#[derive(Debug)]
pub struct Step {
    pub number: u64,
    pub ticket: Ticket,
    /// The batch that makes it durable.
    pub batch: u64,
    /// The last batch whose commit was reported to the engine before.
    pub reported: u64,
    /// The true time of the simulation, in milliseconds.
    pub at: u64,
    pub now: Now,
    pub command: Command,
    /// Who does it, if it goes into the audit log.
    pub note: Option<AuditNote>,
    pub reply: Reply,
    pub mutations: Vec<Mutation>,
    pub woken: Vec<(WaiterId, Reply)>,
    pub events: Vec<Event>,
    /// What was looked at to decide it.
    pub cost: u64,
}

impl Step {
    #[must_use]
    pub fn lets_time_pass(&self) -> bool {
        matches!(self.command, Command::Tick(_) | Command::Resume(_))
    }

    /// Time passed and nothing came of it.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.lets_time_pass() && self.mutations.is_empty() && self.woken.is_empty()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wall, mono) = (self.now.wall.0 % 100_000_000, self.now.mono);
        write!(f, "#{} {}ms w{wall} m{mono} ", self.number, self.at)?;
        write_command(f, &self.command)?;
        f.write_str(" -> ")?;
        write_reply(f, &self.reply)?;
        for (waiter, reply) in &self.woken {
            write!(f, " woke {}:", waiter.0)?;
            write_reply(f, reply)?;
        }
        f.write_str(" |")?;
        self.mutations.iter().try_for_each(|mutation| write_mutation(f, mutation))
    }
}

struct Numbers(LimitNumbers);

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LimitNumbers { concurrency, rate, throttle } = self.0;
        concurrency.map_or(Ok(()), |n| write!(f, "c{n}"))?;
        rate.map_or(Ok(()), |r| write!(f, "r{}/{}", r.limit, r.period_ms))?;
        throttle.map_or(Ok(()), |r| write!(f, "t{}/{}", r.limit, r.period_ms))
    }
}

struct Jobs<'a>(&'a [Claimed]);

impl fmt::Display for Jobs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut jobs = self.0.iter();
        jobs.try_for_each(|claim| write!(f, " {}/{}", claim.seq, claim.attempt))
    }
}

fn write_targets(f: &mut fmt::Formatter<'_>, what: &str, targets: &[Target]) -> fmt::Result {
    f.write_str(what)?;
    targets.iter().try_for_each(|target| write!(f, " {}({})", target.seq, target.state()))
}

fn write_command(f: &mut fmt::Formatter<'_>, command: &Command) -> fmt::Result {
    match command {
        Command::Enqueue(enqueue) => {
            f.write_str("enqueue")?;
            enqueue.jobs.iter().try_for_each(|job| {
                let class = &job.class;
                write!(f, " {}/{}p{}", &*class.tenant, &*class.queue, class.priority)?;
                if let Some(limit) = &class.policy.limit {
                    write!(f, "[{} {:?} {:?}]", &*limit.key, limit.scope, limit.on_limit)?;
                    write!(f, "{}", Numbers(limit.numbers))?;
                }
                if let Some(at) = job.start_at {
                    write!(f, "@{}", at.0 % 100_000_000)?;
                }
                if let Some(at) = job.expires {
                    write!(f, "<{}", at.0 % 100_000_000)?;
                }
                f.write_str(if job.pending { " pending" } else { "" })
            })
        }
        Command::Fetch(fetch) => {
            let worker = fetch.worker.as_deref().unwrap_or("?");
            write!(f, "fetch {} for {worker} of {:?}", fetch.count, fetch.queues)?;
            fetch.pool.as_ref().map_or(Ok(()), |pool| write!(f, " in {pool}"))?;
            fetch.tenant.as_ref().map_or(Ok(()), |tenant| write!(f, " only {tenant}"))?;
            fetch.wait.map_or(Ok(()), |(id, ms)| write!(f, " wait {}:{ms}ms", id.0))
        }
        Command::Settle(all) => all.iter().try_for_each(|settle| match settle {
            Settle::Ack(ack) => write!(f, "ack {} {:?} ", ack.job.seq, ack.holder),
            Settle::Nack(nack) => write!(
                f,
                "nack {} {:?} {} {:?} requeue {} ",
                nack.job.seq, nack.holder, nack.failure.kind, nack.failure.code, nack.requeue
            ),
        }),
        Command::Beat(beat) => {
            let state = beat.state.map_or("", Directive::as_str);
            write!(f, "beat {} {state} for {:?}ms", beat.worker, beat.visibility_ms)?;
            write_targets(f, "", &beat.jobs)
        }
        Command::Register(about) => {
            write!(f, "register {} for {:?}", about.worker, about.concurrency)
        }
        Command::Cancel(targets) => write_targets(f, "cancel", targets),
        Command::RequestCancel(targets) => write_targets(f, "request_cancel", targets),
        Command::Activate(targets) => write_targets(f, "activate", targets),
        Command::Retry(targets) | Command::RetryOnly(targets, _) => {
            write_targets(f, "retry", targets)
        }
        Command::RetryAs(targets, _) => write_targets(f, "retry-as", targets),
        Command::SetPriority(targets, new) => {
            write_targets(f, "priority", targets)?;
            write!(f, " {}", new.priority)
        }
        Command::Prune(prune) => write_targets(f, "prune", &prune.jobs),
        Command::Replay(due) => write!(f, "replay {}", due.len()),
        Command::Delete(targets) | Command::DeleteOnly(targets, _) => {
            write_targets(f, "delete", targets)
        }
        Command::Audit(notes) => write!(f, "audit {}", notes.len()),
        Command::TrimAudit(oldest) => write!(f, "trim-audit {}", oldest.len()),
        Command::Forget(all) => {
            f.write_str("forget")?;
            all.jobs.iter().try_for_each(|done| write!(f, " {}", done.seq))
        }
        Command::PutCron(spec) => write!(
            f,
            "cron {} '{}' {:?} enabled {}",
            spec.name, spec.expression, spec.overlap, spec.enabled
        ),
        Command::Tick(_) => f.write_str("tick"),
        Command::Resume(_) => f.write_str("resume"),
        other => write!(f, "{other:?}"),
    }
}

fn write_reply(f: &mut fmt::Formatter<'_>, reply: &Reply) -> fmt::Result {
    match reply {
        Reply::Enqueued(all) => {
            all.jobs.iter().try_for_each(|a| write!(f, "{}({}) ", a.seq, a.state))
        }
        Reply::Fetched(claims) => write!(f, "{}", Jobs(claims)),
        Reply::Settled(all) => all.iter().try_for_each(|one| match one {
            Ok(settled) => write!(f, "{} ", settled.state),
            Err(refusal) => write!(f, "{refusal:?} "),
        }),
        Reply::Changed(all) => all.iter().try_for_each(|one| match one {
            Ok(changed) => write!(f, "was {} ", changed.before),
            Err(refusal) => write!(f, "{refusal:?} "),
        }),
        Reply::Beat(beat) => write!(
            f,
            "{:?} extended {} cancelled {} lost {}",
            beat.directive,
            beat.extended.len(),
            beat.cancelled.len(),
            beat.lost.len()
        ),
        Reply::Queue(_)
        | Reply::Cron { .. }
        | Reply::Triggered { .. }
        | Reply::Maintenance(_)
        | Reply::Tenant { .. }
        | Reply::Pool { .. }
        | Reply::Limit(_)
        | Reply::Key(_)
        | Reply::KeyRotated { .. }
        | Reply::Done => f.write_str("done"),
        Reply::Forgotten(count) => write!(f, "forgot {count}"),
        Reply::Waiting => f.write_str("waiting"),
        Reply::Refused(refusal) => write!(f, "{refusal:?}"),
    }
}

fn write_mutation(f: &mut fmt::Formatter<'_>, mutation: &Mutation) -> fmt::Result {
    match mutation {
        Mutation::Class(id, _) => write!(f, " class:{}", id.0),
        Mutation::DropClass(id) => write!(f, " dropclass:{}", id.0),
        Mutation::Counts(id, counts) => write!(f, " counts:{}={:?}", id.0, counts.0),
        Mutation::Insert(row, live) => {
            let mark = if live.marked { ":marked" } else { "" };
            write!(f, " insert:{}:{}{mark}", row.seq, live.state)
        }
        Mutation::Claim(claim) => write!(f, " claim:{}/{}", claim.seq, claim.attempt),
        Mutation::RequestCancel(seq) => write!(f, " request_cancel:{seq}"),
        Mutation::Extend { seq, reserved_ms, .. } => write!(f, " extend:{seq}:{reserved_ms}"),
        Mutation::Backoff(backoff) => {
            write!(f, " backoff:{}@{}", backoff.seq, backoff.due.0 % 100_000_000)
        }
        Mutation::Postpone { seq, due } => write!(f, " postpone:{seq}@{}", due.0 % 100_000_000),
        Mutation::Ready(ready) => write!(f, " ready:{}", ready.seq),
        Mutation::Finish(finish) => write!(f, " finish:{}:{:?}", finish.seq, finish.ending),
        Mutation::Revive { seq, .. } => write!(f, " revive:{seq}"),
        Mutation::Bury(seq, dead) => write!(f, " bury:{seq}:{}:{}", dead.shard.0, dead.error),
        Mutation::Rewrite(rewrite) => write!(f, " rewrite:{}:{}", rewrite.seq, rewrite.class.0),
        Mutation::Replayed(seq, _) => write!(f, " replayed:{seq}"),
        Mutation::Delete(seq) => write!(f, " delete:{seq}"),
        Mutation::Purged(through) => write!(f, " swept:{through}"),
        Mutation::Error(row) => write!(f, " error:{}", row.seq),
        Mutation::Put(kind, name, _) => write!(f, " put:{kind:?}:{name}"),
        Mutation::Remove(kind, name) => write!(f, " remove:{kind:?}:{name}"),
        Mutation::History(row) => write!(f, " history:{}@{}", row.queue, row.at.0 % 100_000_000),
        Mutation::ForgetHistory { .. } => f.write_str(" forget-history"),
        Mutation::ForgetHistoryOf(queue) => write!(f, " forget-history:{queue}"),
        Mutation::AddUsage(row) => write!(f, " usage:{}@{}", row.tenant, row.at.0 % 100_000_000),
        Mutation::ForgetUsage { .. } => f.write_str(" forget-usage"),
        Mutation::ForgetTenantUsage(tenant) => write!(f, " forget-usage:{tenant}"),
        Mutation::Journal(_) => f.write_str(" journal"),
        Mutation::Audit(row) => write!(f, " audit:{}", row.number),
        Mutation::TrimAudit(through) => write!(f, " trim-audit:{through}"),
        Mutation::TrimJournal(before) => write!(f, " trim:{before}"),
    }
}
