//! Accounts: what each tenant has had, of one queue or of all queues of a pool.
//!
//! In queue scope every queue has an account of its own. In pool scope a pool has one over all its
//! queues, and so have fetches without a pool that name the same queues. An account keeps a standing
//! for each tenant and level of priority: its tag in that account's virtual time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ahash::RandomState;
use rota_model::Weight;

use super::queue_turns::QueueTurns;
use super::rotations::RotationKey;
use super::tag::{Order, Tag};
use crate::queue::QueueIx;
use crate::slots::Pages;
use crate::tenant::TenantIx;

/// Queues that a start may look at, on average, to find out where the round is.
const QUEUES_PER_START: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountIx(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StandingIx(u32);

/// Whose an account is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    Queue(QueueIx),
    /// All queues that take turns in a rotation.
    Shared(RotationKey),
}

pub(super) struct Accounts {
    owners: Vec<Owner>,
    /// By account; a level stays once it is there, so that its round goes on.
    levels: Vec<BTreeMap<i32, Level>>,
    free_accounts: Vec<AccountIx>,
    standings: Vec<Option<Standing>>,
    free_standings: Vec<StandingIx>,
    by_tenant: HashMap<(AccountIx, TenantIx, i32), StandingIx, RandomState>,
    /// How many standings each tenant has.
    of_tenant: Pages<u32>,
    /// Standings whose tags have changed since they were last taken.
    changed: Vec<StandingIx>,
    /// Levels of pools' and sets' accounts whose round may have moved since they were last taken.
    moved: BTreeSet<(AccountIx, i32)>,
    /// Starts by which an account's round has not moved, since it last did.
    unmoved: BTreeMap<AccountIx, usize>,
}

#[derive(Default)]
struct Level {
    round: Tag,
    /// Standings of tenants that have nothing waiting, until the round has passed their tags.
    idle: BTreeSet<(Tag, StandingIx)>,
    standings: usize,
    /// The weights of the tenants that have jobs waiting, in hundredths.
    waiting: u64,
    /// The same of those that are in a ring.
    competing: u64,
}

#[derive(Debug)]
pub(super) struct Standing {
    pub account: AccountIx,
    pub tenant: TenantIx,
    pub level: i32,
    pub tag: Tag,
    /// The tag that the last service left. It never goes back while jobs wait: ranks at keys are by it.
    pub last_tag: Tag,
    /// Turns of the tenant that have jobs waiting.
    turns: u32,
    /// Those of them that are in a ring.
    turns_in_rings: u32,
    /// The tenant's weight in hundredths, kept up to date while it has jobs waiting.
    weight: u32,
    changed: bool,
    /// How the tenant's queues take turns, in an account over several of them; none before it is served.
    queues: Option<Box<QueueTurns>>,
}

impl Standing {
    pub fn order(&self) -> Order {
        (self.tag, self.last_tag)
    }

    pub fn weight(&self) -> u64 {
        u64::from(self.weight)
    }

    pub fn has_jobs(&self) -> bool {
        self.turns > 0
    }

    /// Turns that are in a ring.
    pub fn turns_in_rings(&self) -> u32 {
        self.turns_in_rings
    }
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
            of_tenant: Pages::default(),
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

    /// Forgets an account that no turn uses any more.
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

    /// Whether a tenant has a standing anywhere.
    pub fn knows(&self, tenant: TenantIx) -> bool {
        self.of_tenant.get(tenant.0 as usize).is_some_and(|standings| *standings > 0)
    }

    pub fn get(&self, ix: StandingIx) -> &Standing {
        self.standings[ix.0 as usize].as_ref().expect("a standing is there while a turn uses it")
    }

    fn get_mut(&mut self, ix: StandingIx) -> &mut Standing {
        self.standings[ix.0 as usize].as_mut().expect("a standing is there while a turn uses it")
    }

    fn level(&mut self, account: AccountIx, level: i32) -> &mut Level {
        self.levels[account.0 as usize].entry(level).or_default()
    }

    pub fn round(&self, account: AccountIx, level: i32) -> Tag {
        self.levels[account.0 as usize].get(&level).map_or(Tag::default(), |level| level.round)
    }

    /// From the highest level down: the weights of the tenants that have jobs waiting there, and of
    /// those of them that are in a ring, in hundredths.
    pub fn weights(&self, account: AccountIx) -> impl Iterator<Item = (i32, u64, u64)> {
        let levels = self.levels[account.0 as usize].iter().rev();
        let levels = levels.map(|(number, level)| (*number, level.waiting, level.competing));
        levels.filter(|(_, waiting, _)| *waiting > 0)
    }

    pub fn find(&self, account: AccountIx, tenant: TenantIx, level: i32) -> Option<StandingIx> {
        self.by_tenant.get(&(account, tenant, level)).copied()
    }

    /// A turn of this tenant has jobs: its standing, which the present round begins with when it is new.
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

    /// A turn has no more jobs. The tag is remembered until the round has passed it.
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

    /// Forgets idle standings that the round has passed; all of them when nobody has jobs.
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

    /// The tenant may be served from one more queue. Whoever was not served begins in the present round.
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

    pub fn turn_left_rings(&mut self, ix: StandingIx) {
        let standing = self.get_mut(ix);
        standing.turns_in_rings -= 1;
        if standing.turns_in_rings == 0 {
            let (account, level, weight) = (standing.account, standing.level, standing.weight);
            self.level(account, level).competing -= u64::from(weight);
        }
    }

