//! Whose start is next at one key: virtual time over the tenants that wait for it, within a level of
//! priority and over all queues.

use std::collections::BTreeSet;

use crate::scheduler::few::Few;
use crate::scheduler::tag::Tag;
use crate::tenant::TenantIx;

#[derive(Debug, Default)]
pub(crate) struct KeyOrder(Few<i32, Level>);

#[derive(Debug, Default)]
struct Level {
    now: Tag,
    tenants: Few<TenantIx, Standing>,
    /// Tenants with nothing waiting, until the key's time has passed their tags.
    idle: BTreeSet<(Tag, TenantIx)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Standing {
    tag: Tag,
    groups: u32,
}

impl KeyOrder {
    pub fn join(&mut self, level: i32, tenant: TenantIx) {
        let level = self.0.or_insert(level, Level::default);
        let fresh = Standing { tag: level.now, groups: 0 };
        let standing = level.tenants.or_insert(tenant, || fresh);
        standing.groups += 1;
        if standing.groups == 1 {
            level.idle.remove(&(standing.tag, tenant));
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

    /// A job of this tenant starts; `in_turn` where the key's order was asked.
    pub fn charge(&mut self, at: i32, tenant: TenantIx, step: u128, in_turn: bool) {
        let Some(level) = self.0.get_mut(&at) else { return };
        let fresh = Standing { tag: level.now, groups: 0 };
        let standing = level.tenants.or_insert(tenant, || fresh);
        let start = standing.tag.max(level.now.minus(step));
        if standing.groups == 0 {
            level.idle.remove(&(standing.tag, tenant));
        }
        standing.tag = start.plus(step);
        if standing.groups == 0 {
            level.idle.insert((standing.tag, tenant));
        }
        if in_turn {
            level.now = level.now.max(start);
        }
        while let Some(&(tag, idle)) = level.idle.first()
            && tag <= level.now
        {
            level.idle.pop_first();
            level.tenants.remove(&idle);
        }
    }
}
