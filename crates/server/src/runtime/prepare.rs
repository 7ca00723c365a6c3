//! Turns a request into a command: says what it needs from the view, and resolves the job ids it names, on behalf of
//! the caller.

use std::sync::Arc;

use rota_engine::{Command, Engine, Refusal, Reply, Resolved, Target};
use rota_model::JobId;
use rota_model::envelope::NewJob;

use super::ask::{Answer, Ask, CallerScope};
use super::engine_loop::EngineLoop;
use super::facts::Facts;
use super::prefetch::Wanted;
use crate::audit::Act;

/// On whose behalf a request is carried out; `None` for the server itself.
pub(super) type Caller<'a> = Option<&'a CallerScope>;

pub(super) enum Prepared {
    /// A command for the engine.
    Command(Resolved),
    /// A command of an administrative act.
    Act(Resolved, Arc<Act>),
    /// The request is answered without a command.
    Answer(Answer),
}

/// Whether a request adds jobs, schedules or keys, or entries to the audit log that no change depends on.
/// Such requests are refused while the disk is full.
pub(super) fn adds_data(ask: &Ask) -> bool {
    let (Ask::Command(command) | Ask::Act(command, _)) = ask else { return false };
    matches!(
        command,
        Command::Enqueue(_)
            | Command::PutCron(_)
            | Command::TriggerCron { .. }
            | Command::CreateKey(_)
            | Command::RotateKey(_)
            | Command::Audit(_)
    )
}

/// Whether the job exists for the caller.
pub(super) fn exists_for(target: &Target, engine: &Engine, caller: Caller<'_>) -> bool {
    let covers = |caller: &CallerScope| {
        engine.class(target.now.class()).is_some_and(|class| caller.covers(class))
    };
    caller.is_none_or(covers)
}

impl EngineLoop {
    /// What must be read before the request can be prepared.
    pub(super) fn wanted(&self, ask: &Ask, caller: Caller<'_>) -> Option<Wanted> {
        let mut ids = Vec::new();
        match ask {
            // Ids that clients choose are new almost always, so memory would not know them.
            Ask::Command(command @ Command::Enqueue(_)) => {
                command.collect_ids(&mut ids);
                return (!ids.is_empty()).then_some(Wanted::Jobs(ids));
            }
            Ask::Command(command) | Ask::Act(command, _) => command.collect_ids(&mut ids),
            Ask::Explain(id) => ids.push(*id),
            Ask::TrimAudit(limit) => {
                return self.engine.is_audit_trim_due().then_some(Wanted::OldestAudit(*limit));
            }
            Ask::Replay(limit) => {
                return Some(Wanted::DueReplays(self.engine.now().wall, *limit));
            }
            Ask::Purge(limit) => {
                return Some(Wanted::Overdue(self.clock.clock().now().wall, *limit));
            }
        }
        let is_known = |id| self.resolver.is_known(id, &self.engine, &self.in_flight, caller);
        let all_known = ids.iter().all(|id| is_known(*id));
        (!all_known).then_some(Wanted::Jobs(ids))
    }

    /// The job with this id; `None` if it does not exist for the caller.
    fn target(&self, id: JobId, facts: &Facts, caller: Caller<'_>) -> Option<Target> {
        let target = self.resolver.target(id, &self.engine, &self.in_flight, facts);
        target.filter(|target| exists_for(target, &self.engine, caller))
    }

    fn resolve(&self, command: Command<JobId>, facts: &Facts, caller: Caller<'_>) -> Resolved {
        command.resolve(|id| self.target(id, facts, caller))
    }

    /// `facts` are what is [`wanted`](Self::wanted).
    pub(super) fn prepare(&self, ask: Ask, facts: Facts, caller: Caller<'_>) -> Prepared {
        let plain = |command| Prepared::Command(Resolved { command, missing: Vec::new() });
        match ask {
            Ask::Command(command) => {
                if let Command::Enqueue(enqueue) = &command
                    && let Some(refusal) = self.taken_id(&enqueue.jobs, &facts)
                {
                    return Prepared::Answer(Answer::Reply(Reply::Refused(refusal)));
                }
                Prepared::Command(self.resolve(command, &facts, caller))
            }
            Ask::Act(command, act) => Prepared::Act(self.resolve(command, &facts, caller), act),
            Ask::TrimAudit(_) => match facts {
                Facts::Nothing => Prepared::Answer(Answer::Reply(Reply::Forgotten(0))),
                facts => plain(Command::TrimAudit(facts.oldest_audit())),
            },
            Ask::Explain(id) => {
                let target = self.target(id, &facts, caller);
                let explained = target.map(|target| Box::new(self.engine.explain(&target)));
                Prepared::Answer(Answer::Explained(explained))
            }
            Ask::Replay(_) => plain(Command::Replay(facts.due_replays(&self.in_flight))),
            Ask::Purge(_) => plain(Command::Forget(facts.overdue(&self.in_flight))),
        }
    }

    /// The refusal of the first job whose client-chosen id is in use, in the view or in the request.
    fn taken_id(&self, jobs: &[NewJob], facts: &Facts) -> Option<Refusal> {
        let mut seen = Vec::new();
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.id_given) {
            if seen.contains(&job.id) || self.target(job.id, facts, None).is_some() {
                return Some(Refusal::IdTaken { id: job.id, index });
            }
            seen.push(job.id);
        }
        None
    }
}
