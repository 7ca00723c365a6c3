//! The table of API keys.

use std::collections::{BTreeMap, BTreeSet};

use rota_identity::{ApiKey, KeyId};
use rota_model::{Millis, TenantId};

use crate::command::later;
use crate::{Asker, Cap, CapCounter, CapReached, Capped};

/// A change of a key that whoever checks requests must know before the command is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyChange {
    /// A key that is new or has changed.
    Put(Box<ApiKey>),
    Forgotten(KeyId),
}

pub(crate) struct Keys {
    all: BTreeMap<KeyId, ApiKey>,
    /// By owner, for lists; `None` for operators.
    by_owner: BTreeSet<(Option<TenantId>, KeyId)>,
    owned: CapCounter,
    /// Keys with an end, by the time at which they are forgotten.
    forget_at: BTreeSet<(Millis, KeyId)>,
    /// How long a key is kept after its end.
    retention_ms: u64,
    changes: Vec<KeyChange>,
}

impl Keys {
    pub fn new(cap: Cap, retention_ms: u64) -> Self {
        Self {
            all: BTreeMap::new(),
            by_owner: BTreeSet::new(),
            owned: CapCounter::new(Capped::Keys, cap),
            forget_at: BTreeSet::new(),
            retention_ms,
            changes: Vec::new(),
        }
    }

    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    pub fn get(&self, id: &KeyId) -> Option<&ApiKey> {
        self.all.get(id)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn count_of(&self, tenant: &TenantId) -> usize {
        self.owned.of(tenant)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ApiKey> {
        self.all.values()
    }

    /// Keys after this id, of all owners.
    pub fn after(&self, id: &str) -> impl Iterator<Item = &ApiKey> {
        let after = id.to_owned();
        let from = KeyId::parse(id).unwrap_or(KeyId::first());
        self.all.range(from..).map(|(_, key)| key).filter(move |key| key.id.as_str() > &*after)
    }

    /// Keys of one owner after this id.
    pub fn of(&self, owner: Option<TenantId>, after: &str) -> impl Iterator<Item = &ApiKey> {
        let id = after.to_owned();
        let from = KeyId::parse(after).unwrap_or(KeyId::first());
        let range = self.by_owner.range((owner.clone(), from)..);
        range
            .take_while(move |(other, _)| *other == owner)
            .filter(move |(_, key)| key.as_str() > &*id)
            .filter_map(|(_, key)| self.all.get(key))
    }

    /// Adds or replaces a key.
    pub fn put(&mut self, key: ApiKey) {
        self.changes.push(KeyChange::Put(Box::new(key.clone())));
        self.store(key);
    }

    /// Notes uses. Returns the keys that have changed.
    pub fn touch(&mut self, id: &KeyId, used: Millis) -> Option<&ApiKey> {
        let key = self.all.get_mut(id)?;
        if key.last_used.is_some_and(|last| last >= used) {
            return None;
        }
        key.last_used = Some(used);
        Some(key)
    }

    pub fn remove(&mut self, id: &KeyId) {
        let Some(key) = self.all.remove(id) else { return };
        self.forget_time(&key).map(|at| self.forget_at.remove(&(at, *id)));
        self.by_owner.remove(&(key.tenant.clone(), *id));
        self.owned.remove(key.tenant.as_ref());
        self.changes.push(KeyChange::Forgotten(*id));
    }

    /// A key whose retention has passed.
    pub fn next_forgotten(&self, now: Millis) -> Option<KeyId> {
        self.forget_at.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id)
    }

    /// Adds a key that was stored.
    pub fn restore(&mut self, key: ApiKey) {
        self.store(key);
    }

    pub fn take_changes(&mut self) -> Vec<KeyChange> {
        std::mem::take(&mut self.changes)
    }

    fn store(&mut self, key: ApiKey) {
        let id = key.id;
        match self.all.get(&id) {
            Some(old) => {
                let old_time = self.forget_time(old);
                old_time.map(|at| self.forget_at.remove(&(at, id)));
            }
            None => {
                self.owned.add(key.tenant.as_ref());
                self.by_owner.insert((key.tenant.clone(), id));
            }
        }
        if let Some(at) = self.forget_time(&key) {
            self.forget_at.insert((at, id));
        }
        self.all.insert(id, key);
    }

    fn forget_time(&self, key: &ApiKey) -> Option<Millis> {
        let ends = key.ends().filter(|_| !key.bootstrap);
        ends.map(|end| later(end, self.retention_ms))
    }
}
