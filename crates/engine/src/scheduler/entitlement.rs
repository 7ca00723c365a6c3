//! Entitlement: which tenants could be served the next job, and each tenant's share of it; read-only.

use std::collections::{BTreeMap, BTreeSet};

use super::Scheduler;
use super::account::{AccountIx, Owner};
use super::limits::Waitlist;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Turns checked one by one for an account, of each kind: in closed queues, in open queues, and
/// waiting for an open start that is offered to others. Further turns count by whether they are in a
/// ring.
const MOST_TURNS: usize = 4_096;
/// Lanes checked for each turn. A turn with more lanes is assumed to be able to start one.
const MOST_LANES: usize = 16;

/// The tenants that could be served the next job through an account, all at one level.
pub(crate) struct Eligible {
    account: AccountIx,
    level: i32,
    /// Sum of their weights, in hundredths.
    weights: u64,
    /// Nobody could be served, so all tenants with waiting jobs at this level count.
    blocked: bool,
    /// Some queue of the account may dispatch. If none may, that affects all tenants alike.
    open: bool,
    /// Tenants that count although they are in no ring, because they wait for an open start.
    in_line: BTreeSet<TenantIx>,
    /// Tenants in rings that could not be served from any of them.
    shut_out: BTreeSet<TenantIx>,
}

impl Eligible {
    /// Whether somebody could be served.
    pub fn serves(&self) -> bool {
        self.open && !self.blocked
    }
}

type ByLevel = BTreeMap<i32, BTreeSet<TenantIx>>;

impl Scheduler {
    /// The tenants that could be served the next job through an account; `None` if nobody has waiting
    /// jobs. `left` is the number of turns that may be checked, and is reduced by those that were.
    pub fn eligible(&self, account: AccountIx, left: &mut usize) -> Option<Eligible> {
        let (queues, closed) = self.open_queues(account);
        let open = !queues.is_empty();
        // If no queue may dispatch, all of them count as open.
        let (queues, closed) = if open { (queues, closed) } else { (closed, queues) };
        let unusable = self.unusable_entries(&queues, &closed, account, left);
        let mut in_line = self.waiting_for_open_starts(&queues, account, left);
        let may_be_served_from_rings = |level: i32, tenant: &TenantIx| {
            let unusable = unusable.get(&(level, *tenant)).copied().unwrap_or(0);
            let standing = self.accounts.find(account, *tenant, level);
            standing.is_some_and(|ix| self.accounts.get(ix).turns_in_rings() > unusable)
        };
        for (level, tenants) in &mut in_line {
            tenants.retain(|tenant| !may_be_served_from_rings(*level, tenant));
        }
        let mut shut_out = ByLevel::new();
        for (level, tenant) in unusable.keys() {
            let waits = in_line.get_mut(level).is_some_and(|tenants| tenants.remove(tenant));
            if !waits && !may_be_served_from_rings(*level, tenant) {
                shut_out.entry(*level).or_default().insert(*tenant);
            }
        }
        let weight = |level: i32, tenants: &BTreeSet<TenantIx>| -> u64 {
            let standings =
                tenants.iter().filter_map(|tenant| self.accounts.find(account, *tenant, level));
            standings.map(|ix| self.accounts.get(ix).weight()).sum()
        };
        for (level, _, competing) in self.accounts.weights(account) {
            let in_line = in_line.remove(&level).unwrap_or_default();
            let shut_out = shut_out.remove(&level).unwrap_or_default();
            let weights = competing + weight(level, &in_line) - weight(level, &shut_out);
            if weights > 0 {
                let blocked = false;
                return Some(Eligible {
                    account,
                    level,
                    weights,
                    blocked,
                    open,
                    in_line,
                    shut_out,
                });
            }
        }
        let (level, weights, _) = self.accounts.weights(account).next()?;
        let (in_line, shut_out) = Default::default();
        Some(Eligible { account, level, weights, blocked: true, open, in_line, shut_out })
    }

    /// A tenant's share of the next job, from 0 to 1.
    pub fn share(&self, eligible: &Eligible, tenant: TenantIx) -> f64 {
        let Some(ix) = self.accounts.find(eligible.account, tenant, eligible.level) else {
            return 0.0;
        };
        let standing = self.accounts.get(ix);
        let in_rings = standing.turns_in_rings() > 0 && !eligible.shut_out.contains(&tenant);
        let counts = match eligible.blocked {
            true => standing.has_jobs(),
            false => in_rings || eligible.in_line.contains(&tenant),
        };
        if counts { standing.weight() as f64 / eligible.weights as f64 } else { 0.0 }
    }

    pub fn accounts_of(&self, tenant: TenantIx) -> BTreeSet<AccountIx> {
        let turns = self.turns_of(tenant).into_iter();
        let ring_entries = turns.flat_map(|turn| &self.turns.get(turn).ring_entries);
        ring_entries.map(|entry| self.accounts.get(entry.standing).account).collect()
    }

