//! Creating, rotating, revoking and forgetting API keys.

use rota_identity::{ApiKey, KeyId, KeyState};
use rota_model::mutation::{Mutation, RowKind};
use rota_model::{Millis, TenantId};

use crate::command::later;
use crate::{Engine, Refusal, Reply, RotateKey};

impl Engine {
    pub(crate) fn create_key(&mut self, key: ApiKey) -> Reply {
        if let Some(known) = self.keys.get(&key.id) {
            return match known.hash.matches(&key.hash) {
                true => Reply::Key(Box::new(known.clone())),
                false => Reply::Refused(Refusal::KeyExists),
            };
        }
        if let Err(reached) = self.keys.check_cap(self.asker(key.tenant.as_ref())) {
            return Reply::Refused(reached.into());
        }
        let key = ApiKey { created: self.wall(), ..key };
        self.put_key(key.clone());
        Reply::Key(Box::new(key))
    }

    pub(crate) fn rotate_key(&mut self, rotate: &RotateKey) -> Reply {
        let now = self.wall();
        let Some(old) = self.keys.get(&rotate.old) else {
            return Reply::Refused(Refusal::UnknownKey);
        };
        let state = old.state(now);
        if state != KeyState::Active {
            return Reply::Refused(Refusal::KeyEnded { state });
        }
        let before = old.successor.and_then(|id| self.keys.get(&id));
        if let Some(successor) = before.filter(|key| key.state(now) == KeyState::Active) {
            return Reply::Refused(Refusal::KeyRotated { successor: successor.id });
        }
        if self.keys.get(&rotate.new).is_some() {
            return Reply::Refused(Refusal::KeyExists);
        }
        if let Err(reached) = self.keys.check_cap(self.asker(old.tenant.as_ref())) {
            return Reply::Refused(reached.into());
        }
        // A key that was rotated before ends early. Its first successor has the intended lifetime.
        let model = before.unwrap_or(old);
        let lifetime = model.expires.map(|end| end.since(model.created).max(0) as u64);
        let new = ApiKey {
            id: rotate.new,
            hash: rotate.hash,
            created: now,
            expires: rotate.expires.or(lifetime.map(|ms| later(now, ms))),
            last_used: None,
            rotated_from: Some(old.id),
            successor: None,
            bootstrap: false,
            ..old.clone()
        };
        let ends = later(now, rotate.overlap_ms);
        let old = ApiKey {
            expires: Some(old.expires.map_or(ends, |expires| expires.min(ends))),
            successor: Some(new.id),
            ..old.clone()
        };
        self.put_key(old.clone());
        self.put_key(new.clone());
        Reply::KeyRotated { old: Box::new(old), new: Box::new(new) }
    }

    /// Revokes a key. Revoking one that has ended changes nothing but its state.
    pub(crate) fn revoke_key(&mut self, id: &KeyId) -> Reply {
        let Some(key) = self.keys.get(id) else {
            return Reply::Refused(Refusal::UnknownKey);
        };
        let mut key = key.clone();
        if key.revoked.is_none() {
            key.revoked = Some(self.wall());
            self.put_key(key.clone());
        }
        Reply::Key(Box::new(key))
    }

    /// Revokes the keys of a tenant that is deleted.
    pub(crate) fn revoke_keys_of(&mut self, tenant: &TenantId) {
        let keys = self.keys.of(Some(tenant.clone()), "");
        let unrevoked: Vec<KeyId> =
            keys.filter(|key| key.revoked.is_none()).map(|key| key.id).collect();
        for id in unrevoked {
            self.revoke_key(&id);
        }
    }

    pub(crate) fn remove_key(&mut self, id: &KeyId) -> Reply {
        let Some(key) = self.keys.get(id).cloned() else {
            return Reply::Refused(Refusal::UnknownKey);
        };
        if key.state(self.wall()) == KeyState::Active {
            return Reply::Refused(Refusal::KeyActive);
        }
        if key.bootstrap {
            return Reply::Refused(Refusal::KeyKept);
        }
        self.forget_key(id);
        Reply::Key(Box::new(key))
    }

    pub(crate) fn touch_keys(&mut self, uses: &[(KeyId, Millis)]) -> Reply {
        for (id, used) in uses {
            if let Some(key) = self.keys.touch(id, *used).cloned() {
                self.put(RowKind::ApiKey, id.as_str(), &key);
            }
        }
        Reply::Done
    }

    /// Forgets one key whose retention has passed; false if there is none.
    pub(crate) fn forget_one_key(&mut self) -> bool {
        let Some(id) = self.keys.next_forgotten(self.wall()) else { return false };
        self.forget_key(&id);
        true
    }

    fn forget_key(&mut self, id: &KeyId) {
        self.out.mutations.push(Mutation::Remove(RowKind::ApiKey, id.as_str().into()));
        self.keys.remove(id);
    }

    fn put_key(&mut self, key: ApiKey) {
        self.put(RowKind::ApiKey, key.id.as_str(), &key);
        self.keys.put(key);
    }
}
