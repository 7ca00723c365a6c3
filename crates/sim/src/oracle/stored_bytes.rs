//! Counts the bytes that each tenant has stored, and compares them with what the engine and the store say.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use rota_engine::Engine;
use rota_model::{Seq, TenantId};
use rota_store::{ERRORS_KEPT, Mutation, RowKind};

use super::violation::{Check, Rule, ensure};
use super::world::World;
use crate::MemoryStore;

#[derive(Clone, Default)]
pub struct StoredBytes {
    jobs: BTreeMap<Seq, JobBytes>,
    schedules: BTreeMap<String, (TenantId, u64)>,
    /// Includes what is gone, but not known to be.
    by_tenant: BTreeMap<TenantId, u64>,
    /// What a batch removed whose commit was not reported to the engine: the batch, whose, and how much.
    unreported: VecDeque<(u64, TenantId, u64)>,
}

#[derive(Clone)]
struct JobBytes {
    tenant: TenantId,
    body: u64,
    result: u64,
    errors: VecDeque<u64>,
    replays: u64,
}

impl JobBytes {
    fn all(&self) -> u64 {
        self.body + self.result + self.replays + self.errors.iter().sum::<u64>()
    }
}

fn size(bytes: &Bytes) -> u64 {
    bytes.len() as u64
}

impl StoredBytes {
    pub fn of(&self, tenant: &TenantId) -> u64 {
        self.by_tenant.get(tenant).copied().unwrap_or(0)
    }

    /// The engine has been told of all commits up to this one.
    pub fn reported(&mut self, batch: u64) {
        let removed = self.unreported.iter().take_while(|(by, ..)| *by <= batch).count();
        for (_, tenant, bytes) in self.unreported.drain(..removed) {
            *self.by_tenant.entry(tenant).or_default() -= bytes;
        }
    }

    /// Applies a change that this batch makes durable.
    fn apply(&mut self, mutation: &Mutation, batch: u64, new_job_of: Option<&TenantId>) {
        let seq = match mutation {
            Mutation::Insert(row, _) => row.seq,
            Mutation::Finish(finish) => finish.seq,
            Mutation::Rewrite(rewrite) => rewrite.seq,
            Mutation::Error(error) => error.seq,
            Mutation::Replayed(seq, _) | Mutation::Revive { seq, .. } | Mutation::Delete(seq) => {
                *seq
            }
            _ => return self.apply_to_schedule(mutation),
        };
        if let (Mutation::Insert(row, _), Some(tenant)) = (mutation, new_job_of) {
            let (tenant, body) = (tenant.clone(), size(&row.body));
            let job = JobBytes { tenant, body, result: 0, errors: VecDeque::new(), replays: 0 };
            *self.by_tenant.entry(job.tenant.clone()).or_default() += body;
            self.jobs.insert(seq, job);
            return;
        }
        let Some(job) = self.jobs.get_mut(&seq) else { return };
        let before = job.all();
        let written = written_by(mutation);
        match mutation {
            Mutation::Finish(_) => job.result = written,
            Mutation::Rewrite(_) => job.body = written,
            Mutation::Replayed(..) => job.replays = written,
            Mutation::Revive { .. } => job.result = 0,
            Mutation::Error(_) => {
                job.errors.push_back(written);
                if job.errors.len() > ERRORS_KEPT {
                    job.errors.pop_front();
                }
            }
            _ => {}
        }
        let deleted = matches!(mutation, Mutation::Delete(_));
        let after = if deleted { 0 } else { job.all() };
        let tenant = job.tenant.clone();
        *self.by_tenant.entry(tenant.clone()).or_default() += written;
        self.unreported.push_back((batch, tenant, before + written - after));
        if deleted {
            self.jobs.remove(&seq);
        }
    }

    fn apply_to_schedule(&mut self, mutation: &Mutation) {
        let (name, row) = match mutation {
            Mutation::Put(RowKind::Cron, name, json) => (name, Some(json)),
            Mutation::Remove(RowKind::Cron, name) => (name, None),
            _ => return,
        };
        if let Some((tenant, bytes)) = self.schedules.remove(&**name) {
            *self.by_tenant.entry(tenant).or_default() -= bytes;
        }
        let Some(json) = row else { return };
        let row: serde_json::Value = serde_json::from_slice(json).expect("the engine wrote it");
        let tenant = row["class"]["tenant"].as_str().and_then(|id| TenantId::parse(id).ok());
        let tenant = tenant.expect("a schedule has a tenant");
        *self.by_tenant.entry(tenant.clone()).or_default() += size(json);
        self.schedules.insert(name.to_string(), (tenant, size(json)));
    }
}

/// The bytes that a change of a job writes.
pub(super) fn written_by(mutation: &Mutation) -> u64 {
    match mutation {
        Mutation::Insert(row, _) => size(&row.body),
        Mutation::Finish(finish) => finish.result.as_ref().map_or(0, size),
        Mutation::Rewrite(rewrite) => size(&rewrite.body),
        Mutation::Error(error) => size(&error.json),
        Mutation::Replayed(_, json) | Mutation::Put(RowKind::Cron, _, json) => size(json),
        _ => 0,
    }
}

impl World {
    pub(super) fn count_bytes(&mut self, mutation: &Mutation, batch: u64) {
        let new_job_of = match mutation {
            Mutation::Insert(row, _) => self.classes.get(&row.class).map(|class| &class.tenant),
            _ => None,
        };
        self.stored.apply(mutation, batch, new_job_of);
    }

    /// The engine's counts are right.
    pub(super) fn check_stored_bytes(&self, engine: &Engine) -> Check {
        for (tenant, bytes) in &self.stored.by_tenant {
            let shown = engine.stored_bytes(tenant);
            ensure(shown == *bytes, Rule::Counts, || {
                format!("{tenant} is said to have {shown} bytes stored, and has {bytes}")
            })?;
        }
        let shown = engine.all_stored_bytes();
        let all: u64 = self.stored.by_tenant.values().sum();
        ensure(shown == all, Rule::Counts, || format!("{shown} bytes are shown, {all} are stored"))
    }

    /// The store has the bytes that were committed.
    pub(super) fn check_bytes_in(&self, store: &MemoryStore) -> Check {
        let mut sums: BTreeMap<TenantId, u64> = BTreeMap::new();
        for job in self.stored.jobs.values() {
            *sums.entry(job.tenant.clone()).or_default() += job.all();
        }
        let kept = store.stored_bytes();
        ensure(kept == sums, Rule::Counts, || format!("bytes: {kept:?} kept, {sums:?} counted"))
    }
}
