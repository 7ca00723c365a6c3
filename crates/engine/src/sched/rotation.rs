//! Which of several queues is next.

use std::collections::BTreeMap;

use rota_model::{QueueStrategy, Starvation, Weight};

use super::{QueueIx, Tag};

/// What is remembered between the decisions of one pool, or of all fetches that ask for the same.
#[derive(Debug, Default)]
pub(crate) struct Rotation {
    round: Tag,
    queues: BTreeMap<QueueIx, Standing>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Standing {
    tag: Tag,
    /// What it is owed of its guaranteed part, in millionths of a dispatch.
    owed: u64,
    /// Since when it has had jobs and got nothing, while it has.
    since: Option<u64>,
    told: bool,
}

/// A queue as it stands before a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub queue: QueueIx,
    pub weight: Weight,
    /// It has jobs and may hand them out.
    pub ready: bool,
    pub available: u64,
}

/// A queue that has gone without for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Starved {
    pub queue: QueueIx,
    pub for_ms: u64,
}

const ONE: u64 = 1_000_000;

impl Rotation {
    /// What was owed before a restart is not known any more: as much as could have been, so that
    /// nobody starves who is guaranteed a part, however often the process is restarted.
    pub fn after_restart(queues: impl Iterator<Item = QueueIx>) -> Self {
        let owed = Standing { owed: ONE, ..Standing::default() };
        Self { round: Tag::default(), queues: queues.map(|queue| (queue, owed)).collect() }
    }

    /// The queues that are ready, in the order in which they should be tried, and those of which it
    /// is news that they starve.
    pub fn order(
        &mut self,
        candidates: &[Candidate],
        strategy: QueueStrategy,
        rule: Starvation,
        mono: u64,
    ) -> (Vec<QueueIx>, Vec<Starved>) {
        let mut news = Vec::new();
        for candidate in candidates {
            let standing = self.queues.entry(candidate.queue).or_default();
            if !candidate.ready {
                (standing.owed, standing.since, standing.told) = (0, None, false);
                continue;
            }
            let since = *standing.since.get_or_insert(mono);
            let for_ms = mono.saturating_sub(since);
            if for_ms > rule.rotation_ms && !std::mem::replace(&mut standing.told, true) {
                news.push(Starved { queue: candidate.queue, for_ms });
            }
        }
        let ratio = u64::from(rule.ratio_among(candidates.len()));
        let ready = candidates.iter().enumerate().filter(|(_, candidate)| candidate.ready);
        let mut ranked: Vec<_> = ready
            .map(|(place, candidate)| {
                let standing = self.queues[&candidate.queue];
                let claim = if rule.enabled { standing.claim(rule, ratio, mono) } else { 0 };
                let turn = match strategy {
                    QueueStrategy::Strict => 0,
                    QueueStrategy::RoundRobin | QueueStrategy::Weighted => {
                        standing.tag.max(self.round).0
                    }
                    QueueStrategy::LeastLoaded => u128::from(u64::MAX - candidate.available),
                };
                (std::cmp::Reverse(claim), turn, place, candidate.queue)
            })
            .collect();
        ranked.sort_unstable();
        (ranked.into_iter().map(|(_, _, _, queue)| queue).collect(), news)
    }

    /// A job of this queue was handed out.
    pub fn served(
        &mut self,
        candidates: &[Candidate],
        served: QueueIx,
        strategy: QueueStrategy,
        rule: Starvation,
        mono: u64,
    ) {
        let ratio = u64::from(rule.ratio_among(candidates.len()));
        for candidate in candidates.iter().filter(|candidate| candidate.ready) {
            let standing = self.queues.entry(candidate.queue).or_default();
            standing.owed += ratio;
            if candidate.queue != served {
                continue;
            }
            standing.owed = standing.owed.saturating_sub(ONE);
            (standing.since, standing.told) = (Some(mono), false);
            let weight = match strategy {
                QueueStrategy::Weighted => candidate.weight,
                _ => Weight::ONE,
            };
            let start = standing.tag.max(self.round);
            self.round = start;
            standing.tag = start.plus(Tag::step(1, weight));
        }
    }
}

