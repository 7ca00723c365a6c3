//! What a store would make of the mutations.

use rota_model::mutation::{HistoryRow, Mutation, Period};
use rota_model::usage::UsagePer;

use super::World;
use rota_model::{Done, Live};

impl World {
    /// What a start reads of the history.
    pub(super) fn recent_history(&self) -> Vec<HistoryRow> {
        let first = Period::first_read(self.engine.now().wall);
        let rows = self.history_rows.values();
        rows.filter(|row| row.period == Period::Minute && row.at >= first).cloned().collect()
    }

    pub(super) fn store(&mut self, mutation: Mutation) {
        match mutation {
            Mutation::Class(id, class) => {
                self.classes.insert(id.0, (*class).clone());
            }
            Mutation::DropClass(id) => {
                self.classes.remove(&id.0);
                self.counts.remove(&id.0);
            }
            Mutation::Insert(_, live) => {
                self.live.insert(live.seq, *live);
            }
            Mutation::Claim(claim) => {
                let live = self.live.get_mut(&claim.seq).unwrap();
                live.state = rota_model::State::Active;
                (live.attempt, live.worker) = (claim.attempt, claim.worker);
                (live.due, live.started) = (Some(claim.due), Some(claim.started));
                (live.reserved_ms, live.pool) = (claim.reserved_ms, claim.pool);
            }
            Mutation::Ready(ready) => {
                let live = self.live.get_mut(&ready.seq).unwrap();
                (live.state, live.due) = (rota_model::State::Available, None);
                live.marked = ready.held;
                (live.worker, live.pool) = (None, None);
                if let Some(undo) = ready.undo {
                    (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
                }
            }
            Mutation::RequestCancel(seq) => self.live.get_mut(&seq).unwrap().marked = true,
            Mutation::Backoff(backoff) => {
                let live = self.live.get_mut(&backoff.seq).unwrap();
                (live.state, live.due) = (rota_model::State::Retryable, Some(backoff.due));
                (live.worker, live.pool) = (None, None);
                if let Some(undo) = backoff.undo {
                    (live.attempt, live.pauses) = (undo.attempt, undo.pauses);
                }
            }
            Mutation::Postpone { seq, due } => {
                let live = self.live.get_mut(&seq).unwrap();
                (live.state, live.due) = (rota_model::State::Scheduled, Some(due));
                live.marked = true;
            }
            Mutation::Extend { seq, due, reserved_ms } => {
                let live = self.live.get_mut(&seq).unwrap();
                (live.due, live.reserved_ms) = (Some(due), reserved_ms);
            }
            Mutation::Finish(finish) => {
                let live = self.live.remove(&finish.seq).unwrap();
                let done = Done {
                    seq: live.seq,
                    class: live.class,
                    bytes: live.bytes,
                    ending: finish.ending,
                    at: finish.at,
                    attempt: live.attempt,
                    enqueued: live.enqueued,
                    started: live.started,
                    expires: live.expires,
                    purge_at: finish.purge_at,
                    result: finish.result,
                    dead: None,
                };
                self.done.insert(live.seq, done);
            }
            Mutation::Bury(seq, dead) => self.done.get_mut(&seq).unwrap().dead = Some(*dead),
            Mutation::Rewrite(rewrite) => {
                let live = self.live.get_mut(&rewrite.seq).unwrap();
                (live.class, live.bytes) = (rewrite.class, rewrite.body.len() as u32);
            }
            Mutation::Replayed(..) => {}
            Mutation::Revive { seq, enqueued } => {
                let done = self.done.remove(&seq).unwrap();
                self.live.insert(seq, Live::ready(seq, done.class, enqueued, done.bytes));
            }
            Mutation::Delete(seq) => {
                let known = self.live.remove(&seq).is_some() | self.done.remove(&seq).is_some();
                assert!(known, "a job that is deleted is there");
                self.errors.retain(|error| error.seq != seq);
            }
            Mutation::Error(error) => self.errors.push(error),
            Mutation::Counts(id, counts) => {
                self.counts.insert(id.0, counts);
            }
            Mutation::Purged(through) => self.purged = Some(through),
            Mutation::Put(kind, name, json) => {
                self.written += name.len() + json.len();
                self.rows.insert((kind, name.to_string()), json.to_vec());
            }
            Mutation::Remove(kind, name) => {
                self.rows.remove(&(kind, name.to_string()));
            }
            Mutation::Journal(data) => {
                self.journal.insert(self.number, data.to_vec());
            }
            Mutation::History(row) => {
                let interval = serde_json::from_slice(&row.data).unwrap();
                let key = (row.period.ms(), row.queue.to_string(), row.at.0);
                self.history_rows.insert(key.clone(), row);
                self.history.insert(key, interval);
            }
            Mutation::ForgetHistoryOf(queue) => {
                self.history.retain(|(_, name, _), _| **name != *queue);
                self.history_rows.retain(|(_, name, _), _| **name != *queue);
            }
            Mutation::AddUsage(row) => {
                for per in UsagePer::ALL {
                    let key = (row.tenant.to_string(), per.code(), per.start_of(row.at).0);
                    self.usage.entry(key).or_default().add(&row.usage);
                }
            }
            Mutation::ForgetUsage { per, before, .. } => {
                self.usage.retain(|(_, of, at), _| *of != per.code() || *at >= before.0);
            }
            Mutation::ForgetTenantUsage(tenant) => {
                self.usage.retain(|(name, ..), _| **name != *tenant);
            }
            Mutation::Audit(row) => {
                assert_eq!(row.number, self.audited + 1, "entries are numbered without gaps");
                self.audited = row.number;
            }
            Mutation::TrimAudit(through) => assert!(through <= self.audited),
            Mutation::TrimJournal(before) => self.journal = self.journal.split_off(&before),
            Mutation::ForgetHistory { period, before, .. } => {
                let keep = |ms: i64, at: i64| ms != period.ms() || at >= before.0;
                self.history.retain(|(ms, _, at), _| keep(*ms, *at));
                self.history_rows.retain(|(ms, _, at), _| keep(*ms, *at));
            }
        }
    }
}
