//! A store in memory with the semantics and integrity checks of the real ones. It holds only what was applied to
//! it, so dropping everything else simulates a crash.

mod apply;
mod stored_bytes;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use rota_model::audit::{AuditRow, AuditStub};
use rota_model::{
    Class, ClassId, DeadShardId, Done, DueReplay, ErrorRow, JobId, Live, Millis, Replays, Seq,
};
use rota_store::{
    Applied, Batch, Counts, Found, HistoryRow, JobRow, Loaded, NewRow, Period, RowKind, Sink,
};

#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    meta: Loaded,
    classes: BTreeMap<ClassId, Arc<Class>>,
    counts: BTreeMap<ClassId, Counts>,
    jobs: BTreeMap<Seq, NewRow>,
    ids: BTreeMap<JobId, Seq>,
    live: BTreeMap<Seq, Live>,
    done: BTreeMap<Seq, Done>,
    errors: BTreeMap<Seq, Vec<ErrorRow>>,
    replays: BTreeMap<Seq, Bytes>,
    named: BTreeMap<(RowKind, Arc<str>), Bytes>,
    history: BTreeMap<(Period, Arc<str>, Millis), Bytes>,
    journal: BTreeMap<u64, Bytes>,
    audit: BTreeMap<u64, AuditRow>,
}

impl MemoryStore {
    /// Applies a batch. An error is a broken invariant, never an ordinary answer.
    pub fn apply_batch(&mut self, batch: &Batch) -> Result<Applied, String> {
        if batch.number != self.meta.number + 1 {
            return Err(format!("batch {} does not follow {}", batch.number, self.meta.number));
        }
        if batch.now < self.meta.now || batch.next_seq < self.meta.next_seq {
            return Err(format!("batch {} goes back", batch.number));
        }
        let mut freed = BTreeMap::new();
        for mutation in &batch.mutations {
            let before = self.bytes_before(mutation);
            self.apply(batch.number, mutation)
                .map_err(|problem| format!("batch {}: {problem}", batch.number))?;
            if let Some((tenant, bytes)) = self.freed_by(mutation, before) {
                *freed.entry(tenant).or_default() += bytes;
            }
        }
        if let Some((seq, _)) = self.jobs.last_key_value()
            && *seq >= batch.next_seq
        {
            return Err(format!("job {seq} is not below {}", batch.next_seq));
        }
        self.meta = self.meta.after(batch);
        Ok(Applied { freed: freed.into_iter().collect() })
    }

    /// Everything an engine keeps in memory. Classes go through their JSON, as on a real disk.
    pub fn load(&self, sink: &mut dyn Sink) -> Result<Loaded, String> {
        for (&id, class) in &self.classes {
            let json = serde_json::to_vec(&**class).map_err(|e| e.to_string())?;
            let class = serde_json::from_slice(&json).map_err(|e| e.to_string())?;
            sink.class(id, class, self.counts_of(id));
        }
        for (tenant, bytes) in self.stored_bytes() {
            sink.stored(tenant, bytes);
        }
        for ((kind, name), json) in &self.named {
            sink.named(*kind, name.clone(), json.clone());
        }
        for live in self.live.values() {
            sink.live(live.clone());
        }
        let first = Period::first_read(self.meta.now);
        for ((period, queue, at), data) in &self.history {
            if *period == Period::Minute && *at >= first {
                let (queue, data) = (queue.clone(), data.clone());
                sink.history(HistoryRow { period: *period, at: *at, queue, data });
            }
        }
        for (number, data) in &self.journal {
            sink.journal(*number, data.clone());
        }
        Ok(self.meta)
    }

    #[must_use]
    pub fn loaded(&self) -> Loaded {
        self.meta
    }

    #[must_use]
    pub fn resolve(&self, id: JobId) -> Option<Found> {
        let seq = *self.ids.get(&id)?;
        let row = self.place(seq)?;
        Some(Found { seq, id, row })
    }

    /// A finished job's result is left out.
    #[must_use]
    pub fn place(&self, seq: Seq) -> Option<JobRow> {
        if let Some(live) = self.live.get(&seq) {
            return Some(JobRow::Live(live.clone()));
        }
        let done = self.done.get(&seq)?;
        Some(JobRow::Done(Done { result: None, ..done.clone() }))
    }

