//! A ring: the turns of one queue and level that may be served, in the order of one account.

use std::collections::BTreeMap;

use super::small_map::SmallMap;
use super::tag::Order;
use super::turn::TurnIx;

/// Tenants of equal weight that were served in the same round have equal orders, so turns are grouped
/// by order, and by index within it.
#[derive(Default)]
pub(super) struct Ring {
    by_order: BTreeMap<Order, SmallMap<TurnIx>>,
    len: usize,
}

impl Ring {
    pub fn insert(&mut self, order: Order, turn: TurnIx) {
        self.len += usize::from(self.by_order.entry(order).or_default().insert(turn));
    }

    pub fn remove(&mut self, order: Order, turn: TurnIx) {
        let Some(turns) = self.by_order.get_mut(&order) else { return };
        self.len -= usize::from(turns.remove(&turn).is_some());
        if turns.is_empty() {
            self.by_order.remove(&order);
        }
    }

    pub fn first(&self) -> Option<(Order, TurnIx)> {
        let (order, turns) = self.by_order.first_key_value()?;
        turns.first().map(|turn| (*order, *turn))
    }

    pub fn turns(&self) -> impl Iterator<Item = TurnIx> {
        self.by_order.values().flat_map(|turns| turns.keys().copied())
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
