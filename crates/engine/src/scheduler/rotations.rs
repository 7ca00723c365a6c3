//! The table of all rotations: one for each pool, and one for each set of queues that fetches without
//! a pool name.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{PoolName, QueueName, QueueStrategy, Weight};

use super::Scheduler;
use super::account::{AccountIx, Owner};
use super::notice::Notice;
use super::parts::{Parts, PartsIx};
use super::rotation::{QueueRank, Rotation, RotationIx};
pub(super) use super::rotation_rules::RotationKey;
use super::rotation_rules::{ChangedRotation, RememberedAccount, RotationRules};
use super::tag::Tag;
use crate::queue::QueueIx;

/// Sets remembered at once; beyond that, the least recently used is forgotten.
const MOST_SETS: usize = 4_096;
/// Sets that may have an account. Each account adds a ring entry to every turn of its queues.
pub(crate) const MOST_SHARED_SETS: usize = 256;

/// All rotations and their parts.
#[derive(Default)]
pub(super) struct Rotations {
    all: Vec<Option<RotationEntry>>,
    pub(super) parts: BTreeMap<PartsIx, Parts>,
    next_parts: u64,
    free: Vec<RotationIx>,
    by_key: BTreeMap<RotationKey, RotationIx>,
    /// Sets by last use, those of single tenants first: whether shared, `RotationEntry::used`, index.
    by_use: BTreeSet<(bool, u64, RotationIx)>,
    uses: u64,
    /// Rotations that have dispatched since the last `take_changed`.
    changed: BTreeSet<RotationIx>,
    shared_sets: usize,
    /// Sets forgotten since the last `take_forgotten_rotations`.
    pub forgotten: Vec<RotationKey>,
    /// Stored rounds and queue tags, until the rotation is used.
    pub remembered: BTreeMap<RotationKey, (Tag, BTreeMap<QueueName, Tag>)>,
    /// Stored accounts, until the rotation is used.
    pub remembered_accounts: BTreeMap<RotationKey, RememberedAccount>,
}

/// A rotation with its key, parts and account.
struct RotationEntry {
    key: RotationKey,
    rotation: Rotation,
    /// A pool's parts, or those of all sets that share queues with this one.
    parts: PartsIx,
    account: Option<AccountIx>,
    /// The version of the pool that the rotation was made for.
    version: u64,
    used: u64,
    /// Used by fetches of shared workers, not of a single tenant's.
    is_shared: bool,
}

impl Rotations {
    pub fn get(&self, ix: RotationIx) -> &Rotation {
        &self.all[ix.0 as usize]
            .as_ref()
            .expect("a rotation exists while it is referred to")
            .rotation
    }

    pub fn get_mut(&mut self, ix: RotationIx) -> &mut Rotation {
        let entry = self.all[ix.0 as usize].as_mut();
        &mut entry.expect("a rotation exists while it is referred to").rotation
    }

    pub(super) fn with_parts(&mut self, ix: RotationIx) -> (&mut Rotation, &mut Parts) {
        let entry = self.all[ix.0 as usize].as_mut();
        let entry = entry.expect("a rotation exists while it is referred to");
        let parts = self.parts.get_mut(&entry.parts).expect("a rotation has parts");
        (&mut entry.rotation, parts)
    }

    pub fn parts_of(&self, ix: RotationIx) -> PartsIx {
        self.all[ix.0 as usize].as_ref().expect("a rotation exists while it is referred to").parts
    }

    pub fn add_parts(&mut self, parts: Parts) -> PartsIx {
        self.next_parts += 1;
        self.parts.insert(PartsIx(self.next_parts), parts);
        PartsIx(self.next_parts)
    }

    /// Gives a rotation other parts.
    pub fn move_to_parts(&mut self, ix: RotationIx, parts: PartsIx) {
        if let Some(entry) = self.all[ix.0 as usize].as_mut() {
            entry.parts = parts;
            entry.rotation.move_to(&self.parts[&parts]);
        }
    }

    /// Whether queues that are owed a dispatch, or starved, go first.
    pub fn guarantees(&self, ix: RotationIx) -> bool {
        self.parts[&self.parts_of(ix)].is_enforced()
    }

    /// The next queue, and whether it goes first because it is owed a dispatch or starved.
    pub fn first(
        &mut self,
        ix: RotationIx,
        mono: u64,
        notices: &mut Vec<Notice>,
    ) -> Option<(QueueIx, bool)> {
        self.report_starved(ix, mono, notices);
        let (rotation, parts) = self.with_parts(ix);
        rotation.first(parts, mono)
    }

    /// A queue's claim among queues that a fetch named; `named` is its index there.
    pub fn rank(&self, ix: RotationIx, queue: QueueIx, named: usize, mono: u64) -> QueueRank {
        self.get(ix).rank(queue, named, &self.parts[&self.parts_of(ix)], mono)
    }

