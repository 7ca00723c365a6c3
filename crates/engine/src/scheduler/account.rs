//! Accounts: how much each tenant has been served from one queue, from a pool, or from a set of
//! queues.
//!
//! Every queue has an account. In pool scope, so does every pool, and every set of queues that fetches
//! without a pool name. An account has a standing for each tenant and level: the tenant's tag in the
//! account's virtual time.

mod corrections;
mod restored;
mod standing;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ahash::RandomState;
use rota_model::Weight;

use self::standing::Standing;
use super::rotations::RotationKey;
use super::tag::Tag;
use crate::queue::QueueIx;
use crate::slab::PagedVec;
use crate::tenant::TenantIx;

/// Queues visited per start, on average, to find the round of an account over many queues.
const QUEUES_PER_START: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountIx(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StandingIx(u32);

/// The queue, pool or set that an account belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    Queue(QueueIx),
    /// A pool or set in pool scope: one account over all queues of its rotation.
    Shared(RotationKey),
}

/// All accounts and their standings.
pub(super) struct Accounts {
    owners: Vec<Owner>,
    /// Indexed by account. Levels are never removed, so that their rounds continue.
    levels: Vec<BTreeMap<i32, Level>>,
    free_accounts: Vec<AccountIx>,
    standings: Vec<Option<Standing>>,
    free_standings: Vec<StandingIx>,
    by_tenant: HashMap<(AccountIx, TenantIx, i32), StandingIx, RandomState>,
    /// Number of standings, by tenant.
    of_tenant: PagedVec<u32>,
    /// Standings whose tags have changed since the last `take_changed`.
    changed: Vec<StandingIx>,
    /// Levels of shared accounts that were charged, or whose round moved, since the last `take_moved`.
    moved: BTreeSet<(AccountIx, i32)>,
    /// For each shared account, queues that starts have earned visits to since the round was last
    /// searched for.
    unmoved: BTreeMap<AccountIx, usize>,
}

/// One level of an account.
#[derive(Default)]
struct Level {
    round: Tag,
    /// Standings of tenants without waiting jobs. Each is remembered until the round has passed its
    /// tag.
    idle: BTreeSet<(Tag, StandingIx)>,
    standings: usize,
    /// Sum of the weights, in hundredths, of the tenants with waiting jobs.
    waiting: u64,
    /// Sum of the weights, in hundredths, of the tenants in a ring.
    competing: u64,
}

