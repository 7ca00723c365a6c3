//! A tenant's new rules, applied to its lanes and turns in slices, and to those that a fetch may be
//! served from before it is served.
//!
//! Tenants with few classes need none of this: see
//! [`Reconfigured::Tenant`](super::Reconfigured::Tenant).

use std::collections::BTreeSet;

use rota_model::ClassId;

use super::Scheduler;
use super::account::AccountIx;
use super::lane::LanePosition;
use super::pick::FetchRequest;
use super::state::TenantRules;
use super::tag::Tag;
use super::turn::TurnIx;
use super::waking::MOST_VISITED;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

/// Groups of a turn that are ranked again before a fetch is served.
const GROUPS_AT_ONCE: usize = 4;

/// A tenant whose new rules have not been applied to all of its lanes and turns.
#[derive(Default)]
pub(super) struct PendingRules {
    reweighed: bool,
    /// Accounts in which the new weight was applied.
    clamped: BTreeSet<AccountIx>,
}

impl Scheduler {
    /// Sets a tenant's rules for all further decisions. Returns whether its lanes and turns have to be
    /// visited.
    pub fn begin_rule_change(&mut self, ix: TenantIx, rules: TenantRules) -> bool {
        let tenant_state = &mut self.tenants[ix.0 as usize];
        let TenantRules { weight, cap, boost, max_priority } = rules;
        let reweighed = tenant_state.weight != weight;
        let same = !reweighed
            && (tenant_state.cap, tenant_state.boost, tenant_state.max_priority)
                == (cap, boost, max_priority);
        if same {
            return false;
        }
        if (tenant_state.boost, tenant_state.max_priority) != (boost, max_priority) {
            tenant_state.version += 1;
        }
        (tenant_state.weight, tenant_state.cap, tenant_state.boost, tenant_state.max_priority) =
            (weight, cap, boost, max_priority);
        let pending = self.pending_rules.entry(ix).or_default();
        pending.reweighed |= reweighed;
        if reweighed {
            pending.clamped.clear();
        }
        true
    }

    /// The rules were applied to all of the tenant's lanes and turns.
    pub fn end_rule_change(&mut self, tenant: TenantIx) {
        self.pending_rules.remove(&tenant);
    }

    /// Moves a lane to where its tenant's current rules put it.
    pub fn apply_rules_to_lane(&mut self, class: ClassId) {
        self.steps += 1;
        let Some(lane) = self.lanes.get(class) else { return };
        let LanePosition::Turn(turn, _, gate) = lane.position else { return };
        // A new weight changes ranks at keys.
        if gate.is_some() || self.is_out_of_date(turn) {
            self.steps += 2;
            self.displace_lane(class);
            self.place_lane(class);
        }
        // The group it is in may have lanes that have not been visited.
        let lane = self.lanes.get(class).map(|lane| lane.position);
        if let Some(LanePosition::Turn(turn, _, Some(gate))) = lane {
            self.rank_group_again(turn, gate);
        }
    }

    /// Applies its tenant's weight and cap to the turns of a shard.
    pub fn apply_rules_to_shard(&mut self, shard: ShardIx) {
        let shard_state = &self.shards[shard.0 as usize];
        let (queue, tenant) = (shard_state.queue, shard_state.tenant);
        let turns: Vec<TurnIx> = shard_state.turns.iter().map(|(_, turn)| *turn).collect();
        self.steps += 1 + turns.len() as u64;
        let accounts: Vec<AccountIx> =
            self.queue(queue).members.iter().map(|member| member.account).collect();
        for account in accounts {
            self.clamp_in(account, tenant);
        }
        turns.into_iter().for_each(|turn| self.place_turn_and_wake(turn));
    }

    fn clamp_in(&mut self, account: AccountIx, tenant: TenantIx) {
        let Some(pending) = self.pending_rules.get_mut(&tenant) else { return };
        if !pending.reweighed || !pending.clamped.insert(account) {
            return;
        }
        let weight = self.tenant(tenant).weight;
        let job_step = Tag::step(self.rules.one_job, weight);
        for standing in self.accounts.standings_of(account, tenant) {
            self.steps += 1;
            self.accounts.clamp(standing, job_step, weight);
        }
    }

    /// Applies pending rules where a fetch may be served from, before it is served.
    pub(super) fn apply_pending_rules(&mut self, request: &FetchRequest) {
        if self.pending_rules.is_empty() {
            return;
        }
        let queues = self.requested_queues(request);
        let tenants: Vec<TenantIx> =
            self.pending_rules.keys().copied().take(MOST_VISITED).collect();
        let pairs = tenants.iter().flat_map(|tenant| queues.iter().map(|queue| (*queue, *tenant)));
        let shards = pairs.take(MOST_VISITED).filter_map(|pair| self.shard_of.get(&pair));
        let shards: Vec<ShardIx> = shards.copied().collect();
        for shard in shards {
            self.move_first_lanes(shard);
            self.rank_first_groups(shard);
            self.apply_rules_to_shard(shard);
        }
    }

    /// Ranks the first groups of each turn by the new weight.
    fn rank_first_groups(&mut self, shard: ShardIx) {
        let shard_state = &self.shards[shard.0 as usize];
        if !self.pending_rules.get(&shard_state.tenant).is_some_and(|pending| pending.reweighed) {
            return;
        }
        let turns = shard_state.turns.iter().map(|(_, turn)| *turn);
        let first = |turn: TurnIx| {
            let groups = self.turns.get(turn).open_for_tenant.keys().take(GROUPS_AT_ONCE);
            groups.map(move |(_, gate)| (turn, *gate))
        };
        let groups: Vec<_> = turns.flat_map(first).take(MOST_VISITED).collect();
        for (turn, gate) in groups {
            self.steps += 1;
            if self.turns.contains(turn) {
                self.rank_group_again(turn, gate);
            }
        }
    }

    /// Moves the first lane of each turn that is out of date. By the new rules, too, it comes before
    /// the turn's other lanes.
    fn move_first_lanes(&mut self, shard: ShardIx) {
        let turns = self.shards[shard.0 as usize].turns.iter().map(|(_, turn)| *turn);
        let stale = turns.filter(|turn| self.is_out_of_date(*turn)).take(MOST_VISITED);
        for turn in stale.collect::<Vec<_>>() {
            for for_tenant in [false, true] {
                self.steps += 1;
                if !self.turns.contains(turn) {
                    break;
                }
                let turn_state = self.turns.get(turn);
                let first =
                    if for_tenant { turn_state.first_for_tenant() } else { turn_state.first() };
                let first =
                    first.map(|((_, _, class), _)| class).or_else(|| turn_state.lanes().next());
                if let Some(class) = first {
                    self.apply_rules_to_lane(class);
                }
            }
        }
    }

    /// Whether a turn's level comes from its tenant's old rules. Such a turn is in no ring; its first
    /// lane is moved before a fetch is served.
    pub(super) fn is_out_of_date(&self, turn: TurnIx) -> bool {
        let turn_state = self.turns.get(turn);
        turn_state.version != self.tenant(turn_state.tenant).version
    }
}
