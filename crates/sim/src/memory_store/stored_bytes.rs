//! The bytes of tenants' jobs: recounted from the rows, and freed by mutations.

use std::collections::BTreeMap;

use bytes::Bytes;
use rota_model::{Seq, TenantId};
use rota_store::Mutation;

use super::MemoryStore;

impl MemoryStore {
    /// The bytes of each tenant's jobs.
    #[must_use]
    pub fn stored_bytes(&self) -> BTreeMap<TenantId, u64> {
        let mut stored = BTreeMap::new();
        for seq in self.jobs.keys() {
            if let Some((tenant, bytes)) = self.bytes_of(*seq) {
                *stored.entry(tenant).or_default() += bytes;
            }
        }
        stored
    }

    fn bytes_of(&self, seq: Seq) -> Option<(TenantId, u64)> {
        let row = self.jobs.get(&seq)?;
        let tenant = self.classes.get(&row.class)?.tenant.clone();
        let result = self.done.get(&seq).and_then(|done| done.result.as_ref());
        let errors = self.errors.get(&seq).into_iter().flatten().map(|error| &error.json);
        let parts = errors.chain(result).chain(self.replays.get(&seq)).chain([&row.body]);
        Some((tenant, parts.map(|part| part.len() as u64).sum()))
    }

    /// The bytes of the job that a mutation is about to change.
    pub(super) fn bytes_before(&self, mutation: &Mutation) -> Option<(TenantId, u64)> {
        self.bytes_of(change_of(mutation)?.0)
    }

    /// What the mutation removed: what there was and what came in, without what there is.
    pub(super) fn freed_by(
        &self,
        mutation: &Mutation,
        before: Option<(TenantId, u64)>,
    ) -> Option<(TenantId, u64)> {
        let (seq, written) = change_of(mutation)?;
        let (tenant, before) = before?;
        let after = self.bytes_of(seq).map_or(0, |(_, bytes)| bytes);
        let freed = before + written.map_or(0, |written| written.len() as u64) - after;
        (freed > 0).then_some((tenant, freed))
    }
}

/// The job whose bytes a mutation changes, and what it writes.
fn change_of(mutation: &Mutation) -> Option<(Seq, Option<&Bytes>)> {
    Some(match mutation {
        Mutation::Finish(finish) => (finish.seq, finish.result.as_ref()),
        Mutation::Rewrite(rewrite) => (rewrite.seq, Some(&rewrite.body)),
        Mutation::Error(error) => (error.seq, Some(&error.json)),
        Mutation::Replayed(seq, json) => (*seq, Some(json)),
        Mutation::Revive { seq, .. } | Mutation::Delete(seq) => (*seq, None),
        _ => return None,
    })
}