impl Accounts {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            owners: Vec::new(),
            levels: Vec::new(),
            free_accounts: Vec::new(),
            standings: Vec::new(),
            free_standings: Vec::new(),
            by_tenant: HashMap::with_hasher(hasher),
            of_tenant: PagedVec::default(),
            changed: Vec::new(),
            moved: BTreeSet::new(),
            unmoved: BTreeMap::new(),
        }
    }

    pub fn open(&mut self, owner: Owner) -> AccountIx {
        if let Some(ix) = self.free_accounts.pop() {
            self.owners[ix.0 as usize] = owner;
            return ix;
        }
        self.levels.push(BTreeMap::new());
        self.owners.push(owner);
        AccountIx(self.levels.len() as u32 - 1)
    }

    /// Forgets an account that no turn uses.
    pub fn close(&mut self, account: AccountIx) {
        for (_, level) in std::mem::take(&mut self.levels[account.0 as usize]) {
            for (_, standing) in level.idle {
                self.drop_standing(standing);
            }
        }
        self.unmoved.remove(&account);
        self.moved.retain(|(moved, _)| *moved != account);
        self.free_accounts.push(account);
    }

    pub fn owner(&self, account: AccountIx) -> &Owner {
        &self.owners[account.0 as usize]
    }

    fn is_shared(&self, account: AccountIx) -> bool {
        matches!(self.owner(account), Owner::Shared(_))
    }

    /// Whether a tenant has a standing in any account.
    pub fn has_standing(&self, tenant: TenantIx) -> bool {
        self.of_tenant.get(tenant.0 as usize).is_some_and(|standings| *standings > 0)
    }

    pub fn get(&self, ix: StandingIx) -> &Standing {
        self.standings[ix.0 as usize].as_ref().expect("a standing exists while a turn uses it")
    }

    fn get_mut(&mut self, ix: StandingIx) -> &mut Standing {
        self.standings[ix.0 as usize].as_mut().expect("a standing exists while a turn uses it")
    }

    fn level(&mut self, account: AccountIx, level: i32) -> &mut Level {
        self.levels[account.0 as usize].entry(level).or_default()
    }

    pub fn round(&self, account: AccountIx, level: i32) -> Tag {
        self.levels[account.0 as usize].get(&level).map_or(Tag::default(), |level| level.round)
    }

    /// From the highest level down: the level, and the sums of the weights, in hundredths, of the
    /// tenants with waiting jobs and of those in a ring.
    pub fn weights(&self, account: AccountIx) -> impl Iterator<Item = (i32, u64, u64)> {
        let levels = self.levels[account.0 as usize].iter().rev();
        let levels = levels.map(|(number, level)| (*number, level.waiting, level.competing));
        levels.filter(|(_, waiting, _)| *waiting > 0)
    }

    pub fn find(&self, account: AccountIx, tenant: TenantIx, level: i32) -> Option<StandingIx> {
        self.by_tenant.get(&(account, tenant, level)).copied()
    }

    /// Returns the standing for a new turn of the tenant. A new standing starts at the current round.
    pub fn join(
        &mut self,
        account: AccountIx,
        tenant: TenantIx,
        level: i32,
        weight: Weight,
    ) -> StandingIx {
        let weight = weight.hundredths();
        if let Some(ix) = self.find(account, tenant, level) {
            let standing = self.get_mut(ix);
            standing.turns += 1;
            if standing.turns == 1 {
                standing.weight = weight;
                let tag = standing.tag;
                let level_state = self.level(account, level);
                level_state.idle.remove(&(tag, ix));
                level_state.waiting += u64::from(weight);
            }
            return ix;
        }
        let level_state = self.level(account, level);
        level_state.standings += 1;
        level_state.waiting += u64::from(weight);
        let tag = level_state.round;
        let standing = Standing {
            account,
            tenant,
            level,
            tag,
            last_tag: tag,
            turns: 1,
            turns_in_rings: 0,
            weight,
            changed: false,
            queues: None,
        };
        let ix = match self.free_standings.pop() {
            Some(ix) => {
                self.standings[ix.0 as usize] = Some(standing);
                ix
            }
            None => {
                self.standings.push(Some(standing));
                StandingIx(self.standings.len() as u32 - 1)
            }
        };
        self.by_tenant.insert((account, tenant, level), ix);
        let index = tenant.0 as usize;
        while self.of_tenant.len() <= index {
            self.of_tenant.push(0);
        }
        self.of_tenant[index] += 1;
        ix
    }

    /// A turn of the standing is gone. The tag is remembered until the round has passed it.
    pub fn leave(&mut self, ix: StandingIx, queue: QueueIx) {
        let standing = self.get_mut(ix);
        if let Some(queues) = &mut standing.queues {
            queues.leave(queue);
        }
        standing.turns -= 1;
        if standing.turns > 0 {
            return;
        }
        let (account, level, tag) = (standing.account, standing.level, standing.tag);
        let weight = u64::from(standing.weight);
        let level_state = self.level(account, level);
        level_state.waiting -= weight;
        if tag > level_state.round {
            level_state.idle.insert((tag, ix));
        } else {
            self.drop_standing(ix);
        }
        self.clear_idle(account, level);
    }

    /// Drops idle standings that the round has passed, or all of them if nobody at the level has
    /// waiting jobs.
    fn clear_idle(&mut self, account: AccountIx, level: i32) {
        loop {
            let level_state = self.level(account, level);
            let Some(&(tag, ix)) = level_state.idle.first() else { return };
            let nobody_waits = level_state.idle.len() == level_state.standings;
            if tag > level_state.round && !nobody_waits {
                return;
            }
            level_state.idle.pop_first();
            if nobody_waits {
                self.lift_round(account, level, tag);
            }
            self.drop_standing(ix);
        }
    }

    fn drop_standing(&mut self, ix: StandingIx) {
        if let Some(standing) = self.standings[ix.0 as usize].take() {
            let Standing { account, tenant, level, .. } = standing;
            self.by_tenant.remove(&(account, tenant, level));
            self.of_tenant[tenant.0 as usize] -= 1;
            if let Some(level_state) = self.levels[account.0 as usize].get_mut(&level) {
                level_state.standings -= 1;
            }
            self.free_standings.push(ix);
        }
    }

    /// One more turn of the standing is in the rings. A tenant that enters with its first turn starts
    /// no earlier than the current round.
    pub fn turn_entered_rings(&mut self, ix: StandingIx, queue: QueueIx) {
        let standing = self.get_mut(ix);
        if let Some(queues) = &mut standing.queues {
            queues.join(queue);
        }
        standing.turns_in_rings += 1;
        if standing.turns_in_rings > 1 {
            return;
        }
        let (account, level, weight) = (standing.account, standing.level, standing.weight);
        let level_state = self.level(account, level);
        level_state.competing += u64::from(weight);
        let round = level_state.round;
        let standing = self.get_mut(ix);
        standing.tag = standing.tag.max(round);
    }

    /// One turn of the standing is no longer in the rings.
    pub fn turn_left_rings(&mut self, ix: StandingIx) {
        let standing = self.get_mut(ix);
        standing.turns_in_rings -= 1;
        if standing.turns_in_rings == 0 {
            let (account, level, weight) = (standing.account, standing.level, standing.weight);
            self.level(account, level).competing -= u64::from(weight);
        }
    }

    /// Charges a tenant for a job. Only a job served in turn advances the round.
    pub fn charge(&mut self, ix: StandingIx, step: u128, in_turn: bool) {
        let standing = self.get_mut(ix);
        let (account, level, start) = (standing.account, standing.level, standing.tag);
        // A refund may have put the tag behind the round; the tenant keeps that advantage.
        standing.tag = start.plus(step);
        standing.last_tag = standing.last_tag.max(standing.tag);
        self.tag_changed(ix);
        if self.is_shared(account) {
            self.moved.insert((account, level));
        }
        if in_turn {
            self.lift_round(account, level, start);
        }
    }

    /// The sort key of a queue among the tenant's queues, where one job moves the queue's tag by
    /// `step`.
    pub fn queue_order(&self, ix: StandingIx, queue: QueueIx, step: u128) -> (Tag, u64) {
        let queues = self.get(ix).queues.as_deref();
        queues.map_or_else(Default::default, |queues| queues.order_of(queue, step))
    }

    /// A fetch has named a queue where the tenant has work: whether a job may start from that queue.
    pub fn queue_named(&mut self, ix: StandingIx, queue: QueueIx, may_start: bool) {
        if let Some(queues) = &mut self.get_mut(ix).queues {
            queues.named(queue, may_start);
        }
    }

    /// Charges a queue among the tenant's queues for a job served in turn.
    pub fn queue_served(&mut self, ix: StandingIx, queue: QueueIx, step: u128) {
        self.get_mut(ix).queues.get_or_insert_default().served(queue, step);
    }

    fn tag_changed(&mut self, ix: StandingIx) {
        if !std::mem::replace(&mut self.get_mut(ix).changed, true) {
            self.changed.push(ix);
        }
    }

    /// Counts a start chosen from only some of the account's queues. Returns whether it is time to
    /// visit all of them to find the round.
    pub fn is_round_due(&mut self, account: AccountIx, queues: usize) -> bool {
        let unmoved = self.unmoved.entry(account).or_default();
        *unmoved += QUEUES_PER_START;
        let due = *unmoved >= queues;
        if due {
            *unmoved = 0;
        }
        due
    }

    /// Advances the round; it never goes back.
    pub fn lift_round(&mut self, account: AccountIx, level: i32, to: Tag) {
        let level_state = self.level(account, level);
        if to > level_state.round {
            level_state.round = to;
            if self.is_shared(account) {
                self.moved.insert((account, level));
            }
        }
    }

    /// Raises a tag that is behind the round to the round. Returns whether it was behind.
    pub fn lift(&mut self, ix: StandingIx) -> bool {
        let standing = self.get(ix);
        let round = self.round(standing.account, standing.level);
        let standing = self.get_mut(ix);
        let moves = standing.tag < round;
        standing.tag = standing.tag.max(round);
        moves
    }

    /// A tenant's standings in an account, including idle ones.
    pub fn standings_of(&self, account: AccountIx, tenant: TenantIx) -> Vec<StandingIx> {
        let levels = self.levels[account.0 as usize].keys();
        levels.filter_map(|level| self.find(account, tenant, *level)).collect()
    }

    /// Levels of shared accounts that were charged, or whose round moved, since the last call, with
    /// their rounds.
    pub fn take_moved(&mut self) -> Vec<(AccountIx, i32, Tag)> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        moved.map(|(account, level)| (account, level, self.round(account, level))).collect()
    }

    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty() || !self.moved.is_empty()
    }

    pub fn take_changed(&mut self) -> Vec<StandingIx> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.retain(|ix| {
            let standing = self.standings[ix.0 as usize].as_mut();
            standing.is_some_and(|standing| std::mem::replace(&mut standing.changed, false))
        });
        changed
    }
}
