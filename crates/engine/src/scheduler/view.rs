//! Read-only views of the scheduler, and what has changed since it was last stored.

use std::collections::BTreeMap;

use rota_model::{ClassId, QueueStrategy, Seq, Weight};

use super::Scheduler;
use super::account::{AccountIx, Owner, StandingIx};
use super::fetches::Fetches;
use super::lane::Lane;
use super::limits::{Closed, GateIx, Limits};
use super::pools::Pools;
use super::rotation_rules::{ChangedRotation, RotationKey};
use super::tag::Tag;
use crate::Now;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

/// A tenant's tag that has changed.
pub(crate) struct ChangedTag {
    pub account: AccountIx,
    pub tenant: TenantIx,
    pub level: i32,
    pub tag: Tag,
}

impl Scheduler {
    /// The limits' clock.
    pub fn now(&self) -> Now {
        self.now
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    pub fn fetches(&self) -> &Fetches {
        &self.fetches
    }

    /// Entries visited so far, as a measure of cost.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub fn lane(&self, class: ClassId) -> Option<&Lane> {
        self.lanes.get(class)
    }

    /// The gates of the key that jobs of a class name.
    pub fn key_gates(&self, class: ClassId) -> &[GateIx] {
        &self.class(class).gates
    }

    pub fn gate_of_queue(&self, queue: QueueIx) -> Option<GateIx> {
        self.queue(queue).gate
    }

    /// The lanes of a queue by their heads, if the queue drops its oldest jobs.
    pub fn heads(&self, queue: QueueIx) -> impl Iterator<Item = (Seq, ClassId)> {
        self.queue(queue).heads.iter().flatten().copied()
    }

    /// A tenant's shard of a queue, if it has had jobs there.
    pub fn shard(&self, queue: QueueIx, tenant: TenantIx) -> Option<ShardIx> {
        self.shard_of.get(&(queue, tenant)).copied()
    }

    pub fn shards_of(&self, tenant: TenantIx) -> &[ShardIx] {
        &self.tenant(tenant).shards
    }

    /// All lanes of one tenant in one queue.
    pub fn lanes_of_shard(&self, shard: ShardIx) -> impl Iterator<Item = ClassId> {
        let turns = self.shards[shard.0 as usize].turns.iter();
        let placed = turns.flat_map(|(_, turn)| self.turns.get(*turn).lanes());
        let swept = self.sweeps.iter().copied();
        placed.chain(swept.filter(move |class| self.class(*class).shard == shard))
    }

    /// The job of a queue that would be served next.
    pub fn first_of(&self, queue: QueueIx) -> Option<Seq> {
        let (_, ring) = self.queue(queue).members[0].rings.last_key_value()?;
        let ((_, head, _), _) = self.turns.get(ring.first()?.1).first()?;
        Some(head)
    }

    /// Number of turns in the queue's ring at this level, and of turns of other tenants in rings above
    /// it.
    pub fn competitors(&self, queue: QueueIx, level: i32, shard: ShardIx) -> (usize, usize) {
        let rings = &self.queue(queue).members[0].rings;
        let own_turns = self.shards[shard.0 as usize].turns.iter();
        let own_above =
            own_turns.filter(|(other, turn)| *other > level && self.turns.get(*turn).is_in_rings());
        let above: usize = rings.range(level + 1..).map(|(_, ring)| ring.len()).sum();
        (rings.get(&level).map_or(0, |ring| ring.len()), above - own_above.count())
    }

    /// The gates that keep jobs of this class from starting, with the reasons.
    pub fn closed_gates(&self, class: ClassId) -> impl Iterator<Item = (GateIx, Closed)> {
        let rules = self.class(class);
        let gates = self.gates_of(class).chain(self.queue(rules.queue).gate);
        gates.filter_map(|gate| Some((gate, self.limits.opening(gate, self.now).closed?)))
    }

    /// Whether tags or rounds have changed since they were last taken.
    pub fn has_changed_tags(&self) -> bool {
        self.accounts.has_changed()
    }

    /// Tags that have changed since the last call.
    pub fn take_changed_tags(&mut self) -> Vec<ChangedTag> {
        let changed = self.accounts.take_changed();
        let tag = |ix: StandingIx| {
            let standing = self.accounts.get(ix);
            let (account, tenant) = (standing.account, standing.tenant);
            ChangedTag { account, tenant, level: standing.level, tag: standing.tag }
        };
        changed.into_iter().map(tag).collect()
    }

    /// Sets forgotten since the last call.
    pub fn take_forgotten_rotations(&mut self) -> Vec<RotationKey> {
        std::mem::take(&mut self.rotations.forgotten)
    }

    /// Rotations that have dispatched, or whose account has changed, since the last call.
    pub fn take_changed_rotations(&mut self) -> Vec<ChangedRotation> {
        let served = self.rotations.take_changed().into_iter();
        let mut changed: BTreeMap<_, _> =
            served.map(|rotation| (rotation.key.clone(), rotation)).collect();
        for (account, level, round) in self.accounts.take_moved() {
            let Owner::Shared(key) = self.accounts.owner(account) else { continue };
            let Some(of_queues) = self.rotations.round_of(key) else { continue };
            let rotation = changed.entry(key.clone()).or_insert_with(|| ChangedRotation {
                key: key.clone(),
                round: of_queues,
                tags: Vec::new(),
                rounds: BTreeMap::new(),
            });
            rotation.rounds.insert(level, round);
        }
        changed.into_values().collect()
    }

    /// The strategy, queues and weights of a set with an account.
    pub fn set_with_account(
        &self,
        key: &RotationKey,
    ) -> Option<(QueueStrategy, Vec<(QueueIx, Weight)>)> {
        self.rotations.set_with_account(key)
    }

    pub fn owner(&self, account: AccountIx) -> &Owner {
        self.accounts.owner(account)
    }

    /// A tenant's tags where it has waiting jobs: the owner of the account, the level and the tag.
    pub fn tags_of(&self, tenant: TenantIx) -> Vec<(&Owner, i32, Tag)> {
        let turns = self.turns_of(tenant).into_iter();
        let ring_entries = turns.flat_map(|turn| &self.turns.get(turn).ring_entries);
        let tags = ring_entries.map(|entry| {
            let standing = self.accounts.get(entry.standing);
            (self.accounts.owner(standing.account), standing.level, standing.tag)
        });
        tags.collect()
    }
}
