//! The committed API keys in memory, against which requests are checked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ahash::RandomState;
use rota_engine::KeyChange;
use rota_identity::{ApiKey, Identity, KeyHash, KeyId, KeyState, KeyText};
use rota_model::Millis;
use tokio::sync::watch;

/// Follows the engine's table: the store thread applies each change when it is committed, before the
/// answer to its request is released. So a revoked key is refused from then on, whatever becomes of the
/// request that revoked it.
#[derive(Default)]
pub struct KeyTable {
    keys: RwLock<HashMap<KeyId, Arc<Entry>, RandomState>>,
    /// Keys that were used since [`KeyTable::take_uses`], each once.
    used: Mutex<Vec<Arc<Entry>>>,
    /// Counts changes after which a key may no longer be accepted.
    ends: watch::Sender<u64>,
}

struct Entry {
    key: ApiKey,
    identity: Arc<Identity>,
    /// In milliseconds; 0 if it was never used.
    last_used: AtomicI64,
    is_listed: AtomicBool,
}

/// Why a key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyProblem {
    /// There is no such key. The same for a wrong secret.
    Unknown,
    Expired,
    Revoked,
}

impl KeyTable {
    /// Who the holder of this key is. Does the same work for known and unknown ids.
    pub fn check(&self, text: &KeyText, now: Millis) -> Result<Arc<Identity>, KeyProblem> {
        let entry = self.find(text, now)?;
        self.note_use(&entry, now);
        Ok(entry.identity.clone())
    }

    /// When a key ends that is accepted now; the inner `None` for never. This is no use of it.
    pub fn end_of(&self, text: &KeyText, now: Millis) -> Result<Option<Millis>, KeyProblem> {
        self.find(text, now).map(|entry| entry.key.expires)
    }

    /// Changes whenever a key was revoked, was removed or has got another end.
    pub fn ends(&self) -> watch::Receiver<u64> {
        self.ends.subscribe()
    }

    fn find(&self, text: &KeyText, now: Millis) -> Result<Arc<Entry>, KeyProblem> {
        let entry = self.get(&text.id());
        let hash = entry.as_ref().map_or(KeyHash::OF_NO_KEY, |entry| entry.key.hash);
        let matches = hash.matches(&text.hash());
        let entry = entry.filter(|_| matches).ok_or(KeyProblem::Unknown)?;
        match entry.key.state(now) {
            KeyState::Revoked => Err(KeyProblem::Revoked),
            KeyState::Expired => Err(KeyProblem::Expired),
            KeyState::Active => Ok(entry),
        }
    }

    /// When a key was last used, including uses that are not written yet.
    pub fn last_used(&self, id: &KeyId) -> Option<Millis> {
        let at = self.get(id)?.last_used.load(Ordering::Relaxed);
        (at > 0).then_some(Millis(at))
    }

    /// Applies committed changes.
    pub fn apply(&self, changes: Vec<KeyChange>) {
        if changes.is_empty() {
            return;
        }
        let mut has_end = false;
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            match change {
                KeyChange::Put(key) => {
                    let end = keys.get(&key.id).map(|old| old.key.ends());
                    has_end |= end.is_some_and(|end| end != key.ends());
                    let before = keys.get(&key.id).map(|old| old.last_used.load(Ordering::Relaxed));
                    let entry = Entry::new(*key);
                    entry.last_used.fetch_max(before.unwrap_or(0), Ordering::Relaxed);
                    keys.insert(entry.key.id, Arc::new(entry));
                }
                KeyChange::Forgotten(id) => {
                    has_end |= keys.remove(&id).is_some();
                }
            }
        }
        drop(keys);
        if has_end {
            self.ends.send_modify(|count| *count += 1);
        }
    }

    /// Takes the keys that were used since the last call, and when.
    pub fn take_uses(&self) -> Vec<(KeyId, Millis)> {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        let report = |entry: Arc<Entry>| {
            // Before reading the time, so that a use after this is listed again.
            entry.is_listed.store(false, Ordering::SeqCst);
            (entry.key.id, Millis(entry.last_used.load(Ordering::SeqCst)))
        };
        used.into_iter().map(report).collect()
    }

    /// Lists uses again that could not be written.
    pub fn return_uses(&self, uses: &[(KeyId, Millis)]) {
        for (id, _) in uses {
            if let Some(entry) = self.get(id) {
                self.list(&entry);
            }
        }
    }

    fn get(&self, id: &KeyId) -> Option<Arc<Entry>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn note_use(&self, entry: &Arc<Entry>, now: Millis) {
        entry.last_used.fetch_max(now.0, Ordering::SeqCst);
        if !entry.is_listed.load(Ordering::Relaxed) {
            self.list(entry);
        }
    }

    fn list(&self, entry: &Arc<Entry>) {
        if !entry.is_listed.swap(true, Ordering::SeqCst) {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).push(entry.clone());
        }
    }
}

