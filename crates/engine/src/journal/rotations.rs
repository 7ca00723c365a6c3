//! Rotations in the journal.

use std::collections::BTreeMap;
use std::fmt::Write;

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{PoolName, QueueName, QueueStrategy, Weight};
use serde::{Deserialize, Serialize};

use super::text::end_list;
use super::{Counter, Journal, put};
use crate::Engine;
use crate::scheduler::{ChangedRotation, RotationKey, Tag};

/// A rotation, as stored.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct RotationState {
    /// The last batch that it includes.
    #[serde(default)]
    pub as_of: u64,
    pub round: Tag,
    pub tags: BTreeMap<QueueName, Tag>,
    /// The batch in which the rotation was created. Older tags of tenants belong to an earlier pool
    /// of the same name.
    #[serde(default)]
    pub since: u64,
    /// The rounds of its account, by level.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rounds: BTreeMap<i32, Tag>,
    /// The definition of a set with an account, from which a restart recreates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetState>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SetState {
    pub strategy: QueueStrategy,
    pub queues: Vec<(QueueName, Weight)>,
}

/// A rotation in memory.
pub(super) struct JournaledRotation {
    key: RotationKey,
    state: RotationState,
    /// Changed since it was flushed.
    dirty: bool,
}

impl Journal {
    pub(super) fn record_rotation(&mut self, key: RotationKey, state: RotationState) {
        self.merge_rotation(key.clone(), state);
        self.mark_rotation_dirty(&key, self.number);
    }

    pub fn merge_rotation(&mut self, key: RotationKey, state: RotationState) {
        match self.rotation_indexes.get(&key) {
            Some(&index) => {
                let stored = &mut self.rotations[index].state;
                if state.since != stored.since {
                    *stored = state;
                    return;
                }
                if state.round < stored.round {
                    stored.tags.clear();
                }
                (stored.as_of, stored.round) = (state.as_of, state.round);
                stored.tags.extend(state.tags);
                stored.rounds.extend(state.rounds);
                stored.set = state.set.or(stored.set.take());
            }
            None => {
                let index = self.free_rotations.pop().unwrap_or(self.rotations.len());
                self.rotation_indexes.insert(key.clone(), index);
                let rotation = JournaledRotation { key, state, dirty: false };
                match self.rotations.get_mut(index) {
                    Some(slot) => *slot = rotation,
                    None => self.rotations.push(rotation),
                }
            }
        }
    }

    fn rotation(&self, key: &RotationKey) -> Option<&RotationState> {
        self.rotation_indexes.get(key).map(|index| &self.rotations[*index].state)
    }

    /// All rotations, most recently changed last.
    pub fn rotations_by_age(&self) -> Vec<(RotationKey, RotationState)> {
        let rotations = self.rotation_indexes.values().map(|index| &self.rotations[*index]);
        let mut rotations: Vec<_> =
            rotations.map(|rotation| (rotation.key.clone(), rotation.state.clone())).collect();
        rotations.sort_by(|(a, a_state), (b, b_state)| (a_state.as_of, a).cmp(&(b_state.as_of, b)));
        rotations
    }

    pub(super) fn mark_rotation_dirty(&mut self, key: &RotationKey, number: u64) {
        if let Some(&index) = self.rotation_indexes.get(key)
            && !std::mem::replace(&mut self.rotations[index].dirty, true)
        {
            self.dirty.push_back((number, Counter::Rotation(index)));
        }
    }

    pub(super) fn flush_rotation(&mut self, index: usize, out: &mut Vec<Mutation>) {
        let number = self.number;
        let JournaledRotation { key, state, dirty } = &mut self.rotations[index];
        *dirty = false;
        let name = key.name();
        match self.rotation_indexes.get(key) == Some(&index) {
            true => {
                state.as_of = number;
                out.push(put(RowKind::RotationState, &name, state));
            }
            false => {
                self.free_rotations.push(index);
                out.push(Mutation::Remove(RowKind::RotationState, name.into()));
            }
        }
    }

    /// A rotation is gone: its row is removed at the next flush.
    pub fn forget_rotation(&mut self, key: &RotationKey) {
        if let Some(index) = self.rotation_indexes.remove(key)
            && !std::mem::replace(&mut self.rotations[index].dirty, true)
        {
            self.dirty.push_back((self.number, Counter::Rotation(index)));
        }
    }
}

impl Engine {
    /// A pool is gone: forgets its rotations and dispatches.
    pub(crate) fn forget_rotations(&mut self, pool: &PoolName) {
        for key in self.scheduler.rotations_of(pool) {
            self.scheduler.drop_rotation(&key);
            self.forget_shared_dispatches(&key);
            self.journal.forget_rotation(&key);
            // The journal's flush would remove these rows later, but not if the process ends before
            // that.
            let rows = [
                Mutation::Remove(RowKind::RotationState, key.name().into()),
                Mutation::Remove(RowKind::DispatchState, format!("shared/{}", key.name()).into()),
            ];
            self.out.mutations.extend(rows);
        }
        self.forget_pool_dispatches(pool);
    }

    pub(super) fn write_rotations(&mut self, out: &mut String) {
        for key in self.scheduler.take_forgotten_rotations() {
            self.journal.forget_rotation(&key);
            self.forget_shared_dispatches(&key);
        }
        let changed = self.scheduler.take_changed_rotations();
        if changed.is_empty() {
            return;
        }
        end_list(out, r#""rotations":["#);
        for ChangedRotation { key, round, tags, rounds } in changed {
            let name = |(queue, tag)| (self.queues.get(queue).name.clone(), tag);
            let (number, stored) = (self.journal.number, self.journal.rotation(&key));
            let (since, named) =
                stored.map_or((number, false), |stored| (stored.since, stored.set.is_some()));
            let set = if named { None } else { self.set_state(&key) };
            let tags = tags.into_iter().map(name).collect();
            let state = RotationState { as_of: number, round, tags, since, rounds, set };
            let json = serde_json::to_string(&state).expect("a state is plain data");
            let _ = write!(out, r#"["{}",{json}],"#, key.name());
            self.journal.record_rotation(key, state);
        }
    }

    fn set_state(&self, key: &RotationKey) -> Option<SetState> {
        let (strategy, queues) = self.scheduler.set_with_account(key)?;
        let name = |(queue, weight)| (self.queues.get(queue).name.clone(), weight);
        Some(SetState { strategy, queues: queues.into_iter().map(name).collect() })
    }

    /// Whether a rotation's pool still exists. Sets always do.
    pub(crate) fn has_rotation(&self, key: &RotationKey) -> bool {
        match key {
            RotationKey::Pool(pool, _) => self.scheduler.pools().get(pool).is_some(),
            RotationKey::Set(_) => true,
        }
    }

    /// Restores a rotation after a restart.
    pub(crate) fn restore_rotation(&mut self, name: &str, state: &RotationState) {
        let Some(key) = RotationKey::parse(name).filter(|key| self.has_rotation(key)) else {
            return;
        };
        let tags = state.tags.iter().map(|(queue, tag)| (queue.clone(), *tag));
        self.scheduler.restore_rotation(key.clone(), state.round, tags);
        self.scheduler.restore_rounds(key.clone(), state.since, &state.rounds);
        self.journal.merge_rotation(key, state.clone());
    }
}
