//! What connections have subscribed to, for clients that come back with an event's id.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rota_engine::Cap;
use rota_model::TenantId;

use super::request::Subscribe;

/// The subscriptions of open connections and of some that are closed. Open ones count as well: a client
/// that has lost its connection is often back before the server notices the loss.
///
/// As many closed connections as may be open are remembered, of each tenant and in all. The oldest is
/// forgotten first: the tenant's own if it has as many as it may.
#[derive(Clone)]
pub(in super::super::super) struct Remembered(Arc<Mutex<Table>>);

struct Table {
    cap: Cap,
    next: u64,
    open: HashMap<u64, Connection>,
    closed_by_age: BTreeMap<u64, Connection>,
    /// The key in `closed_by_age` of each closed connection.
    age_of: HashMap<u64, u64>,
    ages_of_tenant: HashMap<Option<TenantId>, BTreeMap<u64, ()>>,
}

struct Connection {
    session: u64,
    tenant: Option<TenantId>,
    subscriptions: Vec<Subscribe>,
}

/// The entry of an open connection. When it is dropped, the connection counts as closed.
pub(super) struct OpenEntry {
    remembered: Remembered,
    session: u64,
    tenant: Option<TenantId>,
}

impl Remembered {
    pub fn new(cap: Cap) -> Self {
        Self(Arc::new(Mutex::new(Table {
            cap,
            next: 0,
            open: HashMap::new(),
            closed_by_age: BTreeMap::new(),
            age_of: HashMap::new(),
            ages_of_tenant: HashMap::new(),
        })))
    }

    pub(super) fn open(&self, session: u64, tenant: Option<TenantId>) -> OpenEntry {
        OpenEntry { remembered: self.clone(), session, tenant }
    }

    /// What a connection of the same caller has or had subscribed to. It is kept, because the answer may be
    /// lost with the connection that it is sent on.
    pub(super) fn find(&self, session: u64, tenant: Option<&TenantId>) -> Option<Vec<Subscribe>> {
        let table = self.lock();
        let closed = || table.closed_by_age.get(table.age_of.get(&session)?);
        let found = table.open.get(&session).or_else(closed)?;
        (found.tenant.as_ref() == tenant).then(|| found.subscriptions.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenEntry {
    /// Replaces what is remembered of the connection.
    pub fn set(&self, subscriptions: Vec<Subscribe>) {
        let mut table = self.remembered.lock();
        if subscriptions.is_empty() {
            table.open.remove(&self.session);
            return;
        }
        let (session, tenant) = (self.session, self.tenant.clone());
        table.open.insert(session, Connection { session, tenant, subscriptions });
    }
}

impl Drop for OpenEntry {
    fn drop(&mut self) {
        let mut table = self.remembered.lock();
        if let Some(connection) = table.open.remove(&self.session) {
            table.add_closed(connection);
        }
    }
}

impl Table {
    fn add_closed(&mut self, connection: Connection) {
        self.make_room(connection.tenant.as_ref());
        let age = self.next;
        self.next += 1;
        self.age_of.insert(connection.session, age);
        self.ages_of_tenant.entry(connection.tenant.clone()).or_default().insert(age, ());
        self.closed_by_age.insert(age, connection);
    }

    fn make_room(&mut self, tenant: Option<&TenantId>) {
        let own = self.ages_of_tenant.get(&tenant.cloned());
        let is_full =
            |own: &&BTreeMap<u64, ()>| tenant.is_some() && own.len() >= self.cap.per_tenant;
        let oldest_own = own.filter(is_full).and_then(|own| own.keys().next().copied());
        let is_at_total = self.closed_by_age.len() >= self.cap.total;
        let oldest = || is_at_total.then(|| self.closed_by_age.keys().next().copied()).flatten();
        if let Some(age) = oldest_own.or_else(oldest) {
            self.remove(age);
        }
    }

    fn remove(&mut self, age: u64) {
        let Some(connection) = self.closed_by_age.remove(&age) else { return };
        self.age_of.remove(&connection.session);
        if let Some(own) = self.ages_of_tenant.get_mut(&connection.tenant) {
            own.remove(&age);
            if own.is_empty() {
                self.ages_of_tenant.remove(&connection.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Vec<Subscribe> {
        vec![Subscribe { channel: "all".to_owned(), event_types: None, filter: None }]
    }

    fn open_and_close(remembered: &Remembered, session: u64, tenant: Option<&TenantId>) {
        remembered.open(session, tenant.cloned()).set(one());
    }

    #[test]
    fn a_tenant_that_comes_and_goes_pushes_out_its_own_connections() {
        let remembered = Remembered::new(Cap { total: 3, per_tenant: 2 });
        let (acme, beta) = (TenantId::parse("acme").ok(), TenantId::parse("beta").ok());
        open_and_close(&remembered, 1, beta.as_ref());
        (2..=9).for_each(|session| open_and_close(&remembered, session, acme.as_ref()));
        assert!(remembered.find(7, acme.as_ref()).is_none());
        assert!(remembered.find(9, beta.as_ref()).is_none(), "another's");
        assert!(remembered.find(9, acme.as_ref()).is_some());
        assert!(remembered.find(1, beta.as_ref()).is_some());
        (10..=15).for_each(|session| open_and_close(&remembered, session, None));
        assert!(remembered.find(8, acme.as_ref()).is_none(), "the total holds");
        assert_eq!(remembered.lock().closed_by_age.len(), 3);
    }

    #[test]
    fn an_open_connection_is_found_as_long_as_it_has_subscriptions() {
        let remembered = Remembered::new(Cap { total: 3, per_tenant: 2 });
        let entry = remembered.open(1, None);
        assert!(remembered.find(1, None).is_none());
        entry.set(one());
        assert!(remembered.find(1, TenantId::parse("acme").ok().as_ref()).is_none(), "another's");
        assert!(remembered.find(1, None).is_some());
        entry.set(Vec::new());
        assert!(remembered.find(1, None).is_none());
        drop(entry);
        let table = remembered.lock();
        assert!(table.open.is_empty() && table.closed_by_age.is_empty());
    }
}
