//! What a store would make of the mutations.

use rota_model::mutation::{HistoryRow, Mutation, Period};
use rota_model::usage::UsagePer;

use rota_model::row::JobRow;
use rota_model::{JobChange, Seq};

use super::World;

impl World {
    /// What a start reads of the history.
    pub(super) fn recent_history(&self) -> Vec<HistoryRow> {
        let first = Period::first_read(self.engine.now().wall);
        let rows = self.history_rows.values();
        rows.filter(|row| row.period == Period::Minute && row.at >= first).cloned().collect()
    }

    pub(super) fn store(&mut self, mutation: Mutation) {
        if let Some((seq, change)) = JobChange::of(&mutation) {
            return self.change(seq, &change);
        }
        match mutation {
            Mutation::Class(id, class) => {
                self.classes.insert(id.0, (*class).clone());
            }
            Mutation::DropClass(id) => {
                self.classes.remove(&id.0);
                self.counts.remove(&id.0);
            }
            Mutation::Replayed(..) => {}
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
            job => unreachable!("{job:?} changes a job"),
        }
    }

    fn change(&mut self, seq: Seq, change: &JobChange) {
        let live = self.live.remove(&seq).map(JobRow::Live);
        let mut row = live.or_else(|| self.done.remove(&seq).map(JobRow::Done));
        assert!(change.apply(&mut row), "{change:?} does not fit job {seq}, which is {row:?}");
        match row {
            Some(JobRow::Live(live)) => drop(self.live.insert(seq, live)),
            Some(JobRow::Done(done)) => drop(self.done.insert(seq, done)),
            None => self.errors.retain(|error| error.seq != seq),
        }
    }
}
