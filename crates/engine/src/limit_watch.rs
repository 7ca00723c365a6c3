//! Metrics of limits: how often jobs began to wait, and for how long.

use std::collections::BTreeMap;

use rota_model::TenantId;

use crate::scheduler::limits::LimitIx;
use crate::{LimitKind, Times};

#[derive(Default)]
pub(crate) struct LimitWatch(BTreeMap<LimitIx, LimitStats>);

#[derive(Default)]
struct LimitStats {
    exceeded: [u64; LimitKind::ALL.len()],
    waits: Option<Box<Times>>,
    /// The tenant whose job first used the key, if tenants share it.
    first_tenant: Option<TenantId>,
}

impl LimitWatch {
    pub fn count_exceeded(&mut self, limit: LimitIx, strategy: LimitKind) {
        self.0.entry(limit).or_default().exceeded[strategy as usize] += 1;
    }

    /// Jobs may start again, after `waited` ms.
    pub fn record_wait(&mut self, limit: LimitIx, waited: u64) {
        let waits = &mut self.0.entry(limit).or_default().waits;
        waits.get_or_insert_with(|| Box::new(Times::of_waits())).record(waited);
    }

    pub fn note_first_tenant(&mut self, limit: LimitIx, tenant: &TenantId) {
        let first = &mut self.0.entry(limit).or_default().first_tenant;
        first.get_or_insert_with(|| tenant.clone());
    }

    pub fn first_tenant(&self, limit: LimitIx) -> Option<&TenantId> {
        self.0.get(&limit)?.first_tenant.as_ref()
    }

    /// Times that jobs began to wait, by [`LimitKind`].
    pub fn times_exceeded(&self, limit: LimitIx) -> [u64; LimitKind::ALL.len()] {
        self.0.get(&limit).map_or_else(Default::default, |stats| stats.exceeded)
    }

    pub fn waits(&self, limit: LimitIx) -> Option<Times> {
        self.0.get(&limit)?.waits.as_deref().cloned()
    }

    pub fn forget(&mut self, limit: LimitIx) {
        self.0.remove(&limit);
    }
}
