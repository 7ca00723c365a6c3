//! Applies mutations to the store in memory.

use rota_model::audit::AuditRow;
use rota_model::{ClassId, Ending, JobChange, Live, Seq};
use rota_store::{ERRORS_KEPT, JobRow, Mutation, NewRow, Rewrite};

use super::MemoryStore;

type Outcome = Result<(), String>;

impl MemoryStore {
    pub(super) fn apply(&mut self, number: u64, mutation: &Mutation) -> Outcome {
        match mutation {
            Mutation::Class(id, class) => {
                self.classes.insert(*id, class.clone());
                Ok(())
            }
            Mutation::DropClass(id) => self.drop_class(*id),
            Mutation::Counts(id, counts) => {
                self.known_class(*id)?;
                self.counts.insert(*id, *counts);
                Ok(())
            }
            Mutation::Insert(row, live) => self.insert(mutation, row, live),
            Mutation::Bury(seq, _) => match self.done.get(seq) {
                Some(done) if done.ending == Ending::DeadLetter => self.change(mutation),
                _ => Err(format!("job {seq} is not for the dead letter")),
            },
            Mutation::Rewrite(rewrite) => self.rewrite(mutation, rewrite),
            Mutation::Replayed(seq, json) => {
                self.replays.insert(*seq, json.clone());
                Ok(())
            }
            Mutation::Delete(seq) => self.delete(mutation, *seq),
            Mutation::Claim(_)
            | Mutation::Extend { .. }
            | Mutation::RequestCancel(_)
            | Mutation::Backoff(_)
            | Mutation::Postpone { .. }
            | Mutation::Ready(_)
            | Mutation::Finish(_)
            | Mutation::Revive { .. } => self.change(mutation),
            // What is overdue is found by looking.
            Mutation::Purged(_) => Ok(()),
            Mutation::Error(row) => {
                if !self.live.contains_key(&row.seq) {
                    return Err(format!("job {} cannot have failed", row.seq));
                }
                let errors = self.errors.entry(row.seq).or_default();
                errors.push(row.clone());
                errors.drain(..errors.len().saturating_sub(ERRORS_KEPT));
                Ok(())
            }
            Mutation::Put(kind, name, json) => {
                self.named.insert((*kind, name.clone()), json.clone());
                Ok(())
            }
            Mutation::Remove(kind, name) => {
                self.named.remove(&(*kind, name.clone()));
                Ok(())
            }
            Mutation::History(row) => {
                let key = (row.period, row.queue.clone(), row.at);
                self.history.insert(key, row.data.clone());
                Ok(())
            }
            Mutation::ForgetHistory { period, before, most } => {
                let old = self.history.keys().filter(|(p, _, at)| p == period && at < before);
                let mut old: Vec<_> = old.cloned().collect();
                old.sort_by_key(|(_, _, at)| *at);
                for key in old.into_iter().take(*most as usize) {
                    self.history.remove(&key);
                }
                Ok(())
            }
            // Nothing is decided by it, and it is not read at a start.
            Mutation::AddUsage(_)
            | Mutation::ForgetUsage { .. }
            | Mutation::ForgetTenantUsage(_) => Ok(()),
            Mutation::ForgetHistoryOf(queue) => {
                self.history.retain(|(_, named, _), _| named != queue);
                Ok(())
            }
            Mutation::Journal(data) => match self.journal.insert(number, data.clone()) {
                None => Ok(()),
                Some(_) => Err("a batch has two entries in the journal".into()),
            },
            Mutation::Audit(row) => match self.audit.insert(row.number, AuditRow::clone(row)) {
                None => Ok(()),
                Some(_) => Err(format!("entry {} of the audit log exists already", row.number)),
            },
            Mutation::TrimAudit(through) => {
                self.audit = self.audit.split_off(&(through + 1));
                Ok(())
            }
            Mutation::TrimJournal(before) => {
                self.journal = self.journal.split_off(before);
                Ok(())
            }
        }
    }

    fn insert(&mut self, mutation: &Mutation, row: &NewRow, live: &Live) -> Outcome {
        self.known_class(row.class)?;
        if row.seq != live.seq || row.class != live.class {
            return Err(format!("job {} disagrees with itself", row.seq));
        }
        if self.jobs.insert(row.seq, row.clone()).is_some() {
            return Err(format!("job {} exists already", row.seq));
        }
        if let Some(other) = self.ids.insert(row.id, row.seq) {
            return Err(format!("jobs {other} and {} are both {}", row.seq, row.id));
        }
        self.change(mutation)
    }

    fn rewrite(&mut self, mutation: &Mutation, rewrite: &Rewrite) -> Outcome {
        let Rewrite { seq, class, body } = rewrite;
        self.known_class(*class)?;
        let job = self.jobs.get_mut(seq).ok_or_else(|| format!("there is no job {seq}"))?;
        (job.class, job.body) = (*class, body.clone());
        self.change(mutation)
    }

    fn delete(&mut self, mutation: &Mutation, seq: Seq) -> Outcome {
        let row = self.jobs.remove(&seq).ok_or_else(|| format!("there is no job {seq}"))?;
        self.ids.remove(&row.id);
        self.errors.remove(&seq);
        self.replays.remove(&seq);
        self.change(mutation)
    }

    fn drop_class(&mut self, id: ClassId) -> Outcome {
        self.known_class(id)?;
        if let Some(row) = self.jobs.values().find(|row| row.class == id) {
            return Err(format!("class {} still has job {}", id.0, row.seq));
        }
        self.classes.remove(&id);
        self.counts.remove(&id);
        Ok(())
    }

    fn known_class(&self, id: ClassId) -> Outcome {
        if self.classes.contains_key(&id) {
            return Ok(());
        }
        Err(format!("class {} is not known", id.0))
    }

    /// Changes the row of the job that the mutation is about.
    fn change(&mut self, mutation: &Mutation) -> Outcome {
        let (seq, change) = JobChange::of(mutation).ok_or("it is about no job")?;
        let mut row = match (self.live.remove(&seq), self.done.remove(&seq)) {
            (Some(_), Some(_)) => return Err(format!("job {seq} is there twice")),
            (Some(live), None) => Some(JobRow::Live(live)),
            (None, done) => done.map(JobRow::Done),
        };
        if !change.apply(&mut row) {
            return Err(format!("{change:?} does not fit job {seq}, which is {row:?}"));
        }
        match row {
            Some(JobRow::Live(live)) => drop(self.live.insert(seq, live)),
            Some(JobRow::Done(done)) => drop(self.done.insert(seq, done)),
            None => {}
        }
        Ok(())
    }
}