impl Entry {
    fn new(key: ApiKey) -> Self {
        Self {
            identity: Arc::new(key.identity()),
            last_used: AtomicI64::new(key.last_used.map_or(0, |at| at.0)),
            is_listed: AtomicBool::new(false),
            key,
        }
    }
}

#[cfg(test)]
mod tests {
    use rota_identity::{KeyName, Permissions, RANDOM_BYTES};

    use super::*;

    fn text(number: u8) -> KeyText {
        KeyText::new(&[number; RANDOM_BYTES])
    }

    fn key(number: u8) -> ApiKey {
        ApiKey {
            id: text(number).id(),
            hash: text(number).hash(),
            name: KeyName::parse("a key").unwrap(),
            tenant: None,
            permissions: Permissions::of_operator(),
            queues: None,
            job_types: None,
            created: Millis(1),
            expires: Some(Millis(1_000)),
            revoked: None,
            last_used: None,
            rotated_from: None,
            successor: None,
            bootstrap: false,
        }
    }

    fn table(keys: impl IntoIterator<Item = ApiKey>) -> KeyTable {
        let table = KeyTable::default();
        table.apply(keys.into_iter().map(|key| KeyChange::Put(Box::new(key))).collect());
        table
    }

    #[test]
    fn only_the_right_secret_of_a_key_that_works_is_accepted() {
        let table = table([key(1), key(2)]);
        let check = |text: &KeyText, at| table.check(text, Millis(at)).map(|who| who.permissions);
        assert_eq!(check(&text(1), 999), Ok(Permissions::of_operator()));
        assert_eq!(check(&text(1), 1_000), Err(KeyProblem::Expired));
        assert_eq!(check(&text(3), 10), Err(KeyProblem::Unknown));
        let secret = text(2).reveal().rsplit('_').next().unwrap().to_owned();
        let mixed = KeyText::parse(&format!("rota_{}_{secret}", text(1).id())).unwrap();
        assert_eq!(check(&mixed, 10), Err(KeyProblem::Unknown));
        // A wrong secret does not even tell that the key was revoked.
        table.apply(vec![KeyChange::Put(Box::new(ApiKey { revoked: Some(Millis(5)), ..key(1) }))]);
        assert_eq!(check(&text(1), 10), Err(KeyProblem::Revoked));
        assert_eq!(check(&mixed, 10), Err(KeyProblem::Unknown));
        table.apply(vec![KeyChange::Forgotten(text(1).id())]);
        assert_eq!(check(&text(1), 10), Err(KeyProblem::Unknown));
    }

    #[test]
    fn a_key_without_a_record_does_not_match_the_stand_in() {
        let table = table([ApiKey { hash: KeyHash::OF_NO_KEY, ..key(1) }]);
        assert_eq!(table.check(&text(1), Millis(1)).map(|_| ()), Err(KeyProblem::Unknown));
    }

    #[test]
    fn uses_are_reported_once_per_batch_with_the_latest_time() {
        let table = table([key(1), key(2)]);
        for at in [10, 30, 20] {
            table.check(&text(1), Millis(at)).unwrap();
        }
        assert_eq!(table.take_uses(), [(text(1).id(), Millis(30))]);
        assert_eq!(table.take_uses(), []);
        table.check(&text(1), Millis(40)).unwrap();
        // A change of the key loses no use.
        table.apply(vec![KeyChange::Put(Box::new(key(1)))]);
        assert_eq!(table.last_used(&text(1).id()), Some(Millis(40)));
        let uses = table.take_uses();
        assert_eq!(uses, [(text(1).id(), Millis(40))]);
        table.return_uses(&uses);
        assert_eq!(table.take_uses(), uses);
        assert_eq!(table.last_used(&text(2).id()), None);
    }

    #[test]
    fn watchers_learn_of_keys_that_end_and_of_no_others() {
        let table = table([key(1)]);
        let mut ends = table.ends();
        let put = |key: ApiKey| table.apply(vec![KeyChange::Put(Box::new(key))]);
        put(key(2));
        put(ApiKey { last_used: Some(Millis(7)), ..key(1) });
        assert!(!ends.has_changed().unwrap());
        put(ApiKey { expires: Some(Millis(500)), ..key(1) });
        assert!(ends.has_changed().unwrap());
        assert_eq!(table.end_of(&text(1), Millis(499)), Ok(Some(Millis(500))));
        ends.mark_unchanged();
        put(ApiKey { revoked: Some(Millis(5)), ..key(1) });
        assert!(ends.has_changed().unwrap());
        assert_eq!(table.end_of(&text(1), Millis(10)), Err(KeyProblem::Revoked));
        ends.mark_unchanged();
        table.apply(vec![KeyChange::Forgotten(text(2).id())]);
        assert!(ends.has_changed().unwrap());
        assert_eq!(table.take_uses(), [], "to watch a key is not to use it");
    }

    #[test]
    fn refused_keys_are_not_used() {
        let table = table([key(1)]);
        let _ = table.check(&text(1), Millis(2_000));
        let _ = table.check(&text(2), Millis(10));
        assert_eq!(table.take_uses(), []);
    }
}
