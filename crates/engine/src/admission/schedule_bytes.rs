//! Whether a tenant's schedules may become larger: by the cap on their bytes, and by its `max_bytes`.

use rota_model::{Quota, TenantId};

use super::batch::Load;
use super::tenant_limits::ExceededLimit;
use crate::{Engine, Refusal};

impl Engine {
    /// Whether a tenant may store so many more bytes for a schedule. With a soft quota, `max_bytes` does not matter.
    pub(crate) fn check_schedule_bytes(
        &mut self,
        tenant: &TenantId,
        more: u64,
    ) -> Result<(), Refusal> {
        if more == 0 {
            return Ok(());
        }
        self.crons.check_byte_cap(self.asker(Some(tenant)), more)?;
        let maximum = match self.tenants.find(tenant) {
            Some(ix) if self.tenants.get(ix).quota() == Quota::Soft => None,
            Some(ix) => self.max_bytes_of(ix),
            None => self.config.max_bytes,
        };
        let load = Load { stored: more, ..Load::default() };
        let Some(refusal) = self.bytes_exceeded_by(tenant, maximum, &load) else { return Ok(()) };
        if let Some(exceeded) = ExceededLimit::of(&refusal) {
            self.emit_tenant_limit_exceeded(exceeded, false);
        }
        Err(refusal)
    }
}
