//! A cache of the bodies of recently enqueued jobs, so that most fetches need not read the store.

use std::collections::{HashMap, VecDeque};

use ahash::RandomState;
use rota_model::Seq;
use rota_store::Body;

/// Bounded in bytes; the oldest bodies are evicted first. A job's first fetch takes its body out.
pub(super) struct BodyCache {
    bodies: HashMap<Seq, Body, RandomState>,
    /// Seqs in the order of insertion; some have no body any more.
    order: VecDeque<Seq>,
    bytes: usize,
    max_bytes: usize,
}

/// Bytes charged for an entry in addition to its JSON.
const OVERHEAD: usize = 128;

impl BodyCache {
    pub fn new(max_bytes: usize) -> Self {
        Self { bodies: HashMap::default(), order: VecDeque::new(), bytes: 0, max_bytes }
    }

    pub fn insert(&mut self, seq: Seq, body: Body) {
        let cost = cost(&body);
        if cost > self.max_bytes {
            return;
        }
        self.bytes += cost;
        self.order.push_back(seq);
        self.bodies.insert(seq, body);
        while self.bytes > self.max_bytes {
            let Some(oldest) = self.order.pop_front() else { break };
            self.remove(oldest);
        }
        // `take` leaves the seq in `order`; drop those from time to time.
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
    fn evicts_the_oldest_bodies_to_stay_within_its_bytes() {
        let mut cache = BodyCache::new(10 * (100 + OVERHEAD));
        (0..25).for_each(|n| cache.insert(Seq(n), body(100)));
        assert!(cache.take(Seq(14)).is_none());
        assert!(cache.take(Seq(15)).is_some());
        assert!(cache.take(Seq(15)).is_none(), "only once");
        assert_eq!(cache.bytes, 9 * (100 + OVERHEAD));
    }

    #[test]
    fn order_does_not_grow_with_fetched_jobs() {
        let mut cache = BodyCache::new(1 << 20);
        for n in 0..100_000 {
            cache.insert(Seq(n), body(10));
            cache.take(Seq(n));
        }
        assert!(cache.order.len() < 200, "{}", cache.order.len());
        assert_eq!(cache.bytes, 0);
    }

    #[test]
    fn a_body_larger_than_the_cache_is_not_cached() {
        let mut cache = BodyCache::new(100);
        cache.insert(Seq(1), body(1_000));
        assert!(cache.take(Seq(1)).is_none());
    }
}