    pub fn accounts_over(&self, queue: QueueIx) -> impl Iterator<Item = AccountIx> {
        self.queue(queue).members.iter().map(|member| member.account)
    }

    pub fn queues_with_jobs(&self) -> Vec<QueueIx> {
        let all = (0..self.queues.len() as u32).map(QueueIx);
        all.filter(|queue| self.queue(*queue).available > 0).collect()
    }

    /// The account charged for the last start from a queue. Before the first start: the account of the
    /// pool or set that the queue is in, or the queue's.
    pub fn last_account(&self, queue: QueueIx) -> AccountIx {
        let queue_state = self.queue(queue);
        let first = queue_state.members.get(1).unwrap_or(&queue_state.members[0]);
        queue_state
            .charged
            .filter(|account| queue_state.member(*account).is_some())
            .unwrap_or(first.account)
    }

    /// Starts so far no longer tell which account is charged for the next start from these queues.
    pub fn forget_last_accounts(&mut self, queues: &[QueueIx]) {
        queues.iter().for_each(|queue| self.queue_mut(*queue).charged = None);
    }

    /// The queues of an account that may dispatch, and those that may not.
    fn open_queues(&self, account: AccountIx) -> (Vec<QueueIx>, Vec<QueueIx>) {
        let queues = match self.accounts.owner(account) {
            Owner::Queue(queue) => vec![*queue],
            Owner::Shared(key) => self.rotations.queues_of(key).to_vec(),
        };
        let is_open = |queue: &QueueIx| {
            let queue_state = self.queue(*queue);
            let closed =
                queue_state.gate.and_then(|gate| self.limits.opening(gate, self.now).closed);
            queue_state.may_dispatch() && closed.is_none()
        };
        queues.into_iter().partition(is_open)
    }

    /// Number of ring entries, by level and tenant, through which the tenant could not be served: in
    /// closed queues, and in open ones where its cap, a pause or a limit blocks it. Such entries exist
    /// because rings are repaired late.
    fn unusable_entries(
        &self,
        open: &[QueueIx],
        closed: &[QueueIx],
        account: AccountIx,
        left: &mut usize,
    ) -> BTreeMap<(i32, TenantIx), u32> {
        let mut unusable = BTreeMap::new();
        for (queues, are_open) in [(closed, false), (open, true)] {
            for (level, turn) in self.turns_in_rings_of(queues, account).take(MOST_TURNS.min(*left))
            {
                *left -= 1;
                if !(are_open && self.could_start(turn)) {
                    *unusable.entry((level, self.turns.get(turn).tenant)).or_default() += 1;
                }
            }
        }
        unusable
    }

    /// Turns in the rings of these queues, with their levels.
    fn turns_in_rings_of(
        &self,
        queues: &[QueueIx],
        account: AccountIx,
    ) -> impl Iterator<Item = (i32, TurnIx)> {
        let members = queues.iter().filter_map(move |queue| {
            let queue = self.queue(*queue);
            queue.member(account).map(|index| &queue.members[index])
        });
        let rings = members.flat_map(|member| &member.rings);
        rings.flat_map(|(level, ring)| ring.turns().map(|turn| (*level, turn)))
    }

    /// Whether a turn in a ring has a job that neither the tenant's cap nor a pause nor a limit
    /// blocks.
    fn could_start(&self, turn: TurnIx) -> bool {
        let turn_state = self.turns.get(turn);
        let offered = turn_state.offers.keys().map(|((_, _, class), _)| *class);
        let mut lanes = turn_state.free.keys().map(|(_, _, class)| *class).chain(offered);
        let mut checked = lanes.by_ref().take(MOST_LANES);
        !self.must_park(turn)
            && (checked.any(|class| self.closed_gate(class).is_none()) || lanes.next().is_some())
    }

    /// Tenants with a job that no limit blocks but without an offer, because more turns wait than
    /// starts are open.
    fn waiting_for_open_starts(
        &self,
        queues: &[QueueIx],
        account: AccountIx,
        left: &mut usize,
    ) -> ByLevel {
        let lists = queues.iter().flat_map(|queue| {
            let limits = self.queue(*queue).contended.iter();
            let existing = limits.filter(|limit| self.limits.exists(**limit));
            existing.filter_map(|limit| self.limits.limit(*limit).waitlists.get(queue))
        });
        let turns =
            lists.flat_map(|list| Waitlist::without_offer(list)).take(MOST_TURNS.min(*left));
        let may_start =
            |turn: &TurnIx, class| !self.must_park(*turn) && self.closed_gate(class).is_none();
        let mut tenants = ByLevel::new();
        for (turn, ((_, _, class), _)) in turns {
            *left -= 1;
            let turn_state = self.turns.get(turn);
            if may_start(&turn, class)
                && self.accounts.find(account, turn_state.tenant, turn_state.level).is_some()
            {
                tenants.entry(turn_state.level).or_default().insert(turn_state.tenant);
            }
        }
        tenants
    }
}
