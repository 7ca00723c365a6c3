//! From what was asked for to a command: ids become jobs as they stand.

use rota_engine::{Ack, Beat, Command, Nack, Refusal, Reply, Settle, Target};
use rota_model::JobId;
use rota_model::envelope::NewJob;
use rota_store::{Reader, StoreError};

use super::ask::{Ask, SettleAsk};
use super::engine_loop::EngineLoop;

pub(super) enum Prepared {
    Command(Command),
    /// With the places of ids that meant nothing, in rising order.
    Partly(Command, Vec<usize>),
    Answer(Reply),
}

/// Whether a request makes the data grow, rather than letting work come to its end.
pub(super) fn adds_data(ask: &Ask) -> bool {
    matches!(ask, Ask::Enqueue(_) | Ask::Command(Command::PutCron(_)))
}

impl<R: Reader> EngineLoop<R> {
    fn target(&mut self, id: JobId) -> Result<Option<Target>, StoreError> {
        self.resolver.target(id, &self.engine, &self.in_flight)
    }

    fn targets(&mut self, ids: Vec<JobId>) -> Result<(Vec<Target>, Vec<usize>), StoreError> {
        let (mut targets, mut gaps) = (Vec::with_capacity(ids.len()), Vec::new());
        let mut seen = Vec::with_capacity(ids.len());
        for (i, id) in ids.into_iter().enumerate() {
            match self.target(id)? {
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

    pub(super) fn command_for(&mut self, ask: Ask) -> Result<Prepared, StoreError> {
        let listed = |(targets, gaps), make: fn(Vec<Target>) -> Command| {
            Prepared::Partly(make(targets), gaps)
        };
        Ok(match ask {
            Ask::Enqueue(jobs) => match self.taken_id(&jobs)? {
                Some(refusal) => Prepared::Answer(Reply::Refused(refusal)),
                None => Prepared::Command(Command::Enqueue(jobs)),
            },
            Ask::Fetch(fetch) => Prepared::Command(Command::Fetch(fetch)),
            Ask::Settle(all) => self.settle(all)?,
            Ask::Beat { worker, state, jobs, visibility_ms, about } => {
                let (jobs, _) = self.targets(jobs)?;
                let beat = Beat { worker, state, jobs, visibility_ms, about: *about };
                Prepared::Command(Command::Beat(beat))
            }
            Ask::Cancel(ids) => listed(self.targets(ids)?, Command::Cancel),
            Ask::Retry(ids) => listed(self.targets(ids)?, Command::Retry),
            Ask::Delete(ids) => listed(self.targets(ids)?, Command::Delete),
            Ask::Activate(id) => match self.target(id)? {
                Some(target) => Prepared::Command(Command::Activate(target)),
                None => Prepared::Answer(Reply::Changed(vec![Err(Refusal::UnknownJob)])),
            },
            Ask::Sweep(limit) => {
                let now = self.clock.now().wall;
                let overdue = self.resolver.overdue(now, limit, &self.in_flight)?;
                Prepared::Command(Command::Forget(overdue))
            }
            Ask::Command(command) => Prepared::Command(command),
        })
    }

    fn settle(&mut self, all: Vec<SettleAsk>) -> Result<Prepared, StoreError> {
        let (mut settles, mut gaps) = (Vec::with_capacity(all.len()), Vec::new());
        for (i, SettleAsk { job, holder, outcome }) in all.into_iter().enumerate() {
            let Some(job) = self.target(job)? else {
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
            if own.contains(&job.id) || self.target(job.id)?.is_some() {
                return Ok(Some(Refusal::IdTaken { id: job.id, index }));
            }
            own.push(job.id);
        }
        Ok(None)
    }
}
