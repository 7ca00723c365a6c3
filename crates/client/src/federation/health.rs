//! Asking a region how it is and how much work it has.

use std::sync::Arc;
use std::time::Duration;

use rota_federation::{AttemptResult, Load};
use tokio::time::{Instant, timeout};

use super::connection::{Shared, Target};
use super::event::Event;
use super::verdict::Verdict;
use crate::{Client, Error};

/// How many queues of a region are counted, and how many of them are asked one by one at a server whose list has no
/// counts.
const MOST_QUEUES: u32 = 1_000;
const MOST_ASKED: usize = 100;

impl Shared {
    /// Checks one region, unless its breaker is open.
    pub async fn check(self: &Arc<Self>, target: &Target, longest: Duration) {
        let Some(sending) = self.ask(target) else { return };
        let began = Instant::now();
        let checked = timeout(longest, check(&target.client)).await;
        let outcome = checked.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        let before = self.was_well(target);
        sending.checked(outcome.is_ok().then(|| began.elapsed()));
        if before != Some(outcome.is_ok()) && !(before.is_none() && outcome.is_ok()) {
            self.tell(&Event::HealthChanged {
                region: target.id.to_string(),
                healthy: outcome.is_ok(),
                reason: outcome.err(),
            });
        }
    }

    fn was_well(&self, target: &Target) -> Option<bool> {
        let regions = self.regions();
        let place = regions.federation.registry().find(&target.id)?;
        Some(regions.federation.observed(place).check()?.ok)
    }

    /// Collects the load of one region, if it is healthy.
    pub async fn collect_load(self: &Arc<Self>, target: &Target, longest: Duration) {
        let healthy = {
            let (regions, now) = (self.regions(), self.now());
            let place = regions.federation.registry().find(&target.id);
            place.is_some_and(|place| regions.federation.observed(place).is_healthy(now))
        };
        let Some(sending) = (if healthy { self.ask(target) } else { None }) else { return };
        match timeout(longest, load(&target.client)).await {
            Ok(Ok(load)) => {
                sending.finish(AttemptResult::Answered);
                let now = self.now();
                let mut regions = self.regions();
                if let Some(place) = regions.federation.registry().find(&target.id) {
                    regions.federation.loaded(place, load, now);
                }
            }
            Ok(Err(error)) => {
                // A region that does not show its queues is still a region.
                let verdict = Verdict::of(&error);
                sending.finish(match verdict.result(&error, "") {
                    AttemptResult::Failed => AttemptResult::Failed,
                    _ => AttemptResult::Answered,
                });
            }
            Err(_) => sending.finish(AttemptResult::Failed),
        }
    }
}

/// Healthy means status 200 and `"status": "ok"`.
async fn check(client: &Client) -> Result<(), String> {
    match client.health_with_status().await {
        Ok((200, health)) if health.status == "ok" => Ok(()),
        Ok((status, health)) => {
            Err(format!("it answered {status} with \"status\": \"{}\"", health.status))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The jobs that wait and run in all queues.
async fn load(client: &Client) -> Result<Load, Error> {
    let queues = client.queues(MOST_QUEUES, None).await?.items;
    let mut load = Load::default();
    let mut asked = 0;
    for queue in &queues {
        let counts = match queue.json().contains("\"available\"") || asked >= MOST_ASKED {
            true => queue.counts.clone(),
            false => {
                asked += 1;
                client.queue_stats(&queue.name).await?.stats.counts.clone()
            }
        };
        load.waiting += counts.available;
        load.active += counts.active;
    }
    Ok(load)
}
