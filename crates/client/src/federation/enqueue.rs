//! Enqueueing in whichever region can take the job.

use std::sync::Arc;
use std::time::SystemTime;

use rota_federation::{AttemptResult, Explanation, NoRoute, RegionSet, Strategy};
use serde::Serialize;

use super::connection::{FederatedClient, Sending};
use super::event::Event;
use super::members::Members;
use super::prepared::Prepared;
use super::verdict::Verdict;
use super::{FederationError, OnAmbiguous};
use crate::{Client, Error, Job, WithJson};

/// An enqueued job and where it is.
#[derive(Debug, Clone)]
pub struct Routed {
    /// The job.
    pub job: WithJson<Job>,
    /// The region that has it.
    pub region: String,
    /// How that region was chosen.
    pub strategy: Strategy,
    /// Exceeded soft quotas of the tenant.
    pub quota_exceeded: Vec<String>,
    /// Regions that may have the job too, because they did not answer.
    pub doubtful: Vec<String>,
}

/// What became of the regions that were tried.
#[derive(Default)]
struct Tried {
    regions: RegionSet,
    last: Option<(String, Error)>,
    doubtful: Vec<String>,
}

impl FederatedClient {
    /// Enqueues a job in the region that its `meta` and the settings choose, and in another one if that region
    /// cannot take it.
    pub async fn enqueue(&self, job: &impl Serialize) -> Result<Routed, FederationError> {
        let prepared = Prepared::new(job, self.tenant.as_deref())?;
        let mut tried = Tried::default();
        loop {
            let (sending, strategy) = self.choose(&prepared, &mut tried)?;
            let (region, place) = (sending.target.id.clone(), sending.target.region);
            tried.regions.insert(place);
            match self.send(sending, &prepared).await {
                Sent::Taken(taken) => {
                    let Taken { job, quota_exceeded } = *taken;
                    self.remember(&prepared.id, &region);
                    self.doubt(&prepared.id, &tried.doubtful, &region);
                    let doubtful = tried.doubtful;
                    return Ok(Routed { job, region, strategy, quota_exceeded, doubtful });
                }
                Sent::Refused(error) => return Err(FederationError::Region { region, error }),
                Sent::NotTaken(error) => tried.last = Some((region, error)),
                Sent::Unknown(error) => {
                    let pinned = strategy == Strategy::GeoPin;
                    if pinned || self.shared.on_ambiguous() == OnAmbiguous::Fail {
                        return Err(FederationError::Ambiguous { region, id: prepared.id, error });
                    }
                    tried.doubtful.push(region.clone());
                    tried.last = Some((region, error));
                }
            }
        }
    }

    /// Says where a job would go and why, without sending it.
    pub fn explain(&self, job: &impl Serialize) -> Result<Explanation, FederationError> {
        let prepared = Prepared::new(job, self.tenant.as_deref())?;
        let now = self.shared.now();
        Ok(self.shared.regions().federation.explain(&prepared.wishes, now))
    }

    fn choose(
        &self,
        prepared: &Prepared,
        tried: &mut Tried,
    ) -> Result<(Sending, Strategy), FederationError> {
        let now = self.shared.now();
        let mut regions = self.shared.regions();
        loop {
            let decision = match regions.federation.route(&prepared.wishes, &tried.regions, now) {
                Ok(decision) => decision,
                Err(route) => return Err(tried.outcome(route, &prepared.id)),
            };
            let Some(attempt) = regions.federation.begin(decision, now) else {
                tried.regions.insert(decision.region);
                continue;
            };
            let target = regions.target(decision.region);
            drop(regions);
            if let Some((from, error)) = &tried.last {
                self.shared.tell(&Event::Failover {
                    federation_id: prepared.id.clone(),
                    from_region: from.clone(),
                    to_region: target.id.clone(),
                    reason: error.to_string(),
                });
            }
            return Ok((self.shared.sending(target, attempt), decision.strategy));
        }
    }

