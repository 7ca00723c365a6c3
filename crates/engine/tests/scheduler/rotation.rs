//! A rotation by itself.

use rota_model::{QueueStrategy, Starvation, Weight};

use crate::queue::QueueIx;
use crate::scheduler::RotationRules;
use crate::scheduler::parts::Parts;
use crate::scheduler::rotation::Rotation;

struct Pool {
    rotation: Rotation,
    parts: Parts,
}

impl Pool {
    fn new(weights: &[f64], strategy: QueueStrategy, rule: Starvation) -> Self {
        let rotation = Rotation::new(strategy);
        let mut pool = Self { rotation, parts: Parts::new(rule, Some(weights.len())) };
        pool.configure(weights, strategy, rule);
        pool
    }

    fn configure(&mut self, weights: &[f64], strategy: QueueStrategy, starvation: Starvation) {
        let queue = |(i, weight): (usize, &f64)| (QueueIx(i as u32), Weight::new(*weight).unwrap());
        let queues: Vec<_> = weights.iter().enumerate().map(queue).collect();
        let (named, shared, for_tenant) = (queues.len(), false, false);
        let rules = RotationRules { queues, strategy, starvation, named, shared, for_tenant };
        self.rotation.configure(&rules);
        self.parts.configure(starvation, named, self.rotation.queues());
        for position in 0..weights.len() as u32 {
            self.parts.wake(QueueIx(position));
            self.rotation.wake(position, u64::from(position), &self.parts);
        }
    }

    fn first(&mut self, mono: u64) -> Option<(QueueIx, bool)> {
        self.parts.report_starved(mono, |_| {});
        self.rotation.first(&self.parts, mono)
    }

    fn served(&mut self, queue: QueueIx, mono: u64) {
        self.rotation.served(queue);
        self.parts.served(queue, mono);
    }
}

fn serve(pool: &mut Pool, mono: u64) -> usize {
    let (queue, _) = pool.first(mono).unwrap();
    pool.served(queue, mono);
    queue.0 as usize
}

#[test]
fn round_robin_goes_around_and_weights_hold_in_every_few_rounds() {
    let rule = Starvation::default();
    let mut all = Pool::new(&[1.0, 1.0, 1.0], QueueStrategy::RoundRobin, rule);
    let served: Vec<usize> = (0..6).map(|_| serve(&mut all, 0)).collect();
    assert_eq!(served, [0, 1, 2, 0, 1, 2]);

    let mut all = Pool::new(&[5.0, 2.0, 1.0], QueueStrategy::Weighted, rule);
    let served: Vec<usize> = (0..800).map(|_| serve(&mut all, 0)).collect();
    for window in served.windows(16) {
        let count = |queue| window.iter().filter(|q| **q == queue).count() as i64;
        for (queue, due) in [(0, 10), (1, 4), (2, 2)] {
            assert!((count(queue) - due).abs() <= 1, "{queue} of {window:?}");
        }
    }
}

#[test]
fn the_deepest_queue_is_first_unless_another_has_gone_without() {
    let rule = Starvation { enabled: true, rotation_ms: 1_000, min_ratio: Some(0) };
    let mut all = Pool::new(&[1.0, 1.0], QueueStrategy::LeastLoaded, rule);
    assert_eq!(serve(&mut all, 0), 1);
    all.served(QueueIx(1), 1_500);
    assert_eq!(all.first(2_000), Some((QueueIx(0), true)));
    all.served(QueueIx(0), 2_000);
    assert_eq!(all.first(2_001), Some((QueueIx(1), false)));
}

#[test]
fn a_weight_that_changes_counts_from_the_next_job() {
    let rule = Starvation::default();
    let mut all = Pool::new(&[1.0, 1_000.0, 1_000.0], QueueStrategy::Weighted, rule);
    (0..2_500).for_each(|_| {
        serve(&mut all, 0);
    });
    all.configure(&[1_000.0; 3], QueueStrategy::Weighted, rule);
    let served: Vec<usize> = (0..6).map(|_| serve(&mut all, 0)).collect();
    assert!(served[..4].contains(&0), "{served:?}");
    assert_eq!(served.iter().filter(|q| **q == 0).count(), 2, "{served:?}");
}
