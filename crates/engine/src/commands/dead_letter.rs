//! The dead letter: jobs enter it, are pruned from it and are replayed by rules.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::dead_letter::error_type;
use rota_model::mutation::Mutation;
use rota_model::row::JobRow;
use rota_model::{
    Class, ClassId, DeadRow, Done, DueReplay, Ending, Millis, QueueName, ReplayRule, Replays,
    RuleName, Seq,
};

use crate::command::{Prune, Selected, Unchanged, later};
use crate::dead_letter::{DeadLetterLimits, PruneWork};
use crate::{DeadShardView, Engine, EventKind, Failure, Reply};

/// A replay that was refused is tried again after this time.
const REPLAY_AGAIN_MS: u64 = 60_000;

impl Engine {
    /// A job has just ended, and enters the dead letter.
    pub(crate) fn bury(&mut self, seq: Seq, class: ClassId, attempt: u32, failure: &Failure) {
        let at = self.wall();
        let slot = self.classes.slot(class);
        let (about, tenant) = (slot.class.clone(), slot.tenant);
        let error: Arc<str> = error_type(&failure.kind).into();
        let asker = self.tenants.get(tenant).asker();
        let (shard, other) = self.dead_letters.add(&about.queue, &about.tenant, &error, at, asker);
        let replay_at =
            self.next_replay(&about, &error, at, &Replays::default()).map(|(_, due)| due);
        let dead = DeadRow { shard, error, other, replay_at };
        self.out.mutations.push(Mutation::Bury(seq, Box::new(dead)));
        let queue = self.meters.queue_label(&about.queue);
        self.meters.count_buried(queue, &about.kind);
        self.meter(class).dead += 1;
        let job = self.job_ref(seq, class);
        self.emit(EventKind::DeadLetterAdded { job, attempt, error: failure.json.clone() });
    }

    /// A job leaves the dead letter.
    pub(crate) fn unbury(&mut self, done: &Done) {
        if let Some(dead) = &done.dead {
            self.dead_letters.remove(dead.shard, &dead.error, dead.other);
            self.meter(done.class).dead -= 1;
        }
    }

    /// Deletes jobs that are too old or too many. They are in the order in which they were discarded.
    pub(crate) fn prune(&mut self, prune: &Prune) -> Reply {
        let Some(shard) = self.dead_letters.get(prune.shard) else { return Reply::Forgotten(0) };
        let (queue, tenant) = (shard.queue.clone(), shard.tenant.clone());
        let limits = self.dead_letter_limits(&queue);
        let expired_at = limits.expired_at(self.wall());
        let mut pruned = 0;
        let unchanged = Unchanged { selected: Selected::DeadLetter, by: prune.through };
        for target in prune.jobs.iter().filter(|target| unchanged.includes(target)) {
            let JobRow::Done(done) = &target.now else { continue };
            let is_here = done.dead.as_ref().is_some_and(|dead| dead.shard == prune.shard);
            let count = self.dead_letters.get(prune.shard).map_or(0, |shard| shard.count);
            if is_here && (done.at <= expired_at || count > limits.max_count) {
                self.meter(done.class).pruned += 1;
                self.delete_done(done);
                pruned += 1;
            }
        }
        self.dead_letters.pruned(prune.shard, prune.oldest);
        if pruned > 0 {
            let (count, policy) = (pruned as u64, limits.pruning);
            self.emit(EventKind::DeadLetterPruned { queue, tenant, count, policy });
        }
        Reply::Forgotten(pruned)
    }

    /// Replays jobs whose rule says so by now.
    pub(crate) fn replay_dead(&mut self, due: Vec<DueReplay>) -> Reply {
        if self.maintenance.enabled() {
            return Reply::Forgotten(0);
        }
        let count = due.len();
        due.into_iter().for_each(|due| self.replay_one(due));
        Reply::Forgotten(count)
    }

