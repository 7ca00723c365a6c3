//! The share of all dispatches that each tenant is entitled to.

use std::collections::{BTreeMap, BTreeSet};

use super::tenants::fraction;
use crate::Engine;
use crate::queue::QueueIx;
use crate::scheduler::{AccountIx, Eligible, Owner};
use crate::tenant::TenantIx;

/// Accounts that are checked for somebody who could be served. Further ones count as if there was
/// somebody.
const MAX_ACCOUNTS: usize = 4_096;
/// Turns that are checked individually, in all accounts together.
const MAX_TURNS: usize = 32_768;

/// Computes the shares of several tenants at one moment, so that each account is examined once.
///
/// In an account, a tenant's share is its weight over the weights of all tenants that could be
/// served next. Accounts through which somebody could be served are weighted by the dispatches on
/// shared workers that each was charged for in the last minute. All shares together are at most 1.
pub(crate) struct Entitled<'a> {
    engine: &'a Engine,
    /// The weight of each account. Accounts that are not listed have none.
    parts: BTreeMap<AccountIx, u64>,
    /// The sum of `parts`.
    whole: u64,
    eligible: BTreeMap<AccountIx, Option<Eligible>>,
    /// Turns that may still be checked.
    left: usize,
}

impl<'a> Entitled<'a> {
    pub fn new(engine: &'a Engine) -> Self {
        let mut all = Self::without_parts(engine);
        all.weigh_accounts();
        all
    }

    fn without_parts(engine: &'a Engine) -> Self {
        let (parts, eligible) = Default::default();
        Self { engine, parts, whole: 0, eligible, left: MAX_TURNS }
    }

    pub fn share(&mut self, tenant: TenantIx) -> f64 {
        let accounts = self.engine.scheduler.accounts_of(tenant).into_iter();
        let shares = accounts.map(|account| match self.parts.get(&account) {
            Some(charged) => fraction(*charged, self.whole) * self.share_in(account, tenant),
            None => 0.0,
        });
        // `sum()` of nothing is -0.0.
        shares.fold(0.0, |sum, share| sum + share)
    }

    /// Weights the accounts by their dispatches of the last minute, or equally if there were none.
    /// If nobody could be served anywhere, all accounts count in which somebody waits.
    fn weigh_accounts(&mut self) {
        let engine = self.engine;
        let waiting = engine.scheduler.queues_with_jobs();
        let members = waiting.iter().flat_map(|queue| engine.scheduler.accounts_over(*queue));
        let members: BTreeSet<AccountIx> = members.collect();
        let last = waiting.iter().map(|queue| engine.scheduler.last_account(*queue));
        let last: BTreeSet<AccountIx> = last.collect();
        for serving in [true, false] {
            for charged in [true, false] {
                let accounts = if charged { &members } else { &last };
                for account in accounts {
                    let counts = if charged { engine.charged_in_minute(*account) } else { 1 };
                    if counts > 0 && (!serving || self.serves(*account)) {
                        self.parts.insert(*account, counts);
                        self.whole += counts;
                    }
                }
                if self.whole > 0 {
                    return;
                }
            }
        }
    }

    fn serves(&mut self, account: AccountIx) -> bool {
        let looks = self.eligible.len() < MAX_ACCOUNTS || self.eligible.contains_key(&account);
        !looks || self.eligible(account).as_ref().is_some_and(Eligible::serves)
    }

    fn share_in(&mut self, account: AccountIx, tenant: TenantIx) -> f64 {
        let scheduler = &self.engine.scheduler;
        let eligible = self.eligible(account);
        eligible.as_ref().map_or(0.0, |eligible| scheduler.share(eligible, tenant))
    }

    fn eligible(&mut self, account: AccountIx) -> &Option<Eligible> {
        let scheduler = &self.engine.scheduler;
        let left = &mut self.left;
        self.eligible.entry(account).or_insert_with(|| scheduler.eligible(account, left))
    }
}

impl Engine {
    /// A tenant's share in the account that the last start from a queue was charged to.
    pub(super) fn share_of_queue(&self, queue: QueueIx, tenant: TenantIx) -> f64 {
        Entitled::without_parts(self).share_in(self.scheduler.last_account(queue), tenant)
    }

    /// Dispatches of the last minute that an account was charged for.
    fn charged_in_minute(&self, account: AccountIx) -> u64 {
        let (now, watch) = (self.wall(), &self.account_watch);
        match self.scheduler.owner(account) {
            Owner::Queue(queue) => {
                let all = self.queues.get(*queue).stats.dispatches.sum(now).jobs();
                all.saturating_sub(watch.elsewhere_in_minute(*queue, now))
            }
            Owner::Shared(key) => watch.shared_in_minute(key, now),
        }
    }
}
