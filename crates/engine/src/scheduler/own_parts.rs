//! Tenants' own parts of shared keys. While one is paused, the tenant's jobs of the key wait, and nobody
//! else's. A part counts nothing: its jobs count for the key.

use rota_model::{ClassId, LimitNumbers};

use super::Scheduler;
use super::limits::{GateIx, LimitIx};
use crate::tenant::TenantIx;

impl Scheduler {
    /// The own part of a key was paused (`part`), or is no longer. Lanes move when they are next checked.
    pub(super) fn set_own_part(
        &mut self,
        shared: LimitIx,
        tenant: TenantIx,
        part: Option<LimitIx>,
    ) {
        let current = self.limits.limit(shared).own_parts.get(&tenant).copied();
        match (current, part) {
            (None, Some(part)) => {
                let gate = self.limits.use_gate(part, LimitNumbers::default(), None);
                self.limits.limit_mut(shared).own_parts.insert(tenant, gate);
            }
            (Some(gate), None) => {
                self.limits.limit_mut(shared).own_parts.remove(&tenant);
                self.limits.leave_gate(gate);
            }
            _ => {}
        }
    }

    /// The gate of the tenant's own part of a class's key, while that is paused.
    pub(super) fn own_part_of(&self, class: ClassId) -> Option<GateIx> {
        let rules = self.class(class);
        let key = self.limits.gate(*rules.gates.first()?).limit;
        self.limits.limit(key).own_parts.get(&rules.tenant).copied()
    }
}
