//! Usage of tenants by hour and day.

use serde::{Deserialize, Serialize};

use crate::{Millis, TenantId};

/// Usage of one tenant in one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Jobs accepted.
    pub enqueued: u64,
    /// Stored size of the accepted jobs, in bytes.
    pub bytes: u64,
    /// Executions started. A claim that never reached its worker is subtracted again, possibly in the
    /// next hour, so this can be negative.
    pub started: i64,
    /// Executions acknowledged.
    pub completed: u64,
    /// Executions failed, whether or not they are retried.
    pub failed: u64,
    /// Total run time of finished executions, in milliseconds.
    pub run_ms: u64,
    /// Jobs that failed permanently, were dropped or expired.
    pub discarded: u64,
}

impl Usage {
    /// Adds `other` field by field.
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

/// The length of a usage period. Periods are aligned in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UsagePer {
    /// One hour.
    Hour = 0,
    /// One day, from midnight to midnight.
    Day = 1,
}

impl UsagePer {
    /// Both periods.
    pub const ALL: [UsagePer; 2] = [UsagePer::Hour, UsagePer::Day];

    /// The stored number.
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

    /// The name in query strings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            UsagePer::Hour => "hour",
            UsagePer::Day => "day",
        }
    }

    /// The start of the period that contains this time.
    #[must_use]
    pub fn start_of(self, time: Millis) -> Millis {
        Millis(time.0 - time.0.rem_euclid(self.ms()))
    }
}

/// Usage to be added to one hour of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The tenant.
    pub tenant: TenantId,
    /// The start of the hour.
    pub at: Millis,
    /// The amounts to add.
    pub usage: Usage,
}
