//! Bodies of jobs that were accepted a moment ago and will probably be fetched in the next.

use std::collections::{HashMap, VecDeque};

use ahash::RandomState;
use rota_model::Seq;
use rota_store::Body;

/// Bounded by bytes; the oldest go first. A body leaves with the job's first fetch.
pub(super) struct BodyCache {
    bodies: HashMap<Seq, Body, RandomState>,
    order: VecDeque<Seq>,
    bytes: usize,
    limit: usize,
}

/// What an entry costs besides its JSON.
const OVERHEAD: usize = 128;

impl BodyCache {
    pub fn new(limit: usize) -> Self {
        Self { bodies: HashMap::default(), order: VecDeque::new(), bytes: 0, limit }
    }

    pub fn insert(&mut self, seq: Seq, body: Body) {
        let cost = cost(&body);
        if cost > self.limit {
            return;
        }
        self.bytes += cost;
        self.order.push_back(seq);
        self.bodies.insert(seq, body);
        while self.bytes > self.limit {
            let Some(oldest) = self.order.pop_front() else { break };
            self.remove(oldest);
        }
        // Jobs that were fetched leave their numbers behind.
        if self.order.len() > 64 + 2 * self.bodies.len() {
            self.order.retain(|seq| self.bodies.contains_key(seq));
        }
    }

    pub fn take(&mut self, seq: Seq) -> Option<Body> {
        self.remove(seq)
    }

    pub fn clear(&mut self) {
        self.bodies.clear();
        self.order.clear();
        self.bytes = 0;
    }

    fn remove(&mut self, seq: Seq) -> Option<Body> {
        let body = self.bodies.remove(&seq)?;
        self.bytes -= cost(&body);
        Some(body)
    }
}

fn cost(body: &Body) -> usize {
    body.json.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use rota_model::{JobId, Millis};

    fn body(len: usize) -> Body {
        Body { id: JobId::v7(0, 0), created: Millis::ZERO, json: vec![b'x'; len].into() }
    }

    #[test]
    fn stays_within_its_bytes_and_forgets_the_oldest() {
        let mut cache = BodyCache::new(10 * (100 + OVERHEAD));
        (0..25).for_each(|n| cache.insert(Seq(n), body(100)));
        assert!(cache.take(Seq(14)).is_none());
        assert!(cache.take(Seq(15)).is_some());
        assert!(cache.take(Seq(15)).is_none(), "only once");
        assert_eq!(cache.bytes, 9 * (100 + OVERHEAD));
    }

    #[test]
    fn fetched_jobs_do_not_pile_up_in_the_order() {
        let mut cache = BodyCache::new(1 << 20);
        for n in 0..100_000 {
            cache.insert(Seq(n), body(10));
            cache.take(Seq(n));
        }
        assert!(cache.order.len() < 200, "{}", cache.order.len());
        assert_eq!(cache.bytes, 0);
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let mut cache = BodyCache::new(100);
        cache.insert(Seq(1), body(1_000));
        assert!(cache.take(Seq(1)).is_none());
    }
}
