//! Whose start is next at one key: virtual time over the tenants that wait for it, within a level of
//! priority and over all queues.

use std::collections::BTreeSet;

use crate::scheduler::small_map::SmallMap;
use crate::scheduler::tag::Tag;
use crate::tenant::TenantIx;

#[derive(Debug, Default)]
pub(crate) struct KeyOrder(SmallMap<i32, Level>);

#[derive(Debug, Default)]
struct Level {
    now: Tag,
    tenants: SmallMap<TenantIx, Standing>,
    /// Tenants with nothing waiting, until the key's time has passed their tags.
    idle: BTreeSet<(Tag, TenantIx)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Standing {
    tag: Tag,
    groups: u32,
    /// How far one job moves it, by the weight that it was last charged or looked at by.
    one: u128,
}

impl Standing {
    /// What a tenant was charged by a weight that it has no more does not keep it waiting for longer
    /// than one job at the present one.
    fn apply_weight(&mut self, now: Tag, one: u128) {
        if self.one != one {
            self.one = one;
            self.tag = self.tag.min(now.plus(one));
        }
    }
}

impl KeyOrder {
    /// A group of the tenant begins to wait. `one` is how far one job moves the tenant by its present
    /// weight, here and below.
    pub fn join(&mut self, level: i32, tenant: TenantIx, one: u128) {
        let level = self.0.or_insert(level, Level::default);
        let fresh = Standing { tag: level.now, groups: 0, one };
        let standing = level.tenants.or_insert(tenant, || fresh);
        standing.groups += 1;
        if standing.groups == 1 {
            level.idle.remove(&(standing.tag, tenant));
        }
        standing.apply_weight(level.now, one);
    }

    /// A tenant that waits may have another weight. Its groups are ranked anew by whoever says so.
    pub fn apply_weight(&mut self, level: i32, tenant: TenantIx, one: u128) {
        let Some(level) = self.0.get_mut(&level) else { return };
        if let Some(standing) = level.tenants.get_mut(&tenant).filter(|one| one.groups > 0) {
            standing.apply_weight(level.now, one);
        }
    }

    pub fn leave(&mut self, at: i32, tenant: TenantIx) {
        let Some(level) = self.0.get_mut(&at) else { return };
        let Some(standing) = level.tenants.get_mut(&tenant) else { return };
        standing.groups -= 1;
        if standing.groups > 0 {
            return;
        }
        let tag = standing.tag;
        if tag > level.now {
            level.idle.insert((tag, tenant));
        } else {
            level.tenants.remove(&tenant);
        }
        if level.idle.len() == level.tenants.len() {
            // Nobody waits, so nobody is before anybody.
            self.0.remove(&at);
        }
    }

    /// The tenant has no more jobs that wait for the key, and its number may be given to another.
    pub fn forget(&mut self, tenant: TenantIx) {
        for level in self.0.values_mut() {
            if let Some(idle) = level.tenants.get(&tenant).filter(|one| one.groups == 0) {
                level.idle.remove(&(idle.tag, tenant));
                level.tenants.remove(&tenant);
            }
        }
    }

    /// The tenant's tag. Whoever could not be served meanwhile is at most one job behind the key.
    pub fn tag(&self, level: i32, tenant: TenantIx, one: u128) -> Tag {
        let Some(level) = self.0.get(&level) else { return Tag::default() };
        let tag = level.tenants.get(&tenant).map_or(level.now, |standing| standing.tag);
        tag.max(level.now.minus(one))
    }

    /// A job of this tenant starts. Where the key's order was asked, its time moves on to where the
    /// tenant was, and no further than `round`.
    pub fn charge(&mut self, at: i32, tenant: TenantIx, step: u128, one: u128, round: Option<Tag>) {
        let Some(level) = self.0.get_mut(&at) else { return };
        let fresh = Standing { tag: level.now, groups: 0, one };
        let standing = level.tenants.or_insert(tenant, || fresh);
        if standing.groups == 0 {
            level.idle.remove(&(standing.tag, tenant));
        }
        standing.apply_weight(level.now, one);
        let start = standing.tag.max(level.now.minus(step));
        standing.tag = start.plus(step);
        if standing.groups == 0 {
            level.idle.insert((standing.tag, tenant));
        }
        if let Some(round) = round {
            level.now = level.now.max(start.min(round));
        }
        while let Some(&(tag, idle)) = level.idle.first()
            && tag <= level.now
        {
            level.idle.pop_first();
            level.tenants.remove(&idle);
        }
    }
}
