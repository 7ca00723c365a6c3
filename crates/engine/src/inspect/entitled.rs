//! What tenants are entitled to of all that is handed out.

use std::collections::BTreeMap;

use super::tenants::part;
use crate::Engine;
use crate::queue::QueueIx;
use crate::scheduler::{AccountIx, Eligible, Owner};
use crate::tenant::TenantIx;

/// Shares of several tenants at one moment. Each account is looked at once.
///
/// In an account, a tenant's share is its weight over the weights of all that could be served the next
/// job. Accounts count by how many of the last minute's dispatches on shared workers each was charged
/// for, so all shares together are at most 1.
pub(crate) struct Entitled<'a> {
    engine: &'a Engine,
    /// Dispatches on shared workers in the last minute.
    dispatched: u64,
    known: BTreeMap<AccountIx, Option<Eligible>>,
}

impl<'a> Entitled<'a> {
    pub fn new(engine: &'a Engine) -> Self {
        Self { engine, dispatched: engine.dispatched_1m(), known: BTreeMap::new() }
    }

    pub fn share(&mut self, tenant: TenantIx) -> f64 {
        let scheduler = &self.engine.scheduler;
        if self.dispatched > 0 {
            let accounts = scheduler.accounts_of(tenant).into_iter();
            return accounts.map(|account| self.weighted(account, tenant)).sum();
        }
        // Nothing was handed out anywhere: the accounts in which it waits count alike.
        let accounts = scheduler.last_accounts_of(tenant);
        let n = accounts.len().max(1) as f64;
        accounts.into_iter().map(|account| self.share_in(account, tenant)).sum::<f64>() / n
    }

    fn weighted(&mut self, account: AccountIx, tenant: TenantIx) -> f64 {
        match self.engine.charged_in_minute(account) {
            0 => 0.0,
            charged => part(charged, self.dispatched) * self.share_in(account, tenant),
        }
    }

    fn share_in(&mut self, account: AccountIx, tenant: TenantIx) -> f64 {
        let scheduler = &self.engine.scheduler;
        let eligible = self.known.entry(account).or_insert_with(|| scheduler.eligible(account));
        eligible.as_ref().map_or(0.0, |eligible| scheduler.share(eligible, tenant))
    }
}

impl Engine {
    /// A tenant's share by the account that the last start from a queue was charged to.
    pub(super) fn share_of_queue(&self, queue: QueueIx, tenant: TenantIx) -> f64 {
        Entitled::new(self).share_in(self.scheduler.last_account(queue), tenant)
    }

    /// Dispatches of the last minute that were charged to an account.
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