    fn replay_one(&mut self, due: DueReplay) {
        let DueReplay { seq, id, done, mut replays } = due;
        let (Ending::DeadLetter, Some(dead)) = (done.ending, &done.dead) else { return };
        let (class, now) = (self.classes.slot(done.class).class.clone(), self.wall());
        let rule = self.next_replay(&class, &dead.error, done.at, &replays);
        let rule = rule.map(|(name, due)| (name.clone(), due));
        let reschedule = |engine: &mut Self, replay_at: Option<Millis>| {
            let dead = DeadRow { replay_at, ..dead.clone() };
            engine.out.mutations.push(Mutation::Bury(seq, Box::new(dead)));
        };
        let name = match rule {
            Some((name, due)) if due <= now => name,
            rule => return reschedule(self, rule.map(|(_, due)| due)),
        };
        if self.revive(&done, id, None).is_err() {
            return reschedule(self, Some(later(now, REPLAY_AGAIN_MS)));
        }
        replays.add(&name, now);
        let json = serde_json::to_vec(&replays).expect("counts are plain data");
        self.count_stored(done.class, json.len());
        self.out.mutations.push(Mutation::Replayed(seq, Bytes::from(json)));
        let job = self.job_ref(seq, done.class).named(id);
        self.emit(EventKind::DeadLetterReplayed { job, rule: name, count: replays.count });
    }

    /// The rule that replays a job next, and when. The queue's rules come before the server's.
    fn next_replay(
        &self,
        class: &Class,
        error: &str,
        at: Millis,
        replays: &Replays,
    ) -> Option<(&RuleName, Millis)> {
        let queue = self.queues.find(&class.queue).map(|ix| &self.queues.get(ix).row.settings);
        let of_queue = queue.and_then(|settings| settings.dead_letter.as_deref());
        let own = of_queue.into_iter().flat_map(|settings| &settings.replay_rules);
        let mut rules = own.map(|(name, rule)| (name, rule)).chain(&self.config.replay_rules);
        let applies = |(name, rule): &(&RuleName, &ReplayRule)| {
            rule.enabled
                && rule.filter.matches(class, error, at)
                && replays.by(name) < rule.max_replays
        };
        let (name, rule) = rules.find(applies)?;
        Some((name, later(at, rule.delay_ms)))
    }

    /// How long the jobs of a queue's dead letter are kept.
    #[must_use]
    pub fn dead_letter_limits(&self, queue: &QueueName) -> DeadLetterLimits {
        let server = self.config.dead_letter;
        let settings = self.queues.find(queue).map(|ix| &self.queues.get(ix).row.settings);
        let Some(own) = settings.and_then(|settings| settings.dead_letter.as_deref()) else {
            return server;
        };
        DeadLetterLimits {
            max_age_ms: own.max_age_ms.unwrap_or(server.max_age_ms),
            max_count: own.max_count.unwrap_or(server.max_count),
            pruning: own.pruning.unwrap_or(server.pruning),
        }
    }

    /// The next dead letter to prune, if pruning is due.
    #[must_use]
    pub fn prune_work(&self) -> Option<PruneWork> {
        if self.dead_letters.next_prune > self.wall() {
            return None;
        }
        self.dead_letters.next_to_prune(self.wall(), |queue| self.dead_letter_limits(queue))
    }

    /// When dead letters are pruned next.
    #[must_use]
    pub fn next_prune(&self) -> Millis {
        self.dead_letters.next_prune
    }

    /// Once nothing is left to prune, the next time is an interval away.
    pub(crate) fn schedule_prune(&mut self) {
        if self.dead_letters.next_prune <= self.wall() && self.prune_work().is_none() {
            self.dead_letters.next_prune = later(self.wall(), self.config.prune_interval_ms);
        }
    }

    /// Up to `most` dead letters after this one, of a tenant or of all, by tenant and queue.
    #[must_use]
    pub fn dead_letters(
        &self,
        tenant: Option<&rota_model::TenantId>,
        after: Option<&DeadShardView>,
        most: usize,
    ) -> Vec<DeadShardView> {
        let after = after.map(|view| (view.tenant.clone(), view.queue.clone()));
        self.dead_letters.slice(tenant, after, most)
    }
}
