//! What a fetch may have, and what it gets.

use rota_model::{ClassId, PoolName, Seq};

use super::account::AccountIx;
use super::limits::GateIx;
use super::rotation::RotationIx;
use super::tag::Tag;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// A fetch as the scheduler sees it.
#[derive(Debug, Clone)]
pub(crate) struct FetchRequest {
    pub queues: RequestedQueues,
    /// Only jobs of this tenant.
    pub only: Option<TenantIx>,
    pub pool: Option<PoolName>,
    /// How its queues take turns; a single queue has nothing to take turns with.
    pub rotation: Option<RotationIx>,
    /// In pool scope: where tenants are charged over all of its queues.
    pub account: Option<AccountIx>,
    /// The same in queue scope, for tenants that charge what their own workers take.
    pub charge: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum RequestedQueues {
    /// All queues of its rotation.
    All,
    /// These, in this order.
    Some(Vec<QueueIx>),
}

/// A job that may start now. It waits in its lane until it is said to have started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pick {
    pub seq: Seq,
    pub class: ClassId,
    pub queue: QueueIx,
    pub(super) turn: TurnIx,
    pub(super) gate: Option<GateIx>,
    /// Which of the turn's ring_entries is charged, if any is.
    pub(super) entry_ix: Option<usize>,
    pub(super) reason: Reason,
    /// The tag of whoever comes first in the key's order among those that could have been served. The
    /// key's round moves no further.
    pub(super) key_round: Option<Tag>,
}

/// Why this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It was its tenant's turn.
    Turn,
    /// Its queue was owed a dispatch.
    Owed,
    /// Somebody wanted this tenant's jobs only.
    Tenant,
}
