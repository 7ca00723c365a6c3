//! What tenants used, by the hour and by the day.

use serde::{Deserialize, Serialize};

use crate::{Millis, TenantId};

/// What a tenant used in some period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Jobs accepted, and their bytes.
    pub enqueued: u64,
    /// Bytes of the accepted jobs as they are stored.
    pub bytes: u64,
    /// Executions: begun, completed, failed, and how long those that ended took. A claim that nobody
    /// received is taken off again, which may be in the next hour.
    pub started: i64,
    /// Executions that were acknowledged.
    pub completed: u64,
    /// Executions that failed, retried or not.
    pub failed: u64,
    /// Run time of executions that ended, in milliseconds.
    pub run_ms: u64,
    /// Jobs that failed for good, were dropped or expired.
    pub discarded: u64,
}

impl Usage {
    /// Adds each figure of `other`.
    pub fn add(&mut self, other: &Usage) {
        self.enqueued += other.enqueued;
        self.bytes += other.bytes;
        self.started += other.started;
        self.completed += other.completed;
        self.failed += other.failed;
        self.run_ms += other.run_ms;
        self.discarded += other.discarded;
    }
}

/// How long a period of usage is, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UsagePer {
    /// From full hour to full hour.
    Hour = 0,
    /// From midnight to midnight.
    Day = 1,
}

impl UsagePer {
    /// Both of them.
    pub const ALL: [UsagePer; 2] = [UsagePer::Hour, UsagePer::Day];

    /// The number that stands for it in a store.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The length in milliseconds.
    #[must_use]
    pub fn ms(self) -> i64 {
        match self {
            UsagePer::Hour => 3_600_000,
            UsagePer::Day => 86_400_000,
        }
    }

    /// The word for it in the query of a request.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            UsagePer::Hour => "hour",
            UsagePer::Day => "day",
        }
    }

    /// The beginning of the period that this moment belongs to.
    #[must_use]
    pub fn start_of(self, at: Millis) -> Millis {
        Millis(at.0 - at.0.rem_euclid(self.ms()))
    }
}

/// What a tenant used within one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Whose usage it is.
    pub tenant: TenantId,
    /// The beginning of the hour.
    pub at: Millis,
    /// What is added to that hour.
    pub usage: Usage,
}
