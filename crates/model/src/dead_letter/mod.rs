//! The dead letter: what is stored for each of its jobs, how long they are kept and when they are replayed.

mod parse;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Class, Millis, QueueName, RuleName, Seq, TenantId};

/// The dead letter of one tenant in one queue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct DeadShardId(pub u32);

/// What is stored for a job in the dead letter, besides its [`Done`](crate::Done) row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadRow {
    /// The dead letter that the job is in.
    pub shard: DeadShardId,
    /// The type of its last error, at most [`MAX_ERROR_TYPE`] characters long.
    pub error: Arc<str>,
    /// Whether it is counted among other error types, because its own had no counter.
    pub other: bool,
    /// When a rule replays the job.
    pub replay_at: Option<Millis>,
}

/// The longest error type that is stored for searching, in characters. Longer ones are cut.
pub const MAX_ERROR_TYPE: usize = 200;

/// An error type as it is stored and searched.
#[must_use]
pub fn error_type(kind: &str) -> &str {
    kind.char_indices().nth(MAX_ERROR_TYPE).map_or(kind, |(end, _)| &kind[..end])
}

/// What happens to jobs that are pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PruningPolicy {
    /// They are deleted.
    #[default]
    Delete,
    /// They are written to the archive, and then deleted.
    Archive,
}

impl PruningPolicy {
    /// Every policy.
    pub const ALL: [PruningPolicy; 2] = [PruningPolicy::Delete, PruningPolicy::Archive];

    /// The name in requests and settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            PruningPolicy::Delete => "delete",
            PruningPolicy::Archive => "archive",
        }
    }
}

/// A queue's settings for its dead letter. `None` means the server's setting.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeadLetterSettings {
    /// Jobs that were discarded longer ago are pruned, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
    /// The most jobs of each tenant; the oldest are pruned first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_count: Option<u64>,
    /// What happens to pruned jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruning: Option<PruningPolicy>,
    /// Tried in this order, before the server's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replay_rules: Vec<(RuleName, ReplayRule)>,
}

/// Replays jobs some time after they entered the dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayRule {
    /// The jobs that it replays.
    #[serde(default)]
    pub filter: ReplayFilter,
    /// How long a job stays in the dead letter before it is replayed, in milliseconds.
    pub delay_ms: u64,
    /// How often the rule replays the same job.
    pub max_replays: u32,
    /// A disabled rule replays nothing.
    pub enabled: bool,
}

/// Selects jobs in the dead letter. All conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplayFilter {
    /// The queue's name, without a namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// A job type, or a prefix followed by `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Arc<str>>,
    /// The type of the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<Arc<str>>,
    /// The tenant that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// Lower bound on when the job was discarded, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Millis>,
    /// Upper bound on when the job was discarded, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Millis>,
}

impl ReplayFilter {
    /// Whether a job of this class matches that was discarded at this time with this error.
    #[must_use]
    pub fn matches(&self, class: &Class, error: &str, at: Millis) -> bool {
        self.queue.as_ref().is_none_or(|queue| *class.queue.local() == **queue)
            && self.kind.as_ref().is_none_or(|kind| match kind.strip_suffix('*') {
                Some(prefix) => class.kind.starts_with(prefix),
                None => *class.kind == **kind,
            })
            && self.error_type.as_ref().is_none_or(|kind| error_type(kind) == error)
            && self.tenant.as_ref().is_none_or(|tenant| *tenant == class.tenant)
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
    }
}

/// How often a job was replayed by rules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Replays {
    /// All replays.
    pub count: u32,
    /// When it was last replayed.
    pub last: Millis,
    /// The rule of the last replay.
    pub rule: String,
    /// Replays by rule, the least recent first; at most [`Replays::RULES`] of them.
    pub by_rule: Vec<(String, u32)>,
}

impl Replays {
    /// The most rules that are remembered for one job.
    pub const RULES: usize = 32;

    /// How often this rule has replayed the job.
    #[must_use]
    pub fn by(&self, rule: &str) -> u32 {
        self.by_rule.iter().find(|(name, _)| name == rule).map_or(0, |(_, count)| *count)
    }

    /// Counts a replay.
    pub fn add(&mut self, rule: &str, at: Millis) {
        let count = self.by(rule) + 1;
        self.by_rule.retain(|(name, _)| name != rule);
        if self.by_rule.len() == Self::RULES {
            self.by_rule.remove(0);
        }
        self.by_rule.push((rule.to_owned(), count));
        (self.count, self.last, self.rule) = (self.count.saturating_add(1), at, rule.to_owned());
    }
}

/// A job whose replay is due, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueReplay {
    /// The job.
    pub seq: Seq,
    /// The job's public id.
    pub id: crate::JobId,
    /// Its row, which is in the dead letter.
    pub done: crate::Done,
    /// How often it was replayed before.
    pub replays: Replays,
}
