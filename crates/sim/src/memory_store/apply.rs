//! Applies mutations to the store in memory.

use rota_model::audit::AuditRow;
use rota_model::mutation::Undo;
use rota_model::{ClassId, DeadRow, Done, Ending, Live, Millis, Seq, State};
use rota_store::{Claim, ERRORS_KEPT, Finish, Mutation, NewRow, Ready, Rewrite};

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
            Mutation::Insert(row, live) => self.insert(row, live),
            Mutation::Claim(claim) => self.change(claim.seq, "claim", |live| take(live, claim)),
            Mutation::Extend { seq, due, reserved_ms } => self.change(*seq, "extend", |live| {
                live.due = Some(*due);
                live.reserved_ms = *reserved_ms;
            }),
            Mutation::RequestCancel(seq) => {
                self.change(*seq, "request a cancellation", |live| live.marked = true)
            }
            Mutation::Backoff(backoff) => self.change(backoff.seq, "back off", |live| {
                let_go(live, State::Retryable);
                live.due = Some(backoff.due);
                take_back(live, backoff.undo);
            }),
            Mutation::Postpone { seq, due } => self.change(*seq, "put off", |live| {
                (live.state, live.due, live.marked) = (State::Scheduled, Some(*due), true);
            }),
            Mutation::Ready(ready) => {
                self.change(ready.seq, "make ready", |live| make_ready(live, ready))
            }
            Mutation::Finish(finish) => self.finish(finish),
            Mutation::Bury(seq, dead) => match self.done.get_mut(seq) {
                Some(done) if done.ending == Ending::DeadLetter => {
                    done.dead = Some(DeadRow::clone(dead));
                    Ok(())
                }
                _ => Err(not_there("bury", *seq)),
            },
            Mutation::Rewrite(rewrite) => self.rewrite(rewrite),
            Mutation::Replayed(seq, json) => {
                self.replays.insert(*seq, json.clone());
                Ok(())
            }
            Mutation::Revive { seq, enqueued } => self.revive(*seq, *enqueued),
            Mutation::Delete(seq) => self.delete(*seq),
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

    fn insert(&mut self, row: &NewRow, live: &Live) -> Outcome {
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
        self.live.insert(live.seq, live.clone());
        Ok(())
    }

    fn finish(&mut self, finish: &Finish) -> Outcome {
        let seq = finish.seq;
        let live = self.live.remove(&seq).ok_or_else(|| not_there("finish", seq))?;
        let done = Done {
            seq,
            class: live.class,
            bytes: live.bytes,
            ending: finish.ending,
            at: finish.at,
            attempt: live.attempt,
            enqueued: live.enqueued,
            started: live.started,
            expires: live.expires,
            purge_at: finish.purge_at,
            result: finish.result.clone(),
            dead: None,
        };
        self.done.insert(seq, done);
        Ok(())
    }

    fn revive(&mut self, seq: Seq, enqueued: Millis) -> Outcome {
        let done = self.done.remove(&seq).ok_or_else(|| not_there("revive", seq))?;
        self.live.insert(seq, Live::ready(seq, done.class, enqueued, done.bytes));
        Ok(())
    }

    fn rewrite(&mut self, rewrite: &Rewrite) -> Outcome {
        let Rewrite { seq, class, body } = rewrite;
        self.known_class(*class)?;
        let job = self.jobs.get_mut(seq).ok_or_else(|| not_there("rewrite", *seq))?;
        (job.class, job.body) = (*class, body.clone());
        let bytes = body.len() as u32;
        self.change(*seq, "rewrite", |live| (live.class, live.bytes) = (*class, bytes))
    }

    fn delete(&mut self, seq: Seq) -> Outcome {
        let row = self.jobs.remove(&seq).ok_or_else(|| not_there("delete", seq))?;
        self.ids.remove(&row.id);
        self.errors.remove(&seq);
        self.replays.remove(&seq);
        let (live, done) = (self.live.remove(&seq), self.done.remove(&seq));
        if live.is_some() == done.is_some() {
            return Err(not_there("delete", seq));
        }
        Ok(())
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

    fn change(&mut self, seq: Seq, what: &str, change: impl FnOnce(&mut Live)) -> Outcome {
        change(self.live.get_mut(&seq).ok_or_else(|| not_there(what, seq))?);
        Ok(())
    }
}

fn take(live: &mut Live, claim: &Claim) {
    live.state = State::Active;
    live.attempt = claim.attempt;
    live.started = Some(claim.started);
    live.due = Some(claim.due);
    live.reserved_ms = claim.reserved_ms;
    live.worker.clone_from(&claim.worker);
    live.pool.clone_from(&claim.pool);
}

fn make_ready(live: &mut Live, ready: &Ready) {
    let_go(live, State::Available);
    live.due = None;
    live.enqueued = ready.enqueued;
    live.marked = ready.held;
    take_back(live, ready.undo);
}

/// An execution that does not count is as if it had not been.
fn take_back(live: &mut Live, undo: Option<Undo>) {
    if let Some(undo) = undo {
        (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
    }
}

fn let_go(live: &mut Live, state: State) {
    live.state = state;
    live.worker = None;
    live.pool = None;
    live.reserved_ms = 0;
}

fn not_there(what: &str, seq: Seq) -> String {
    format!("cannot {what} job {seq}: it is not where it should be")
}
