//! The order in which tenants use one key: start-time fair queueing over the tenants that wait for it,
//! for each level and across all queues.

use std::collections::BTreeSet;

use crate::scheduler::small_map::SmallMap;
use crate::scheduler::tag::Tag;
use crate::tenant::TenantIx;

/// The tenants' standings at one key, by level.
#[derive(Debug, Default)]
pub(crate) struct KeyOrder(SmallMap<i32, KeyLevel>);

#[derive(Debug, Default)]
struct KeyLevel {
    round: Tag,
    tenants: SmallMap<TenantIx, KeyStanding>,
    /// Tenants without waiting groups. Each is remembered until the round has passed its tag.
    idle: BTreeSet<(Tag, TenantIx)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct KeyStanding {
    tag: Tag,
    /// The tenant's groups that wait at gates of the key.
    groups: u32,
    /// How far one job moves the tag, by the tenant's weight when it was last applied.
    job_step: u128,
}

impl KeyStanding {
    /// Applies the tenant's current weight: a tag charged by an old weight is clamped to one job ahead
    /// of the round.
    fn apply_weight(&mut self, round: Tag, job_step: u128) {
        if self.job_step != job_step {
            self.job_step = job_step;
            self.tag = self.tag.min(round.plus(job_step));
        }
    }
}

impl KeyOrder {
    /// A group of the tenant begins to wait. Here and below, `job_step` is how far one job moves the
    /// tenant's tag by its current weight.
    pub fn join(&mut self, level: i32, tenant: TenantIx, job_step: u128) {
        let level_state = self.0.or_insert(level, KeyLevel::default);
        let fresh = KeyStanding { tag: level_state.round, groups: 0, job_step };
        let standing = level_state.tenants.or_insert(tenant, || fresh);
        standing.groups += 1;
        if standing.groups == 1 {
            level_state.idle.remove(&(standing.tag, tenant));
        }
        standing.apply_weight(level_state.round, job_step);
    }

    /// Applies a waiting tenant's current weight. The caller ranks the tenant's groups again.
    pub fn apply_weight(&mut self, level: i32, tenant: TenantIx, job_step: u128) {
        let Some(level_state) = self.0.get_mut(&level) else { return };
        let standing = level_state.tenants.get_mut(&tenant);
        if let Some(standing) = standing.filter(|standing| standing.groups > 0) {
            standing.apply_weight(level_state.round, job_step);
        }
    }

    /// A group of the tenant no longer waits.
    pub fn leave(&mut self, level: i32, tenant: TenantIx) {
        let Some(level_state) = self.0.get_mut(&level) else { return };
        let Some(standing) = level_state.tenants.get_mut(&tenant) else { return };
        standing.groups -= 1;
        if standing.groups > 0 {
            return;
        }
        let tag = standing.tag;
        if tag > level_state.round {
            level_state.idle.insert((tag, tenant));
        } else {
            level_state.tenants.remove(&tenant);
        }
        if level_state.idle.len() == level_state.tenants.len() {
            // Nobody waits, so there is no order left to remember.
            self.0.remove(&level);
        }
    }

    /// Forgets the tag of a tenant without waiting groups, because the tenant's index may be reused.
    pub fn forget(&mut self, tenant: TenantIx) {
        for level_state in self.0.values_mut() {
            let standing = level_state.tenants.get(&tenant);
            if let Some(idle) = standing.filter(|standing| standing.groups == 0) {
                level_state.idle.remove(&(idle.tag, tenant));
                level_state.tenants.remove(&tenant);
            }
        }
    }

    /// The tenant's tag. A tenant that could not be served for a while is at most one job behind the
    /// round.
    pub fn tag(&self, level: i32, tenant: TenantIx, job_step: u128) -> Tag {
        let Some(level_state) = self.0.get(&level) else { return Tag::default() };
        let standing = level_state.tenants.get(&tenant);
        let tag = standing.map_or(level_state.round, |standing| standing.tag);
        tag.max(level_state.round.minus(job_step))
    }

    /// Charges the tenant for a start. If the start followed the key's order, the round advances to the
    /// tenant's tag, but not beyond `round`.
    pub fn charge(
        &mut self,
        level: i32,
        tenant: TenantIx,
        step: u128,
        job_step: u128,
        round: Option<Tag>,
    ) {
        let Some(level_state) = self.0.get_mut(&level) else { return };
        let fresh = KeyStanding { tag: level_state.round, groups: 0, job_step };
        let standing = level_state.tenants.or_insert(tenant, || fresh);
        if standing.groups == 0 {
            level_state.idle.remove(&(standing.tag, tenant));
        }
        standing.apply_weight(level_state.round, job_step);
        let start = standing.tag.max(level_state.round.minus(step));
        standing.tag = start.plus(step);
        if standing.groups == 0 {
            level_state.idle.insert((standing.tag, tenant));
        }
        if let Some(round) = round {
            level_state.round = level_state.round.max(start.min(round));
        }
        while let Some(&(tag, idle)) = level_state.idle.first()
            && tag <= level_state.round
        {
            level_state.idle.pop_first();
            level_state.tenants.remove(&idle);
        }
    }
}
