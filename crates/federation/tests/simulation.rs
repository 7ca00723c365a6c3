//! Thousands of fault schedules with an oracle that judges every decision.
//!
//! Regions fail, recover, fill up and slow down at random. The oracle knows only what the federation was told, and
//! restates the rules in the plainest way: it looks at all regions for every job.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use rota_federation::{
    Attempt, AttemptResult, Circuit, Decision, Federation, Load, Moment, NoRoute, Policy, Region,
    RegionId, RegionIndex, RegionSet, Registry, Strategy, Topology, Wishes,
};

const SEEDS: u64 = 3_000;
const STEPS: u32 = 300;
const COOLDOWN: Duration = Duration::from_secs(30);
const THRESHOLD: u32 = 5;
const FULL_FOR: Duration = Duration::from_secs(10);

/// A small generator of random numbers, so that every run can be repeated by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the oracle remembers about a region.
#[derive(Debug, Clone, Default)]
struct Known {
    failures: u32,
    opened_at: Option<Moment>,
    probing_since: Option<Moment>,
    check_failed: bool,
    latency_ms: Option<f64>,
    load: Option<u64>,
    sent: u64,
    full_until: Moment,
    /// Whether the region really answers.
    up: bool,
}

impl Known {
    fn circuit(&self, now: Moment) -> Circuit {
        match self.opened_at {
            None => Circuit::Closed,
            Some(opened) if now < opened + COOLDOWN => Circuit::Open,
            Some(_) => Circuit::HalfOpen,
        }
    }

    /// 0: takes jobs, 1: full, 2: one probe; `None`: nothing may be sent there.
    fn standing(&self, now: Moment) -> Option<u8> {
        let probe_lost = |since: Moment| now >= since + COOLDOWN;
        match self.circuit(now) {
            Circuit::Open => None,
            _ if self.check_failed => None,
            Circuit::HalfOpen => self.probing_since.is_none_or(probe_lost).then_some(2),
            Circuit::Closed => Some(u8::from(now < self.full_until)),
        }
    }

    fn succeeded(&mut self) {
        (self.failures, self.opened_at, self.probing_since) = (0, None, None);
    }

    fn failed(&mut self, now: Moment) {
        self.failures += 1;
        if self.opened_at.is_some() || self.failures >= THRESHOLD {
            (self.opened_at, self.probing_since, self.failures) = (Some(now), None, 0);
        }
    }
}