impl Standing {
    /// How strongly it may ask to be next, whatever the strategy says: by what it is owed, then by
    /// how long it has waited.
    fn claim(&self, rule: Starvation, ratio: u64, mono: u64) -> u64 {
        // Without this dispatch it would be owed more than one.
        if self.owed + ratio >= ONE {
            return (1 << 60) + self.owed;
        }
        let waited = self.since.map_or(0, |since| mono.saturating_sub(since));
        if waited > rule.rotation_ms { waited } else { 0 }
    }
}

/// Rotations of fetches that belong to no pool, by what they ask for. Bounded: when there are too
/// many, all begin anew.
#[derive(Default)]
pub(crate) struct Rotations(BTreeMap<u64, Rotation>);

const MOST: usize = 4_096;

impl Rotations {
    pub fn get_or_make(&mut self, key: u64) -> &mut Rotation {
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            self.0.clear();
        }
        self.0.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(weights: &[f64]) -> Vec<Candidate> {
        let one = |(i, weight): (usize, &f64)| Candidate {
            queue: QueueIx(i as u32),
            weight: Weight::new(*weight).unwrap(),
            ready: true,
            available: i as u64,
        };
        weights.iter().enumerate().map(one).collect()
    }

    fn serve(
        rotation: &mut Rotation,
        all: &[Candidate],
        by: QueueStrategy,
        rule: Starvation,
    ) -> usize {
        let (order, _) = rotation.order(all, by, rule, 0);
        rotation.served(all, order[0], by, rule, 0);
        order[0].0 as usize
    }

    #[test]
    fn round_robin_goes_around_and_weights_hold_in_every_few_rounds() {
        let (mut rotation, rule) = (Rotation::default(), Starvation::default());
        let all = candidates(&[1.0, 1.0, 1.0]);
        let served: Vec<usize> =
            (0..6).map(|_| serve(&mut rotation, &all, QueueStrategy::RoundRobin, rule)).collect();
        assert_eq!(served, [0, 1, 2, 0, 1, 2]);

        let (mut rotation, all) = (Rotation::default(), candidates(&[5.0, 2.0, 1.0]));
        let served: Vec<usize> =
            (0..800).map(|_| serve(&mut rotation, &all, QueueStrategy::Weighted, rule)).collect();
        for window in served.windows(16) {
            let count = |queue| window.iter().filter(|q| **q == queue).count() as i64;
            assert!((count(0) - 10).abs() <= 1 && (count(1) - 4).abs() <= 1 && count(2) == 2);
        }
    }

    #[test]
    fn a_queue_gets_its_guaranteed_part_of_any_run() {
        let rule = Starvation { enabled: true, rotation_ms: u64::MAX, min_ratio: Some(100_000) };
        let (mut rotation, all) = (Rotation::default(), candidates(&[1.0, 1.0, 1.0]));
        let served: Vec<usize> =
            (0..1_000).map(|_| serve(&mut rotation, &all, QueueStrategy::Strict, rule)).collect();
        for n in [20, 50, 100, 333] {
            for window in served.windows(n) {
                for queue in 0..3 {
                    let got = window.iter().filter(|q| **q == queue).count();
                    assert!(got >= (n / 10).saturating_sub(1), "{queue} got {got} of {n}");
                }
            }
        }
        assert!(served.iter().filter(|q| **q == 0).count() >= 790);
    }

    #[test]
    fn the_deepest_queue_is_first_and_a_starved_one_is_told_once() {
        let rule = Starvation { enabled: true, rotation_ms: 1_000, min_ratio: Some(0) };
        let (mut rotation, all) = (Rotation::default(), candidates(&[1.0, 1.0]));
        let deepest = serve(&mut rotation, &all, QueueStrategy::LeastLoaded, rule);
        assert_eq!(deepest, 1);
        rotation.served(&all, QueueIx(1), QueueStrategy::LeastLoaded, rule, 1_500);
        let (order, news) = rotation.order(&all, QueueStrategy::LeastLoaded, rule, 2_000);
        assert_eq!(order[0], QueueIx(0));
        assert_eq!(news, [Starved { queue: QueueIx(0), for_ms: 2_000 }]);
        let (_, news) = rotation.order(&all, QueueStrategy::LeastLoaded, rule, 2_001);
        assert!(news.is_empty());
    }
}
