//! Tags and rounds after a restart.

use std::collections::BTreeMap;

use super::standing::Standing;
use super::{AccountIx, Accounts, Owner, StandingIx};
use crate::scheduler::tag::Tag;
use crate::tenant::TenantIx;

impl Accounts {
    /// Sets the tag stored before a restart.
    pub fn restore(&mut self, ix: StandingIx, tag: Tag) {
        let standing = self.get_mut(ix);
        (standing.tag, standing.last_tag) = (tag, tag);
    }

    /// Sets rounds after a restart from the smallest tags of waiting tenants, and clamps tags to one
    /// job ahead. Applies to the accounts of queues, or to the shared account `only`, whose rounds
    /// were not stored.
    pub fn begin_rounds(&mut self, only: Option<AccountIx>, job_step: impl Fn(TenantIx) -> u128) {
        let owners = &self.owners;
        let meant = |standing: &Standing| match only {
            Some(account) => standing.account == account,
            None => matches!(owners[standing.account.0 as usize], Owner::Queue(_)),
        };
        let mut rounds: BTreeMap<(AccountIx, i32), Tag> = BTreeMap::new();
        for standing in self.standings.iter().flatten().filter(|standing| meant(standing)) {
            let round = rounds.entry((standing.account, standing.level)).or_insert(standing.tag);
            *round = standing.tag.min(*round);
        }
        for standing in self.standings.iter_mut().flatten().filter(|standing| meant(standing)) {
            let round = rounds[&(standing.account, standing.level)];
            standing.tag = standing.tag.min(round.plus(job_step(standing.tenant)));
            standing.last_tag = standing.tag;
        }
        for (&(account, level), &round) in &rounds {
            self.level(account, level).round = round;
        }
    }

    /// Continues the stored rounds of a shared account after a restart. Tags behind the round are
    /// raised to it; a tenant stays ahead of the round by at most `most`.
    pub fn resume_rounds(
        &mut self,
        account: AccountIx,
        rounds: &BTreeMap<i32, Tag>,
        most: impl Fn(TenantIx) -> Option<u128>,
    ) {
        for (&level, &round) in rounds {
            self.level(account, level).round = round;
        }
        for standing in self.standings.iter_mut().flatten() {
            if standing.account != account {
                continue;
            }
            let round = rounds.get(&standing.level).copied().unwrap_or_default();
            let tag = standing.tag.max(round);
            let most = most(standing.tenant).map(|most| round.plus(most));
            standing.tag = most.map_or(tag, |most| tag.min(most));
            standing.last_tag = standing.tag;
        }
    }
}
