//! Members: which queues belong to which accounts.

use std::collections::BTreeSet;

use super::Scheduler;
use super::account::{AccountIx, Owner};
use super::queue::{Member, Queue};
use super::turn::{RingEntry, TurnIx};
use crate::queue::QueueIx;

impl Scheduler {
    /// Adds a queue, with an account.
    pub fn add_queue(&mut self, ix: QueueIx) {
        let account = self.accounts.open(Owner::Queue(ix));
        let members = vec![Member { account, rings: Default::default() }];
        self.queues.put(ix.0 as usize, Queue { members, ..Queue::default() });
    }

    /// Makes these queues, and no others, the members of an account.
    pub(super) fn set_members(&mut self, account: AccountIx, queues: &[QueueIx]) {
        let queues: BTreeSet<QueueIx> = queues.iter().copied().collect();
        for ix in 0..self.queues.len() as u32 {
            let queue = QueueIx(ix);
            let is_member = self.queue(queue).member(account).is_some();
            match (is_member, queues.contains(&queue)) {
                (false, true) => self.add_member(account, queue),
                (true, false) => self.remove_member(account, queue),
                _ => {}
            }
        }
    }

    /// Forgets an account and its standings.
    pub(super) fn close_account(&mut self, account: AccountIx) {
        self.set_members(account, &[]);
        self.accounts.close(account);
    }

    fn add_member(&mut self, account: AccountIx, queue: QueueIx) {
        let member = Member { account, rings: Default::default() };
        self.queue_mut(queue).members.push(member);
        for turn in self.turns_in(queue) {
            let turn_state = self.turns.get(turn);
            let (tenant, level) = (turn_state.tenant, turn_state.level);
            let weight = self.tenant(tenant).weight;
            let standing = self.accounts.join(account, tenant, level, weight);
            self.turns.get_mut(turn).ring_entries.push(RingEntry { standing, key: None });
            self.place_turn(turn);
        }
    }

    pub(super) fn remove_member(&mut self, account: AccountIx, queue: QueueIx) {
        let Some(index) = self.queue(queue).member(account) else { return };
        for turn in self.turns_in(queue) {
            let entry = self.turns.get_mut(turn).ring_entries.remove(index);
            if entry.key.is_some() {
                self.accounts.turn_left_rings(entry.standing);
            }
            self.accounts.leave(entry.standing, queue);
        }
        self.queue_mut(queue).members.remove(index);
    }

    pub(super) fn turns_in(&self, queue: QueueIx) -> Vec<TurnIx> {
        self.queue(queue).turns.iter().copied().collect()
    }
}