    /// Reports queues that have just become starved, except in a single tenant's rotation.
    pub fn report_starved(&mut self, ix: RotationIx, mono: u64, notices: &mut Vec<Notice>) {
        let (rotation, parts) = self.with_parts(ix);
        let for_tenant = rotation.is_for_tenant();
        parts.report_starved(mono, |notice| {
            if !for_tenant {
                notices.push(notice);
            }
        });
    }

    pub fn account(&self, ix: RotationIx) -> Option<AccountIx> {
        self.all[ix.0 as usize].as_ref()?.account
    }

    pub fn key(&self, ix: RotationIx) -> &RotationKey {
        &self.all[ix.0 as usize].as_ref().expect("a rotation exists while it is referred to").key
    }

    pub fn queues_of(&self, key: &RotationKey) -> &[QueueIx] {
        self.by_key.get(key).map_or(&[], |ix| self.get(*ix).queues())
    }

    pub fn account_of(&self, key: &RotationKey) -> Option<AccountIx> {
        self.account(*self.by_key.get(key)?)
    }

    /// Restores rotations that exist already, as those of pools do.
    pub fn restore_existing(&mut self, find: impl Fn(&str) -> Option<QueueIx>) {
        for (key, ix) in &self.by_key {
            if let Some((round, tags)) = self.remembered.remove(key)
                && let Some(entry) = self.all[ix.0 as usize].as_mut()
                && let Some(parts) = self.parts.get_mut(&entry.parts)
            {
                let tags = tags.iter().filter_map(|(q, tag)| Some((find(q)?, *tag)));
                entry.rotation.restore(round, tags);
                entry.rotation.queues().iter().for_each(|queue| parts.owe_one(*queue));
                entry.rotation.move_to(parts);
            }
        }
    }

    pub fn depth_changed(&mut self, ordered_in: &[(RotationIx, u32)], available: u64) {
        for &(ix, position) in ordered_in {
            if let Some(entry) = &mut self.all[ix.0 as usize] {
                entry.rotation.depth_changed(position, available);
            }
        }
    }

    /// What changed in rotations that have dispatched since the last call.
    pub fn take_changed(&mut self) -> Vec<ChangedRotation> {
        let state = |ix: RotationIx| {
            let entry = self.all[ix.0 as usize].as_mut()?;
            let (round, tags) = entry.rotation.take_changed()?;
            Some(ChangedRotation { key: entry.key.clone(), round, tags, rounds: BTreeMap::new() })
        };
        std::mem::take(&mut self.changed).into_iter().filter_map(state).collect()
    }

    pub fn round_of(&self, key: &RotationKey) -> Option<Tag> {
        self.by_key.get(key).map(|ix| self.get(*ix).round())
    }

    /// The strategy, queues and weights of a set with an account.
    pub fn set_with_account(
        &self,
        key: &RotationKey,
    ) -> Option<(QueueStrategy, Vec<(QueueIx, Weight)>)> {
        self.account_of(key).filter(|_| matches!(key, RotationKey::Set(_)))?;
        self.by_key.get(key).map(|ix| self.get(*ix).made_from())
    }

    /// Counts a dispatch from this queue.
    pub fn served(&mut self, ix: RotationIx, queue: QueueIx, mono: u64) {
        let (rotation, parts) = self.with_parts(ix);
        rotation.served(queue);
        parts.served(queue, mono);
        self.changed.insert(ix);
    }

    /// Counts a dispatch to a fetch without a pool that named this queue only.
    pub fn served_alone(&mut self, ix: PartsIx, queue: QueueIx, mono: u64) {
        self.parts.entry(ix).and_modify(|parts| parts.served(queue, mono));
    }
}

impl Scheduler {
    /// The rotation of a key and its account, if it was made for this version.
    pub fn rotation(
        &mut self,
        key: &RotationKey,
        version: u64,
    ) -> Option<(RotationIx, Option<AccountIx>)> {
        let &ix = self.rotations.by_key.get(key)?;
        let rotations = &mut self.rotations;
        let entry = rotations.all[ix.0 as usize].as_mut()?;
        if entry.version != version {
            return None;
        }
        if matches!(key, RotationKey::Set(_)) {
            rotations.uses += 1;
            rotations.by_use.remove(&(entry.is_shared, entry.used, ix));
            entry.used = rotations.uses;
            rotations.by_use.insert((entry.is_shared, entry.used, ix));
        }
        Some((ix, entry.account))
    }

