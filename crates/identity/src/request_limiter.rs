//! Token buckets that limit the requests of each caller, by permission.
//!
//! The limiter reads no clock: time is an argument. So one limiter can decide for several servers.

use std::collections::HashMap;
use std::sync::Arc;

use rota_model::TenantId;
use rota_model::request_limit::RequestRate;

use crate::Permission;

/// Whose requests are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestSource {
    pub tenant: Option<TenantId>,
    /// The subject of the credentials; `None` for all of the tenant.
    pub subject: Option<Arc<str>>,
}

/// A request that may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// Requests that may still come at once.
    pub remaining: u32,
}

/// A request over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// When there is room for one request again, in ms.
    pub retry_ms: u64,
}

/// One token in the units of a level: a rate of n per minute adds n units per ms.
const TOKEN: u64 = 60_000;
/// The most buckets of one tenant. Its further subjects share a bucket.
const MAX_PER_TENANT: usize = 1_000;
/// The most buckets. Further callers share one.
const MAX_BUCKETS: usize = 100_000;
/// Buckets that each request checks for being full, and so forgettable.
const CHECKED: usize = 2;

type Key = (Permission, Source);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Source {
    Own(RequestSource),
    /// The subjects of a tenant that have no bucket of their own.
    RestOf(Option<TenantId>),
    /// Everybody who has none.
    Rest,
}

impl Source {
    fn tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Own(source) => source.tenant.as_ref(),
            Self::RestOf(tenant) => tenant.as_ref(),
            Self::Rest => None,
        }
    }
}

struct Bucket {
    key: Key,
    level: u64,
    rate: RequestRate,
    /// When the level was right, in ms.
    at: u64,
}

impl Bucket {
    fn capacity(rate: RequestRate) -> u64 {
        u64::from(rate.burst) * TOKEN
    }

    /// Adds what has come since, by the rate that was in force, and then applies the new one.
    fn refill(&mut self, rate: RequestRate, now: u64) {
        self.level = self.level_at(now).min(Self::capacity(rate));
        (self.rate, self.at) = (rate, now.max(self.at));
    }

    fn level_at(&self, now: u64) -> u64 {
        let added = now.saturating_sub(self.at).saturating_mul(u64::from(self.rate.per_minute));
        self.level.saturating_add(added).min(Self::capacity(self.rate))
    }

    /// A full bucket is as good as none.
    fn is_full(&self, now: u64) -> bool {
        self.level_at(now) == Self::capacity(self.rate)
    }
}

/// All buckets. Those that are full again are forgotten.
#[derive(Default)]
pub struct RequestLimiter {
    buckets: Vec<Bucket>,
    index: HashMap<Key, usize>,
    per_tenant: HashMap<Option<TenantId>, usize>,
    /// The next bucket to check.
    hand: usize,
}

impl RequestLimiter {
    /// Counts a request that needs `permission`. `now` is in ms and must not go back.
    pub fn take(
        &mut self,
        permission: Permission,
        source: &RequestSource,
        rate: RequestRate,
        now: u64,
    ) -> Result<Granted, Exceeded> {
        self.forget_some(now);
        let index = self.find(permission, source, rate, now);
        let bucket = &mut self.buckets[index];
        bucket.refill(rate, now);
        if let Some(left) = bucket.level.checked_sub(TOKEN) {
            bucket.level = left;
            return Ok(Granted { remaining: (left / TOKEN) as u32 });
        }
        let missing = TOKEN - bucket.level;
        Err(Exceeded { retry_ms: missing.div_ceil(u64::from(rate.per_minute)) })
    }

    /// Number of buckets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// The index of the bucket for these requests, which may be new.
    fn find(
        &mut self,
        permission: Permission,
        source: &RequestSource,
        rate: RequestRate,
        now: u64,
    ) -> usize {
        let own = (permission, Source::Own(source.clone()));
        if let Some(index) = self.index.get(&own) {
            return *index;
        }
        let of_tenant = self.per_tenant.get(&source.tenant).copied().unwrap_or(0);
        let key = if of_tenant >= MAX_PER_TENANT {
            (permission, Source::RestOf(source.tenant.clone()))
        } else if self.buckets.len() >= MAX_BUCKETS {
            (permission, Source::Rest)
        } else {
            own
        };
        if let Some(index) = self.index.get(&key) {
            return *index;
        }
        let index = self.buckets.len();
        *self.per_tenant.entry(key.1.tenant().cloned()).or_default() += 1;
        self.index.insert(key.clone(), index);
        self.buckets.push(Bucket { key, level: Bucket::capacity(rate), rate, at: now });
        index
    }

    /// Forgets those of the next few buckets that are full.
    fn forget_some(&mut self, now: u64) {
        for _ in 0..CHECKED.min(self.buckets.len()) {
            if self.hand >= self.buckets.len() {
                self.hand = 0;
            }
            match self.buckets.get(self.hand).map(|bucket| bucket.is_full(now)) {
                Some(true) => self.forget(self.hand),
                Some(false) => self.hand += 1,
                None => return,
            }
        }
    }

    fn forget(&mut self, index: usize) {
        let bucket = self.buckets.swap_remove(index);
        self.index.remove(&bucket.key);
        if let Some(moved) = self.buckets.get(index) {
            self.index.insert(moved.key.clone(), index);
        }
        let tenant = bucket.key.1.tenant().cloned();
        if let Some(count) = self.per_tenant.get_mut(&tenant) {
            *count -= 1;
            if *count == 0 {
                self.per_tenant.remove(&tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests;
