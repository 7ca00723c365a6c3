//! Restoring the scheduler's state after a restart.

use std::collections::BTreeMap;

use rota_model::{ClassId, QueueName, Rate, Seq};

use super::Scheduler;
use super::account::AccountIx;
use super::lane::WaitingJob;
use super::limits::{LimitIx, LimitState, Partition};
use super::rotation_rules::RotationKey;
use super::rotations::MOST_SHARED_SETS;
use super::tag::Tag;
use crate::Now;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Adds a waiting job. Its lane is placed later, when all jobs are loaded.
    pub fn refill(&mut self, seq: Seq, class: ClassId, job: WaitingJob) {
        self.lanes.get_or_make(class).add(seq, job);
    }

    /// Places a lane with all of its jobs. This also creates the standings whose tags are restored
    /// next.
    pub fn place_refilled(&mut self, class: ClassId, jobs: u64) {
        let rules = self.classes[class.0 as usize].as_ref().expect("a job's class is known");
        let queue = rules.queue;
        let of_type = self.types.get_mut(rules.kind);
        of_type.available += jobs;
        for gate in rules.gates.iter().copied().chain(of_type.gate) {
            self.limits.gate_mut(gate).available += jobs;
        }
        self.queue_mut(queue).available += jobs;
        let head = self.lanes.get(class).and_then(|lane| lane.head());
        if let (Some(head), Some(heads)) = (head, &mut self.queue_mut(queue).heads) {
            heads.insert((head, class));
        }
        self.place_lane(class);
    }

    /// Restores a tenant's tag in the account of a queue.
    pub fn restore_tag(&mut self, queue: QueueIx, tenant: TenantIx, level: i32, tag: Tag) {
        let account = self.queue(queue).members[0].account;
        if let Some(standing) = self.accounts.find(account, tenant, level) {
            self.accounts.restore(standing, tag);
        }
    }

    /// Restores a tenant's tag in the account of a rotation, as of batch `number`. The rotation may
    /// not exist until a fetch names it.
    pub fn restore_shared_tag(
        &mut self,
        key: RotationKey,
        tenant: TenantIx,
        level: i32,
        tag: Tag,
        number: u64,
    ) {
        let remembered = &mut self.rotations.remembered_accounts;
        if remembered.len() < 2 * MOST_SHARED_SETS || remembered.contains_key(&key) {
            let account = remembered.entry(key).or_default();
            account.tags.insert((tenant, level), (tag, number));
        }
    }

    /// Restores the rounds of a rotation's account, which began in batch `since`.
    pub fn restore_rounds(&mut self, key: RotationKey, since: u64, rounds: &BTreeMap<i32, Tag>) {
        if rounds.is_empty() {
            return;
        }
        let account = self.rotations.remembered_accounts.entry(key).or_default();
        if account.since != since {
            account.rounds.clear();
        }
        account.since = since;
        account.rounds.extend(rounds);
    }

    /// Applies what is remembered of an account that was just opened. The caller places the account's
    /// turns afterwards.
    pub(super) fn restore_account(&mut self, key: &RotationKey, account: AccountIx) {
        let Some(remembered) = self.rotations.remembered_accounts.remove(key) else { return };
        let tags = remembered.tags.iter().filter(|(_, (_, number))| *number >= remembered.since);
        for (&(tenant, level), &(tag, _)) in tags {
            if let Some(standing) = self.accounts.find(account, tenant, level) {
                self.accounts.restore(standing, tag);
            }
        }
        let (tenants, one_job) = (&self.tenants, self.rules.one_job);
        let job_step = |tenant: TenantIx| Tag::step(one_job, tenants[tenant.0 as usize].weight);
        match remembered.rounds.is_empty() {
            true => self.accounts.begin_rounds(Some(account), job_step),
            // Run times are charged in advance, and charges from before the restart are not corrected.
            false => self.accounts.resume_rounds(account, &remembered.rounds, |tenant| {
                (one_job > 1).then(|| job_step(tenant))
            }),
        }
    }

    /// Restores the stored counters of a limit.
    pub fn restore_limit(&mut self, partition: &Partition, state: &LimitState, now: Now) {
        let limit = self.limits.get_or_make(partition);
        self.limits.limit_mut(limit).restore(state, now);
    }

    /// Adds starts that were journaled after the counters were stored, in monotonic milliseconds.
    pub fn replay_starts(
        &mut self,
        partition: &Partition,
        starts: impl Iterator<Item = (i64, u32)>,
        rates: &[Rate],
        throttle: Option<Rate>,
    ) -> LimitIx {
        let ix = self.limits.get_or_make(partition);
        let limit = self.limits.limit_mut(ix);
        starts.for_each(|(at, n)| limit.replay(at, n, rates, throttle));
        ix
    }

    /// Restores the round and the queue tags of a rotation.
    pub fn restore_rotation(
        &mut self,
        key: RotationKey,
        round: Tag,
        tags: impl Iterator<Item = (QueueName, Tag)>,
    ) {
        let remembered = self.rotations.remembered.entry(key).or_default();
        if round < remembered.0 {
            // An older pool of the same name had a later round.
            remembered.1.clear();
        }
        remembered.0 = round;
        remembered.1.extend(tags);
    }

    /// Restores which account the last starts from these queues were charged to.
    pub fn restore_charged(&mut self, key: &RotationKey, queues: impl Iterator<Item = QueueIx>) {
        let Some(account) = self.rotations.account_of(key) else { return };
        queues.for_each(|queue| self.queue_mut(queue).charged = Some(account));
    }

    /// Derives rounds and places from the restored tags and limits.
    pub fn finish_restore(&mut self, find: impl Fn(&str) -> Option<QueueIx>) {
        self.rotations.restore_existing(find);
        let keys = self.rotations.remembered_accounts.keys().cloned().collect::<Vec<_>>();
        for key in keys {
            if let Some(account) = self.rotations.account_of(&key) {
                self.restore_account(&key, account);
            }
        }
        let (tenants, one_job) = (&self.tenants, self.rules.one_job);
        let job_step = |tenant: TenantIx| Tag::step(one_job, tenants[tenant.0 as usize].weight);
        self.accounts.begin_rounds(None, job_step);
        self.turns.indexes().into_iter().for_each(|turn| self.place_turn(turn));
        let limited = |class: &ClassId| self.gates_of(*class).next().is_some();
        let lanes: Vec<ClassId> = self.lanes.classes().filter(limited).collect();
        for class in lanes {
            self.displace_lane(class);
            self.place_lane(class);
        }
        self.notices.clear();
    }
}