    async fn send(&self, sending: Sending, prepared: &Prepared) -> Sent {
        let client = self.on_behalf(sending.target.client.clone());
        let local = self.shared.regions().settings.local_region.clone();
        let envelope = prepared.envelope(&local, SystemTime::now());
        let tenant = prepared.wishes.tenant.as_deref().unwrap_or_default();
        let target = sending.target.clone();
        match enqueue_in(&client, &envelope).await {
            Ok(taken) => {
                sending.finish(AttemptResult::Answered);
                Sent::Taken(Box::new(taken))
            }
            Err(error) => {
                let verdict = Verdict::of(&error);
                sending.finish(verdict.result(&error, tenant));
                match verdict {
                    Verdict::Refused => Sent::Refused(error),
                    Verdict::Limited | Verdict::Away => Sent::NotTaken(error),
                    // The same id in the same region makes one job, so sending it again is asking.
                    Verdict::Unknown => match self.shared.ask(&target) {
                        Some(again) => {
                            self.ask_again(again, &client, &envelope, prepared, error).await
                        }
                        None => Sent::Unknown(error),
                    },
                }
            }
        }
    }

    /// Asks a region that did not answer whether it has the job, by sending the job once more.
    async fn ask_again(
        &self,
        sending: Sending,
        client: &Client,
        envelope: &Members,
        prepared: &Prepared,
        first: Error,
    ) -> Sent {
        let tenant = prepared.wishes.tenant.as_deref().unwrap_or_default();
        let target = sending.target.clone();
        let error = match enqueue_in(client, envelope).await {
            Ok(taken) => {
                sending.finish(AttemptResult::Answered);
                return Sent::Taken(Box::new(taken));
            }
            Err(error) => error,
        };
        let verdict = Verdict::of(&error);
        sending.finish(verdict.result(&error, tenant));
        // A refusal of the second request says nothing about the first.
        let Some(sending) = (match verdict {
            Verdict::Refused | Verdict::Limited => self.shared.ask(&target),
            Verdict::Away | Verdict::Unknown => None,
        }) else {
            return Sent::Unknown(first);
        };
        match client.job(&prepared.id).await {
            Ok(job) => {
                sending.finish(AttemptResult::Answered);
                Sent::Taken(Box::new(Taken { job, quota_exceeded: Vec::new() }))
            }
            Err(missing) if missing.is_not_found() => {
                sending.finish(AttemptResult::Answered);
                match verdict {
                    Verdict::Refused => Sent::Refused(error),
                    _ => Sent::NotTaken(error),
                }
            }
            Err(silent) => {
                sending.finish(Verdict::of(&silent).result(&silent, tenant));
                Sent::Unknown(first)
            }
        }
    }
}

/// What became of a job that was sent to a region.
enum Sent {
    Taken(Box<Taken>),
    Refused(Error),
    NotTaken(Error),
    Unknown(Error),
}

struct Taken {
    job: WithJson<Job>,
    quota_exceeded: Vec<String>,
}

async fn enqueue_in(client: &Client, envelope: &Members) -> Result<Taken, Error> {
    let enqueued = client.enqueue_with_warnings(envelope).await?;
    Ok(Taken { job: enqueued.what, quota_exceeded: enqueued.quota_exceeded })
}

impl Tried {
    /// The error after the last region.
    fn outcome(&mut self, route: NoRoute, id: &str) -> FederationError {
        match (self.last.take(), self.doubtful.first()) {
            (Some((_, error)), Some(region)) => {
                FederationError::Ambiguous { region: region.clone(), id: id.to_owned(), error }
            }
            (Some((region, error)), None) => FederationError::NotTaken { route, region, error },
            (None, _) => FederationError::NoRoute(route),
        }
    }
}

impl FederatedClient {
    fn doubt(&self, id: &str, doubtful: &[String], second: &str) {
        let shared = Arc::clone(&self.shared);
        super::reconcile::doubt(&shared, id, doubtful, second, self.tenant.as_deref());
    }
}
