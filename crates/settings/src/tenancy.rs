//! Settings whose default depends on how tenants are isolated.

use std::time::Duration;

use rota_model::{FairStrategy, PriorityScope};

use crate::choices::Isolation;
use crate::declared::{Settings, Starvation};
use crate::error::Problem;
use crate::resolve::Reader;

impl Settings {
    /// Whether tenants are served in turn.
    #[must_use]
    pub fn is_fair(&self) -> bool {
        self.fairness.enabled.unwrap_or(self.tenancy.isolation != Isolation::Shared)
    }

    #[must_use]
    pub fn priority_scope(&self) -> PriorityScope {
        self.fairness.priority_scope.unwrap_or(match self.tenancy.isolation {
            Isolation::Namespace => PriorityScope::Tenant,
            Isolation::Sharded | Isolation::Shared => PriorityScope::Global,
        })
    }

    pub(crate) fn contradiction(&self, reader: &Reader) -> Option<Problem> {
        self.unfair_shards(reader)
            .or_else(|| self.idle_throttle(reader))
            .or_else(|| self.too_many_waiting(reader))
            .or_else(|| self.auth_contradiction(reader))
            .or_else(|| self.transport_contradiction(reader))
            .or_else(|| self.exposure(reader))
    }

    /// A throttle lowers a tenant's concurrency or weight. It would have no effect if noisy tenants are not
    /// detected, or if neither concurrency nor weight counts.
    fn idle_throttle(&self, reader: &Reader) -> Option<Problem> {
        let strict = self.fairness.strategy == FairStrategy::Strict;
        if !self.noisy.throttle {
            return None;
        }
        let throttle = reader.chosen("noisy.throttle")?.clone();
        if !self.noisy.detect {
            let other = reader.chosen("noisy.detect")?.clone();
            let advice = "set noisy.detect to true";
            return Some(Problem::Contradiction { one: throttle, other, advice });
        }
        if self.tenancy.isolation == Isolation::Namespace && !strict {
            let other = reader.chosen("tenancy.isolation")?.clone();
            let advice = "set fairness.strategy to strict: weights do not apply to tenants with queues of \
                          their own";
            return Some(Problem::Contradiction { one: throttle, other, advice });
        }
        if self.is_fair() || strict {
            return None;
        }
        let fairness = self.fairness.enabled.map_or("tenancy.isolation", |_| "fairness.enabled");
        Some(Problem::Contradiction {
            one: throttle,
            other: reader.chosen(fairness)?.clone(),
            advice: "set fairness.enabled to true, or fairness.strategy to strict",
        })
    }

    /// Without fairness there is no order between the shards of a queue.
    fn unfair_shards(&self, reader: &Reader) -> Option<Problem> {
        let sharded = self.tenancy.isolation == Isolation::Sharded;
        if !sharded || self.is_fair() {
            return None;
        }
        Some(Problem::Contradiction {
            one: reader.chosen("fairness.enabled")?.clone(),
            other: reader.chosen("tenancy.isolation")?.clone(),
            advice: "for first in, first out set tenancy.isolation to shared",
        })
    }
}

impl Starvation {
    /// The rule for fetches without a pool and for pools without a rule of their own.
    #[must_use]
    pub fn rule(&self) -> rota_model::Starvation {
        rota_model::Starvation {
            enabled: self.enabled,
            rotation_ms: millis(self.rotation_interval),
            min_ratio: self.min_dispatch_ratio.map(|ratio| (ratio * 1e6).round() as u32),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
