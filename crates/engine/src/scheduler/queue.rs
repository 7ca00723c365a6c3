//! A queue's scheduling state.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{ClassId, Seq};

use super::account::AccountIx;
use super::limits::{Bucket, GateIx, LimitIx};
use super::parts::PartsIx;
use super::ring::Ring;
use super::rotation::RotationIx;
use super::turn::TurnIx;

/// What the scheduler knows of a queue.
#[derive(Default)]
pub(super) struct Queue {
    pub paused: bool,
    /// The most jobs that may be active at once.
    pub cap: Option<u32>,
    pub active: u64,
    pub available: u64,
    /// The gate of the limit on the whole queue.
    pub gate: Option<GateIx>,
    /// The bucket in which the queue sleeps while that limit is closed.
    pub asleep: Option<Bucket>,
    /// The accounts that the queue belongs to. The first is the queue's.
    pub members: Vec<Member>,
    /// Rotations that have the queue.
    pub rotates_in: Vec<RotationIx>,
    /// The parts of the sets that name the queue together with others.
    pub parts: Option<PartsIx>,
    /// Rotations that leave the queue out and are to be woken, with the queue's position in each.
    pub sleeps_in: Vec<(RotationIx, u32)>,
    /// Rotations ordered by queue depth, with the queue's position in each.
    pub ordered_in: Vec<(RotationIx, u32)>,
    /// Lanes by their heads, while the queue drops its oldest jobs.
    pub heads: Option<BTreeSet<(Seq, ClassId)>>,
    pub turns: BTreeSet<TurnIx>,
    /// Limits with more turns waiting here than starts were open.
    pub contended: BTreeSet<LimitIx>,
    /// The account charged for the last start.
    pub charged: Option<AccountIx>,
}

/// A queue in an account: the rings by which the account serves it.
pub(super) struct Member {
    pub account: AccountIx,
    /// By level. None is empty.
    pub rings: BTreeMap<i32, Ring>,
}

impl Queue {
    /// Whether the queue is neither paused nor at its concurrency cap.
    pub fn may_dispatch(&self) -> bool {
        !self.paused && self.cap.is_none_or(|cap| self.active < u64::from(cap))
    }

    /// The index of an account among `members`, which is also that of the turns' ring entries.
    pub fn member(&self, account: AccountIx) -> Option<usize> {
        self.members.iter().position(|member| member.account == account)
    }
}
