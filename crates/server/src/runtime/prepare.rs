//! From what was asked for to a command: ids become jobs as they stand.

use rota_engine::{Ack, Beat, Command, Nack, Refusal, Reply, Settle, Target};
use rota_model::envelope::NewJob;
use rota_model::{JobId, TenantId};
use rota_store::{Reader, StoreError};

use super::ask::{Answer, Ask, SettleAsk};
use super::engine_loop::EngineLoop;

/// Who asks, if it is a tenant.
pub(super) type Caller<'a> = Option<&'a TenantId>;

pub(super) enum Prepared {
    Command(Command),
    /// With the places of ids that meant nothing, in rising order.
    Partly(Command, Vec<usize>),
    Answer(Answer),
}

/// Whether a request makes the data grow, rather than letting work come to its end.
pub(super) fn adds_data(ask: &Ask) -> bool {
    matches!(ask, Ask::Enqueue(_) | Ask::Command(Command::PutCron(_)))
}

impl<R: Reader> EngineLoop<R> {
    /// The job behind an id, unless it belongs to somebody else than the caller.
    fn target(&mut self, id: JobId, caller: Caller<'_>) -> Result<Option<Target>, StoreError> {
        let target = self.resolver.target(id, &self.engine, &self.in_flight)?;
        let owner = |target: &Target| self.engine.owner_of(target.now.class()).cloned();
        Ok(target.filter(|found| caller.is_none_or(|id| owner(found).as_ref() == Some(id))))
    }

    fn targets(
        &mut self,
        ids: Vec<JobId>,
        caller: Caller<'_>,
    ) -> Result<(Vec<Target>, Vec<usize>), StoreError> {
        let (mut targets, mut gaps) = (Vec::with_capacity(ids.len()), Vec::new());
        let mut seen = Vec::with_capacity(ids.len());
        for (i, id) in ids.into_iter().enumerate() {
            match self.target(id, caller)? {
                // A job named twice is changed once.
                Some(target) if !seen.contains(&target.seq) => {
                    seen.push(target.seq);
                    targets.push(target);
                }
                _ => gaps.push(i),
            }
        }
        Ok((targets, gaps))
    }

    pub(super) fn command_for(
        &mut self,
        ask: Ask,
        caller: Caller<'_>,
    ) -> Result<Prepared, StoreError> {
        let listed = |(targets, gaps), make: fn(Vec<Target>) -> Command| {
            Prepared::Partly(make(targets), gaps)
        };
        Ok(match ask {
            Ask::Enqueue(enqueue) => match self.taken_id(&enqueue.jobs)? {
                Some(refusal) => Prepared::Answer(Answer::Reply(Reply::Refused(refusal))),
                None => Prepared::Command(Command::Enqueue(enqueue)),
            },
            Ask::Explain(id) => {
                let target = self.target(id, caller)?;
                let explained = target.map(|target| Box::new(self.engine.explain(&target)));
                Prepared::Answer(Answer::Explained(explained))
            }
            Ask::Fetch(fetch) => Prepared::Command(Command::Fetch(fetch)),
            Ask::Settle(all) => self.settle(all, caller)?,
            Ask::Beat { worker, state, jobs, visibility_ms, about } => {
                let (jobs, _) = self.targets(jobs, caller)?;
                let beat = Beat { worker, state, jobs, visibility_ms, about: *about };
                Prepared::Command(Command::Beat(beat))
            }
            Ask::Cancel(ids) => listed(self.targets(ids, caller)?, Command::Cancel),
            Ask::Retry(ids) => listed(self.targets(ids, caller)?, Command::Retry),
            Ask::Delete(ids) => listed(self.targets(ids, caller)?, Command::Delete),
            Ask::Activate(id) => match self.target(id, caller)? {
                Some(target) => Prepared::Command(Command::Activate(target)),
                None => {
                    let unknown = Reply::Changed(vec![Err(Refusal::UnknownJob)]);
                    Prepared::Answer(Answer::Reply(unknown))
                }
            },
            Ask::Sweep(limit) => {
                let now = self.clock.now().wall;
                let overdue = self.resolver.overdue(now, limit, &self.in_flight)?;
                Prepared::Command(Command::Forget(overdue))
            }
            Ask::Command(command) => Prepared::Command(command),
        })
    }

    fn settle(&mut self, all: Vec<SettleAsk>, caller: Caller<'_>) -> Result<Prepared, StoreError> {
        let (mut settles, mut gaps) = (Vec::with_capacity(all.len()), Vec::new());
        for (i, SettleAsk { job, holder, outcome }) in all.into_iter().enumerate() {
            let Some(job) = self.target(job, caller)? else {
                gaps.push(i);
                continue;
            };
            settles.push(match outcome {
                Ok(result) => Settle::Ack(Ack { job, holder, result }),
                Err((failure, requeue)) => Settle::Nack(Nack { job, holder, failure, requeue }),
            });
        }
        Ok(Prepared::Partly(Command::Settle(settles), gaps))
    }

    fn taken_id(&mut self, jobs: &[NewJob]) -> Result<Option<Refusal>, StoreError> {
        let mut own = Vec::new();
        for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.id_given) {
            if own.contains(&job.id) || self.target(job.id, None)?.is_some() {
                return Ok(Some(Refusal::IdTaken { id: job.id, index }));
            }
            own.push(job.id);
        }
        Ok(None)
    }
}
