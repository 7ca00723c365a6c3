//! The caps on open event streams, in total and per tenant.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rota_engine::{Asker, Cap, CapCounter, CapReached, Capped};
use rota_model::TenantId;

#[derive(Clone)]
pub(in super::super) struct Room(Arc<Mutex<CapCounter>>);

/// An open stream; there is room for another when it is dropped.
pub(in super::super) struct Open {
    room: Room,
    tenant: Option<TenantId>,
}

impl Room {
    pub fn new(cap: Cap) -> Self {
        Self(Arc::new(Mutex::new(CapCounter::new(Capped::EventStreams, cap))))
    }

    pub(super) fn open(
        &self,
        tenant: Option<TenantId>,
        configured: bool,
    ) -> Result<Open, CapReached> {
        let mut counter = self.counter();
        counter.check(Asker { tenant: tenant.as_ref(), configured })?;
        counter.add(tenant.as_ref());
        Ok(Open { room: self.clone(), tenant })
    }

    fn counter(&self) -> MutexGuard<'_, CapCounter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.room.counter().remove(self.tenant.as_ref());
    }
}
