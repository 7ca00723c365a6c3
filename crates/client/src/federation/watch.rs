//! Watching the regions in the background.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::connection::{Shared, Target};

/// How often the watch looks for regions that are new.
const LOOK: Duration = Duration::from_secs(1);
/// Intervals vary by this part, so that many clients do not ask at the same moment.
const JITTER: f64 = 0.1;

/// Health checks and collections of load, until this is dropped.
pub(super) struct Watch(JoinHandle<()>);

impl Watch {
    pub fn start(shared: Arc<Shared>) -> Self {
        Self(tokio::spawn(run(shared)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A region and when it is asked next.
struct Watched {
    target: Target,
    check: Instant,
    load: Instant,
    check_every: Duration,
}

impl Watched {
    fn next(&self) -> Instant {
        self.check.min(self.load)
    }
}

/// All regions. A round of checks takes each of them from the heap and puts it back: the cost of a round grows with
/// the number of regions, not with its square.
#[derive(Default)]
struct Round {
    version: Option<u64>,
    regions: Vec<Watched>,
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    load_every: Duration,
    longest: Duration,
}

impl Round {
    /// Takes over the regions as they are configured now. Those that stay keep their times.
    fn renew(&mut self, shared: &Shared, now: Instant) {
        let regions = shared.regions();
        if self.version == Some(regions.version) {
            return;
        }
        self.version = Some(regions.version);
        let settings = &regions.settings;
        let usual = settings.health_check.interval_seconds;
        self.load_every = Duration::from_secs(settings.load.interval_seconds);
        self.longest = Duration::from_secs(settings.health_check.timeout_seconds);
        let known: HashMap<Arc<str>, (Instant, Instant)> = std::mem::take(&mut self.regions)
            .into_iter()
            .map(|region| (region.target.id, (region.check, region.load)))
            .collect();
        let intervals = settings.regions.iter().map(|region| region.health_interval_seconds);
        self.regions = regions
            .targets()
            .zip(intervals)
            .map(|(target, interval)| {
                let check_every = Duration::from_secs(interval.unwrap_or(usual));
                let (check, load) = known.get(&target.id).copied().unwrap_or((now, now));
                let (check, load) = (check.min(now + check_every), load.min(now + self.load_every));
                Watched { target, check, load, check_every }
            })
            .collect();
        let places = self.regions.iter().enumerate();
        self.due = places.map(|(place, region)| Reverse((region.next(), place))).collect();
    }

    /// The next region that is due, whether it is checked, and whether its load is collected.
    fn next_due(&mut self, now: Instant) -> Option<(Target, bool, bool)> {
        let Reverse((at, place)) = *self.due.peek()?;
        if at > now {
            return None;
        }
        self.due.pop();
        let region = &mut self.regions[place];
        let (checks, collects) = (region.check <= now, region.load <= now);
        if checks {
            region.check = now + varied(region.check_every);
        }
        if collects {
            region.load = now + varied(self.load_every);
        }
        self.due.push(Reverse((region.next(), place)));
        Some((region.target.clone(), checks, collects))
    }
}

async fn run(shared: Arc<Shared>) {
    let mut round = Round::default();
    let mut under_way: JoinSet<()> = JoinSet::new();
    loop {
        let now = Instant::now();
        round.renew(&shared, now);
        while let Some((target, checks, collects)) = round.next_due(now) {
            under_way.spawn(visit(shared.clone(), target, round.longest, checks, collects));
        }
        let look = now + LOOK;
        sleep_until(round.due.peek().map_or(look, |Reverse((at, _))| look.min(*at))).await;
        while under_way.try_join_next().is_some() {}
    }
}

async fn visit(
    shared: Arc<Shared>,
    target: Target,
    longest: Duration,
    checks: bool,
    collects: bool,
) {
    if checks {
        shared.check(&target, longest).await;
    }
    if collects {
        shared.collect_load(&target, longest).await;
    }
    if checks {
        shared.reconcile(&target).await;
    }
}

fn varied(interval: Duration) -> Duration {
    interval.mul_f64(1.0 - JITTER + 2.0 * JITTER * fastrand::f64())
}
