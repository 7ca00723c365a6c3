//! Turns a request into a command: resolves the job ids it names, on behalf of the caller.

use std::sync::Arc;

use rota_engine::{Command, Refusal, Reply, Resolved, Target};
use rota_model::JobId;
use rota_model::envelope::NewJob;
use rota_store::{Reader, StoreError};

use super::ask::{Answer, Ask, CallerScope};
use super::engine_loop::EngineLoop;
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
            | Command::TriggerCron(_)
            | Command::CreateKey(_)
            | Command::RotateKey(_)
            | Command::Audit(_)
    )
}

impl<R: Reader> EngineLoop<R> {
    /// The job with this id; `None` if it does not exist for the caller.
    fn target(&mut self, id: JobId, caller: Caller<'_>) -> Result<Option<Target>, StoreError> {
        let target = self.resolver.target(id, &self.engine, &self.in_flight)?;
        let exists = |target: &Target, caller: &CallerScope| {
            let class = self.engine.class(target.now.class());
            class.is_some_and(|class| caller.covers(class))
        };
        Ok(target.filter(|target| caller.is_none_or(|caller| exists(target, caller))))
    }

    pub(super) fn prepare(&mut self, ask: Ask, caller: Caller<'_>) -> Result<Prepared, StoreError> {
        Ok(match ask {
            Ask::Command(command) => {
                if let Command::Enqueue(enqueue) = &command
                    && let Some(refusal) = self.taken_id(&enqueue.jobs)?
                {
                    return Ok(Prepared::Answer(Answer::Reply(Reply::Refused(refusal))));
                }
                Prepared::Command(command.resolve(|id| self.target(id, caller))?)
            }
            Ask::Act(command, act) => {
                let resolved = command.resolve(|id| self.target(id, caller))?;
                Prepared::Act(resolved, act)
            }
            Ask::TrimAudit(limit) => {
                let oldest = match self.engine.is_audit_trim_due() {
                    true => self.resolver.oldest_audit(limit)?,
                    false => return Ok(Prepared::Answer(Answer::Reply(Reply::Forgotten(0)))),
                };
                let command = Command::TrimAudit(oldest);
                Prepared::Command(Resolved { command, missing: Vec::new() })
            }
            Ask::Explain(id) => {
                let target = self.target(id, caller)?;
                let explained = target.map(|target| Box::new(self.engine.explain(&target)));
                Prepared::Answer(Answer::Explained(explained))
            }
            Ask::Replay(limit) => {
                let now = self.engine.now().wall;
                let due = self.resolver.due_replays(now, limit, &self.in_flight)?;
                let command = Command::Replay(due);
                Prepared::Command(Resolved { command, missing: Vec::new() })
            }
            Ask::Purge(limit) => {
                let now = self.clock.clock().now().wall;
                let overdue = self.resolver.overdue(now, limit, &self.in_flight)?;
                let command = Command::Forget(overdue);
                Prepared::Command(Resolved { command, missing: Vec::new() })
            }
        })
    }

    /// The refusal of the first job whose client-chosen id is in use, in the store or in the request.
    fn taken_id(&mut self, jobs: &[NewJob]) -> Result<Option<Refusal>, StoreError> {
        let mut seen = Vec::new();
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.id_given) {
            if seen.contains(&job.id) || self.target(job.id, None)?.is_some() {
                return Ok(Some(Refusal::IdTaken { id: job.id, index }));
            }
            seen.push(job.id);
        }
        Ok(None)
    }
}
