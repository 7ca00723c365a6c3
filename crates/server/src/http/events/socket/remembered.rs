//! Subscriptions of connections that have ended, for clients that come back with an event's id.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rota_engine::Cap;
use rota_model::TenantId;

use super::request::Subscribe;

/// As many connections as may be open are remembered, of each tenant and in all. The oldest is forgotten
/// first: the tenant's own if it has as many as it may.
#[derive(Clone)]
pub(in super::super::super) struct Remembered(Arc<Mutex<Table>>);

struct Table {
    cap: Cap,
    next: u64,
    by_age: BTreeMap<u64, Connection>,
    by_session: HashMap<u64, u64>,
    of_tenant: HashMap<Option<TenantId>, BTreeMap<u64, ()>>,
}

struct Connection {
    session: u64,
    tenant: Option<TenantId>,
    subscriptions: Vec<Subscribe>,
}

impl Remembered {
    pub fn new(cap: Cap) -> Self {
        Self(Arc::new(Mutex::new(Table {
            cap,
            next: 0,
            by_age: BTreeMap::new(),
            by_session: HashMap::new(),
            of_tenant: HashMap::new(),
        })))
    }

    pub(super) fn add(
        &self,
        session: u64,
        tenant: Option<TenantId>,
        subscriptions: Vec<Subscribe>,
    ) {
        if subscriptions.is_empty() {
            return;
        }
        let mut table = self.lock();
        table.make_room(tenant.as_ref());
        let age = table.next;
        table.next += 1;
        table.by_session.insert(session, age);
        table.of_tenant.entry(tenant.clone()).or_default().insert(age, ());
        table.by_age.insert(age, Connection { session, tenant, subscriptions });
    }

    /// What a connection of the same caller had subscribed to; it is forgotten here.
    pub(super) fn take(&self, session: u64, tenant: Option<&TenantId>) -> Option<Vec<Subscribe>> {
        let mut table = self.lock();
        let age = *table.by_session.get(&session)?;
        let is_callers =
            table.by_age.get(&age).is_some_and(|found| found.tenant.as_ref() == tenant);
        if !is_callers {
            return None;
        }
        table.remove(age).map(|connection| connection.subscriptions)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn make_room(&mut self, tenant: Option<&TenantId>) {
        let own = self.of_tenant.get(&tenant.cloned());
        let is_full =
            |own: &&BTreeMap<u64, ()>| tenant.is_some() && own.len() >= self.cap.per_tenant;
        let oldest_own = own.filter(is_full).and_then(|own| own.keys().next().copied());
        let is_at_total = self.by_age.len() >= self.cap.total;
        let oldest = || is_at_total.then(|| self.by_age.keys().next().copied()).flatten();
        if let Some(age) = oldest_own.or_else(oldest) {
            self.remove(age);
        }
    }

    fn remove(&mut self, age: u64) -> Option<Connection> {
        let connection = self.by_age.remove(&age)?;
        self.by_session.remove(&connection.session);
        if let Some(own) = self.of_tenant.get_mut(&connection.tenant) {
            own.remove(&age);
            if own.is_empty() {
                self.of_tenant.remove(&connection.tenant);
            }
        }
        Some(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Vec<Subscribe> {
        vec![Subscribe { channel: "all".to_owned(), event_types: None, filter: None }]
    }

    #[test]
    fn a_tenant_that_comes_and_goes_pushes_out_its_own_connections() {
        let remembered = Remembered::new(Cap { total: 3, per_tenant: 2 });
        let (acme, beta) = (TenantId::parse("acme").ok(), TenantId::parse("beta").ok());
        remembered.add(1, beta.clone(), one());
        (2..=9).for_each(|session| remembered.add(session, acme.clone(), one()));
        assert!(remembered.take(7, acme.as_ref()).is_none());
        assert!(remembered.take(9, beta.as_ref()).is_none(), "another's");
        assert!(remembered.take(9, acme.as_ref()).is_some());
        assert!(remembered.take(9, acme.as_ref()).is_none(), "taken");
        assert!(remembered.take(1, beta.as_ref()).is_some());
        (10..=15).for_each(|session| remembered.add(session, None, one()));
        assert!(remembered.take(8, acme.as_ref()).is_none(), "the total holds");
        assert_eq!(remembered.lock().by_age.len(), 3);
    }
}