    /// A job was handed out. Served out of turn, it moves nobody else's round.
    pub fn charge(&mut self, ix: StandingIx, step: u128, in_turn: bool) {
        let standing = self.get_mut(ix);
        let (account, level, start) = (standing.account, standing.level, standing.tag);
        // It may be behind the round by what was given back to it, and that stays its own.
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

    /// The place of a queue among those of a tenant, if a job moves it on by this step.
    pub fn queue_order(&self, ix: StandingIx, queue: QueueIx, step: u128) -> (Tag, u64) {
        let queues = self.get(ix).queues.as_deref();
        queues.map_or_else(Default::default, |queues| queues.order_of(queue, step))
    }

    /// A tenant was served from one of its queues, whose turn that was.
    pub fn queue_served(&mut self, ix: StandingIx, queue: QueueIx, step: u128) {
        self.get_mut(ix).queues.get_or_insert_default().served(queue, step);
    }

    fn tag_changed(&mut self, ix: StandingIx) {
        if !std::mem::replace(&mut self.get_mut(ix).changed, true) {
            self.changed.push(ix);
        }
    }

    /// One more tenant was chosen from some of an account's queues only. Whether it is time to look at
    /// all of them.
    pub fn is_round_due(&mut self, account: AccountIx, queues: usize) -> bool {
        let unmoved = self.unmoved.entry(account).or_default();
        *unmoved += QUEUES_PER_START;
        let due = *unmoved >= queues;
        if due {
            *unmoved = 0;
        }
        due
    }

    pub fn lift_round(&mut self, account: AccountIx, level: i32, to: Tag) {
        let level_state = self.level(account, level);
        if to > level_state.round {
            level_state.round = to;
            if self.is_shared(account) {
                self.moved.insert((account, level));
            }
        }
    }

    /// Moves a tag that is behind the round up to it. Whether it was.
    pub fn lift(&mut self, ix: StandingIx) -> bool {
        let standing = self.get(ix);
        let round = self.round(standing.account, standing.level);
        let standing = self.get_mut(ix);
        let moves = standing.tag < round;
        standing.tag = standing.tag.max(round);
        moves
    }

    /// What was charged in advance was too little, or too much.
    pub fn correct(&mut self, ix: StandingIx, more: u128, less: u128) {
        self.tag_changed(ix);
        let standing = self.get_mut(ix);
        if standing.turns == 0 {
            // Nobody waits for it: what it did not use is not saved.
            let (tag, account, level) = (standing.tag, standing.account, standing.level);
            standing.tag = tag.plus(more).minus(less);
            let new = standing.tag;
            let level_state = self.level(account, level);
            if level_state.idle.remove(&(tag, ix)) {
                level_state.idle.insert((new, ix));
            }
            self.clear_idle(account, level);
            return;
        }
        standing.tag = standing.tag.plus(more).minus(less);
    }

    /// What a tenant was charged by a weight that it has no more does not keep it waiting for longer
    /// than one job at the present one.
    pub fn clamp(&mut self, ix: StandingIx, job_step: u128, weight: Weight) {
        let standing = self.get(ix);
        let (account, level) = (standing.account, standing.level);
        let most = self.round(account, level).plus(job_step);
        if standing.tag > most {
            self.tag_changed(ix);
        }
        let standing = self.get_mut(ix);
        let old_tag = standing.tag;
        standing.tag = old_tag.min(most);
        standing.last_tag = standing.last_tag.min(most);
        let (tag, idle) = (standing.tag, standing.turns == 0);
        if idle {
            let level_state = self.level(account, level);
            level_state.idle.remove(&(old_tag, ix));
            level_state.idle.insert((tag, ix));
            return;
        }
        let new = weight.hundredths();
        let standing = self.get_mut(ix);
        let (old, in_rings) =
            (std::mem::replace(&mut standing.weight, new), standing.turns_in_rings > 0);
        let level_state = self.level(account, level);
        level_state.waiting = level_state.waiting + u64::from(new) - u64::from(old);
        if in_rings {
            level_state.competing = level_state.competing + u64::from(new) - u64::from(old);
        }
    }

    /// A tenant's standings in an account, those of levels where it has nothing waiting included.
    pub fn standings_of(&self, account: AccountIx, tenant: TenantIx) -> Vec<StandingIx> {
        let levels = self.levels[account.0 as usize].keys();
        levels.filter_map(|level| self.find(account, tenant, *level)).collect()
    }

    /// A tag as it was before a restart.
    pub fn restore(&mut self, ix: StandingIx, tag: Tag) {
        let standing = self.get_mut(ix);
        (standing.tag, standing.last_tag) = (tag, tag);
    }

    /// After a restart: rounds follow from the tags of those that wait, and a tag from a round that
    /// ended long ago keeps its tenant waiting for no more than one job. In the accounts of queues, or
    /// in one account of a pool or set whose rounds are not known.
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

    /// After a restart, in an account whose rounds are known: they go on, and so do the tags that were
    /// restored. All others begin in the present round. What a tenant has had ahead of the others it
    /// still has, up to `most`.
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

    /// Levels of pools' and sets' accounts that were charged since the last call or whose round has
    /// moved, with their rounds.
    pub fn take_moved(&mut self) -> Vec<(AccountIx, i32, Tag)> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        moved.map(|(account, level)| (account, level, self.round(account, level))).collect()
    }

    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty() || !self.moved.is_empty()
    }

    /// Standings whose tags have changed since the last call.
    pub fn take_changed(&mut self) -> Vec<StandingIx> {
        let mut changed = std::mem::take(&mut self.changed);
        changed.retain(|ix| {
            let standing = self.standings[ix.0 as usize].as_mut();
            standing.is_some_and(|standing| std::mem::replace(&mut standing.changed, false))
        });
        changed
    }
}