    #[must_use]
    pub fn row(&self, seq: Seq) -> Option<&NewRow> {
        self.jobs.get(&seq)
    }

    pub fn seqs(&self) -> impl Iterator<Item = Seq> {
        self.jobs.keys().copied()
    }

    /// Finished jobs whose retention has passed, the longest overdue first.
    #[must_use]
    pub fn overdue(&self, now: Millis, limit: usize) -> Vec<Done> {
        let mut overdue: Vec<_> = self
            .done
            .values()
            .filter(|done| done.purge_at.is_some_and(|at| at <= now))
            .cloned()
            .collect();
        overdue.sort_by_key(|done| (done.purge_at, done.seq));
        overdue.truncate(limit);
        overdue
    }

    /// Jobs of the dead letter whose replay is due, the longest due first.
    #[must_use]
    pub fn due_replays(&self, now: Millis, limit: usize) -> Vec<DueReplay> {
        let replay_at = |done: &Done| done.dead.as_ref().and_then(|dead| dead.replay_at);
        let mut due: Vec<&Done> =
            self.done.values().filter(|done| replay_at(done).is_some_and(|at| at <= now)).collect();
        due.sort_by_key(|done| (replay_at(done), done.seq));
        due.truncate(limit);
        let replay = |done: &Done| DueReplay {
            seq: done.seq,
            id: self.jobs[&done.seq].id,
            done: Done { result: None, ..done.clone() },
            replays: self.replays.get(&done.seq).map_or_else(Replays::default, |json| {
                serde_json::from_slice(json).expect("the engine wrote it")
            }),
        };
        due.into_iter().map(replay).collect()
    }

    /// The oldest jobs of a dead letter, and when they were discarded.
    #[must_use]
    pub fn oldest_dead(&self, shard: DeadShardId, limit: usize) -> Vec<(JobId, Millis)> {
        let is_here = |done: &&Done| done.dead.as_ref().is_some_and(|dead| dead.shard == shard);
        let mut oldest: Vec<&Done> = self.done.values().filter(is_here).collect();
        oldest.sort_by_key(|done| (done.at, done.seq));
        oldest.truncate(limit);
        oldest.into_iter().map(|done| (self.jobs[&done.seq].id, done.at)).collect()
    }

    #[must_use]
    pub fn counts_of(&self, class: ClassId) -> Counts {
        self.counts.get(&class).copied().unwrap_or_default()
    }

    pub fn classes(&self) -> impl Iterator<Item = ClassId> {
        self.classes.keys().copied()
    }

    /// The entries of the audit log, oldest first.
    pub fn audit_rows(&self) -> impl Iterator<Item = &AuditRow> {
        self.audit.values()
    }

    /// The oldest entries of the audit log.
    #[must_use]
    pub fn oldest_audit(&self, limit: usize) -> Vec<AuditStub> {
        let stub = |row: &AuditRow| AuditStub { number: row.number, at: row.at, hash: row.hash };
        self.audit.values().take(limit).map(stub).collect()
    }

    #[must_use]
    pub fn named_row(&self, kind: RowKind, name: &str) -> Option<&Bytes> {
        self.named.get(&(kind, name.into()))
    }

    /// For proving that such a loss is noticed.
    pub fn drop_an_audit_entry(&mut self) {
        self.audit.pop_first();
    }

    /// For proving that such a loss is noticed.
    pub fn drop_a_row(&mut self) -> bool {
        let Some((seq, _)) = self.live.pop_last() else {
            return false;
        };
        if let Some(row) = self.jobs.remove(&seq) {
            self.ids.remove(&row.id);
        }
        true
    }

    /// For proving that such a loss is noticed.
    pub fn forget_journal(&mut self) {
        self.journal.clear();
    }

    /// For proving that such a mistake is noticed.
    pub fn miscount(&mut self) -> bool {
        let Some(id) = self.classes.keys().next() else {
            return false;
        };
        self.counts.entry(*id).or_default().0[0] += 1;
        true
    }
}