    /// Creates the rotation of a key, or applies new rules to it.
    pub fn put_rotation(
        &mut self,
        key: RotationKey,
        version: u64,
        rules: &RotationRules,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) -> (RotationIx, Option<AccountIx>) {
        let is_set = matches!(key, RotationKey::Set(_));
        if is_set && !self.rotations.by_key.contains_key(&key) {
            self.forget_oldest_set();
        }
        let existing = self.rotations.by_key.get(&key).copied();
        existing.into_iter().for_each(|ix| self.detach(ix));
        let ix = existing.unwrap_or_else(|| self.add_rotation(key, rules));
        let new_claims = self.put_parts(ix, rules, existing.is_none());
        let share = rules.shared && (!is_set || self.rotations.shared_sets < MOST_SHARED_SETS);
        let entry = self.rotations.all[ix.0 as usize].as_mut().expect("it was just found");
        entry.version = version;
        entry.rotation.configure(rules);
        if let Some((round, tags)) = self.rotations.remembered.remove(&entry.key) {
            let tags = tags.iter().filter_map(|(q, tag)| Some((find(q)?, *tag)));
            entry.rotation.restore(round, tags);
            let parts = self.rotations.parts.get_mut(&entry.parts).expect("a rotation has parts");
            new_claims.into_iter().for_each(|queue| parts.owe_one(queue));
        }
        let old_account = entry.account;
        match (old_account, share) {
            (None, true) => {
                entry.account = Some(self.accounts.open(Owner::Shared(entry.key.clone())));
                self.rotations.shared_sets += usize::from(is_set);
            }
            (Some(account), false) => {
                entry.account = None;
                self.close_account(account);
                self.rotations.shared_sets -= usize::from(is_set);
            }
            _ => {}
        }
        self.attach(ix);
        let entry = self.rotations.all[ix.0 as usize].as_ref().expect("it was just found");
        let (key, account) = (entry.key.clone(), entry.account);
        if let Some(account) = account.filter(|_| old_account.is_none()) {
            self.restore_account(&key, account);
            let queues = self.rotations.get(ix).queues().to_vec();
            let turns = queues.iter().flat_map(|queue| self.turns_in(*queue)).collect::<Vec<_>>();
            turns.into_iter().for_each(|turn| self.place_turn(turn));
        }
        (ix, account)
    }

    fn add_rotation(&mut self, key: RotationKey, rules: &RotationRules) -> RotationIx {
        let parts = match key.is_shared_set(rules.for_tenant) {
            true => self.common_parts(rules),
            false => self.rotations.add_parts(Parts::new(rules.starvation, Some(rules.named))),
        };
        let rotations = &mut self.rotations;
        rotations.uses += 1;
        let entry = RotationEntry {
            key: key.clone(),
            rotation: Rotation::new(rules.strategy),
            parts,
            account: None,
            version: 0,
            used: rotations.uses,
            is_shared: !rules.for_tenant,
        };
        let ix = rotations.free.pop().unwrap_or(RotationIx(rotations.all.len() as u32));
        if rotations.all.len() <= ix.0 as usize {
            rotations.all.push(None);
        }
        if matches!(key, RotationKey::Set(_)) {
            rotations.by_use.insert((entry.is_shared, entry.used, ix));
        }
        rotations.all[ix.0 as usize] = Some(entry);
        rotations.by_key.insert(key, ix);
        ix
    }

    /// Forgets the rotation of a deleted pool, or of a set.
    pub fn drop_rotation(&mut self, key: &RotationKey) {
        let Some(ix) = self.rotations.by_key.remove(key) else { return };
        self.detach(ix);
        let Some(entry) = self.rotations.all[ix.0 as usize].take() else { return };
        self.rotations.by_use.remove(&(entry.is_shared, entry.used, ix));
        self.rotations.free.push(ix);
        match key.is_shared_set(entry.rotation.is_for_tenant()) {
            true => self.leave_parts(entry.parts, entry.rotation.queues()),
            false => {
                self.rotations.parts.remove(&entry.parts);
            }
        }
        if let Some(account) = entry.account {
            self.close_account(account);
            let is_set = matches!(key, RotationKey::Set(_));
            self.rotations.shared_sets -= usize::from(is_set);
        }
    }

    /// All rotations of a pool: one, or one for each tenant where tenants have separate queues.
    pub fn rotations_of(&self, pool: &PoolName) -> Vec<RotationKey> {
        let first = RotationKey::Pool(pool.clone(), None);
        let keys = self.rotations.by_key.range(first..).map(|(key, _)| key);
        keys.take_while(|key| matches!(key, RotationKey::Pool(name, _) if name == pool))
            .cloned()
            .collect()
    }

    fn forget_oldest_set(&mut self) {
        if self.rotations.by_use.len() < MOST_SETS {
            return;
        }
        if let Some(&(_, _, ix)) = self.rotations.by_use.first()
            && let Some(entry) = &self.rotations.all[ix.0 as usize]
        {
            let key = entry.key.clone();
            self.forget_set(&key);
        }
    }

    pub(super) fn forget_set(&mut self, key: &RotationKey) {
        self.drop_rotation(key);
        self.rotations.forgotten.push(key.clone());
    }
}
