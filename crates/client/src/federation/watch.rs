//! Watching the regions in the background.

use std::collections::HashMap;
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

/// When a region is asked next.
struct Due {
    check: Instant,
    load: Instant,
}

async fn run(shared: Arc<Shared>) {
    let mut due: HashMap<String, Due> = HashMap::new();
    let mut under_way: JoinSet<()> = JoinSet::new();
    loop {
        let now = Instant::now();
        let (targets, check, load) = {
            let regions = shared.regions();
            let settings = &regions.settings;
            let seconds = Duration::from_secs;
            let check = (
                seconds(settings.health_check.interval_seconds),
                seconds(settings.health_check.timeout_seconds),
            );
            (regions.nearest_first(), check, seconds(settings.load.interval_seconds))
        };
        due.retain(|id, _| targets.iter().any(|target| target.id == *id));
        let mut next = now + LOOK;
        for target in targets {
            let region = due.entry(target.id.clone()).or_insert(Due { check: now, load: now });
            if region.check <= now {
                region.check = now + varied(check.0);
                let collects = region.load <= now;
                if collects {
                    region.load = now + varied(load);
                }
                under_way.spawn(visit(shared.clone(), target, check.1, collects));
            } else if region.load <= now {
                region.load = now + varied(load);
                let (shared, longest) = (shared.clone(), check.1);
                under_way.spawn(async move { shared.collect_load(&target, longest).await });
            }
            next = next.min(region.check).min(region.load);
        }
        sleep_until(next).await;
        while under_way.try_join_next().is_some() {}
    }
}

async fn visit(shared: Arc<Shared>, target: Target, longest: Duration, collects: bool) {
    shared.check(&target, longest).await;
    if collects {
        shared.collect_load(&target, longest).await;
    }
    shared.reconcile(&target).await;
}

fn varied(interval: Duration) -> Duration {
    interval.mul_f64(1.0 - JITTER + 2.0 * JITTER * fastrand::f64())
}
