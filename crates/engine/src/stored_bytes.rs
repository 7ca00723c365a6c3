//! Counting the bytes that tenants have stored: bodies, results, errors and records of replays of their jobs,
//! and their schedules.
//!
//! The engine counts what it writes when it decides to. It does not know the size of what it removes; the
//! store does, and reports it with the commit. So what is about to be removed counts until it is gone.

use rota_model::{ClassId, TenantId};

use crate::Engine;
use crate::cron::Cron;

impl Engine {
    /// A commit has removed these bytes of tenants' jobs.
    pub fn note_freed(&mut self, freed: &[(TenantId, u64)]) {
        freed.iter().for_each(|(tenant, bytes)| self.tenants.count_freed(tenant, *bytes));
    }

    /// The bytes that a tenant has stored, or is about to.
    #[must_use]
    pub fn stored_bytes(&self, tenant: &TenantId) -> u64 {
        self.tenants.stored_bytes(tenant)
    }

    /// The same of all tenants.
    #[must_use]
    pub fn all_stored_bytes(&self) -> u64 {
        self.tenants.all_stored()
    }

    /// Counts bytes that the current batch writes for a job.
    pub(crate) fn count_stored(&mut self, class: ClassId, bytes: usize) {
        self.tenants.count_stored(self.classes.slot(class).tenant, bytes as u64);
    }

    /// The row of a schedule has this size from now on, or is gone.
    pub(crate) fn count_schedule(&mut self, cron: &mut Cron, bytes: u64) {
        let tenant = &cron.row.class.tenant;
        self.tenants.count_freed(tenant, cron.row_bytes);
        self.tenants.count_stored_of(tenant, bytes);
        cron.row_bytes = bytes;
    }
}