struct Run {
    random: Random,
    federation: Federation,
    known: Vec<Known>,
    weights: Vec<u32>,
    tagged: Vec<bool>,
    hub: Option<usize>,
    now: Moment,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let count = 1 + random.index(6);
        let (mut weights, mut tagged, mut regions) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count {
            let (weight, has_tag) = (1 + random.index(3) as u32, random.chance(50));
            let region = Region::new(&format!("r{number}"), "https://h.example.com").unwrap();
            let tags: &[&str] = if has_tag { &["gpu"] } else { &[] };
            regions.push(region.weight(weight).unwrap().tags(tags).unwrap());
            weights.push(weight);
            tagged.push(has_tag);
        }
        let hub = random.chance(25).then(|| random.index(count));
        let topology = match hub {
            Some(hub) => Topology::HubSpoke { hub: RegionId::parse(&format!("r{hub}")).unwrap() },
            None => Topology::Mesh,
        };
        let mut policy = Policy::new("r0");
        policy.full_for = FULL_FOR;
        let registry = Registry::new(regions, topology).unwrap();
        let known = vec![Known { up: true, ..Known::default() }; count];
        let federation = Federation::new(registry, policy).unwrap();
        Self { random, federation, known, weights, tagged, hub, now: Moment::ZERO }
    }

    fn run(&mut self) {
        for _ in 0..STEPS {
            self.now = self.now + Duration::from_millis(self.random.below(4_000));
            let region = self.random.index(self.known.len());
            match self.random.below(10) {
                0 => self.known[region].up ^= true,
                1 | 2 => self.check(region),
                3 => self.collect_load(region),
                _ => self.enqueue(),
            }
            self.compare();
        }
    }

    fn index(&self, region: usize) -> RegionIndex {
        self.federation.registry().indexes().nth(region).unwrap()
    }

    fn check(&mut self, region: usize) {
        let index = self.index(region);
        let before = self.known[region].clone();
        let Some(attempt) = self.federation.ask(index, self.now) else {
            assert_ne!(before.circuit(self.now), Circuit::Closed, "a closed breaker admits");
            return;
        };
        assert_ne!(before.circuit(self.now), Circuit::Open, "no check goes to an open region");
        let round_trip = 1 + self.random.below(200);
        let known = &mut self.known[region];
        known.check_failed = !known.up;
        match known.up {
            true => {
                let ms = round_trip as f64;
                known.latency_ms =
                    Some(known.latency_ms.map_or(ms, |average| average + 0.2 * (ms - average)));
                known.succeeded();
            }
            false => known.failed(self.now),
        }
        let round_trip = known.up.then(|| Duration::from_millis(round_trip));
        self.federation.checked(attempt, round_trip, self.now);
    }

    fn collect_load(&mut self, region: usize) {
        let waiting = self.random.below(50);
        let index = self.index(region);
        self.federation.loaded(index, Load { waiting, active: 0 }, self.now);
        (self.known[region].load, self.known[region].sent) = (Some(waiting), 0);
    }

    fn wishes(&mut self) -> Wishes {
        const STRATEGIES: [Option<Strategy>; 4] =
            [None, Some(Strategy::Overflow), Some(Strategy::Latency), Some(Strategy::RoundRobin)];
        let pin = self.random.index(self.known.len() + 1);
        Wishes {
            region: self.random.chance(30).then(|| format!("r{pin}")),
            strategy: STRATEGIES[self.random.index(STRATEGIES.len())],
            tags: if self.random.chance(20) { vec!["gpu".to_owned()] } else { Vec::new() },
            draw: self.random.next(),
            ..Wishes::default()
        }
    }

    /// Sends one job, failing over as a client does, and judges every step.
    fn enqueue(&mut self) {
        let wishes = self.wishes();
        let mut tried = RegionSet::new();
        loop {
            let decision = self.federation.route(&wishes, &tried, self.now);
            self.judge(&wishes, &tried, &decision);
            let Ok(decision) = decision else { return };
            let attempt = self.federation.begin(decision, self.now).unwrap();
            tried.insert(decision.region);
            if self.send(attempt) {
                return;
            }
        }
    }

    /// Whether the region took the job.
    fn send(&mut self, attempt: Attempt) -> bool {
        let (full, lost) = (self.random.chance(10), self.random.chance(5));
        let known = &mut self.known[attempt.region().position()];
        known.sent += 1;
        if known.circuit(self.now) == Circuit::HalfOpen {
            known.probing_since = Some(self.now);
            if lost {
                // Nothing is heard of this probe again.
                return false;
            }
        }
        let result = match (known.up, full) {
            (false, _) => {
                known.failed(self.now);
                AttemptResult::Failed
            }
            (true, true) => {
                known.succeeded();
                known.full_until = self.now + FULL_FOR;
                AttemptResult::Full
            }
            (true, false) => {
                known.succeeded();
                AttemptResult::Answered
            }
        };
        self.federation.finish(attempt, result, self.now);
        result == AttemptResult::Answered
    }

    /// The regions that may have the job, with their standing.
    fn possible(&self, wishes: &Wishes, tried: &RegionSet) -> Vec<(usize, u8)> {
        let hub_away = self.hub.is_some_and(|hub| self.known[hub].standing(self.now).is_none());
        (0..self.known.len())
            .filter(|region| !tried.contains(self.index(*region)))
            .filter(|region| wishes.tags.is_empty() || self.tagged[*region])
            .filter(|region| !hub_away || *region == 0)
            .filter(|region| wishes.region.as_ref().is_none_or(|pin| *pin == format!("r{region}")))
            .filter_map(|region| Some((region, self.known[region].standing(self.now)?)))
            .collect()
    }

    fn judge(&self, wishes: &Wishes, tried: &RegionSet, decision: &Result<Decision, NoRoute>) {
        let possible = self.possible(wishes, tried);
        let Ok(decision) = decision else {
            assert!(
                possible.is_empty() || tried.len() > 3,
                "{decision:?} although {possible:?} could take {wishes:?}"
            );
            return;
        };
        let chosen = decision.region.position();
        let Some((_, standing)) = possible.iter().find(|(region, _)| *region == chosen) else {
            panic!("r{chosen} may not have {wishes:?}; {possible:?} may");
        };
        if wishes.region.is_some() {
            assert_eq!(decision.strategy, Strategy::GeoPin);
            return;
        }
        let best = possible.iter().map(|(_, standing)| *standing).min();
        assert_eq!(Some(*standing), best, "r{chosen} is not of the best: {possible:?}");
        let equals: Vec<usize> =
            possible.iter().filter(|(_, s)| s == standing).map(|(region, _)| *region).collect();
        let latency = |region: usize| self.known[region].latency_ms.unwrap_or(f64::INFINITY);
        let nearest = equals.iter().map(|region| latency(*region)).fold(f64::INFINITY, f64::min);
        match decision.strategy {
            Strategy::Affinity if equals.contains(&0) => assert_eq!(chosen, 0),
            Strategy::Affinity => {
                assert!(latency(chosen) <= (nearest * 1.1).max(nearest + 1.0) + 1e-6);
            }
            Strategy::Latency => assert!(latency(chosen) <= nearest + 1e-6),
            Strategy::Overflow => {
                let work = |region: usize| {
                    let sent = self.known[region].sent as f64 / f64::from(self.weights[region]);
                    self.known[region].load.map_or(f64::INFINITY, |load| load as f64 + sent)
                };
                let least = equals.iter().map(|region| work(*region)).fold(f64::INFINITY, f64::min);
                assert!(work(chosen) <= least, "r{chosen} has more work than another");
            }
            _ => {}
        }
    }

    /// What the federation shows is what the oracle knows.
    fn compare(&self) {
        for (region, known) in self.known.iter().enumerate() {
            let observed = self.federation.observed(self.index(region));
            assert_eq!(observed.circuit(self.now), known.circuit(self.now), "r{region}");
        }
    }
}

#[test]
fn every_decision_keeps_the_rules_under_random_faults() {
    for seed in 0..SEEDS {
        let run = std::panic::catch_unwind(|| Run::new(seed).run());
        assert!(run.is_ok(), "seed {seed}");
    }
}
