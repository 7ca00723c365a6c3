//! A standing: one tenant's tag at one level of an account.

use super::AccountIx;
use crate::scheduler::queue_turns::QueueTurns;
use crate::scheduler::tag::{Order, Tag};
use crate::tenant::TenantIx;

/// What one tenant has been served at one level of an account.
#[derive(Debug)]
pub(in crate::scheduler) struct Standing {
    pub account: AccountIx,
    pub tenant: TenantIx,
    pub level: i32,
    pub tag: Tag,
    /// The tag after the last service. It never decreases while jobs wait, because ranks at keys
    /// depend on it.
    pub last_tag: Tag,
    /// The tenant's turns, which all have waiting jobs.
    pub(super) turns: u32,
    /// Those of `turns` that are in rings.
    pub(super) turns_in_rings: u32,
    /// The tenant's weight in hundredths, current while it has waiting jobs.
    pub(super) weight: u32,
    pub(super) changed: bool,
    /// How the tenant's queues take turns, in a shared account. `None` until the tenant is first
    /// served.
    pub(super) queues: Option<Box<QueueTurns>>,
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

    pub fn turns_in_rings(&self) -> u32 {
        self.turns_in_rings
    }
}
