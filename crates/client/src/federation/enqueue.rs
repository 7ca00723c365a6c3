//! Enqueueing in whichever region can take the job.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use rota_federation::{AttemptResult, Explanation, NoRoute, RegionSet, Strategy};
use serde::Serialize;

use super::connection::{FederatedClient, Sending};
use super::courier::{Courier, Failed, Own, Taken};
use super::event::Event;
use super::parcel::Parcel;
use super::rules::Rules;
use super::verdict::Verdict;
use super::{FederationError, OnAmbiguous};
use crate::forward::Forwarded;
use crate::{Error, Job, WithJson};

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

/// A parcel that a region has taken.
pub(super) struct Delivered<T> {
    pub taken: T,
    pub region: String,
    pub strategy: Strategy,
    pub doubtful: Vec<String>,
}

/// Why a parcel was not delivered.
pub(super) enum Undelivered {
    /// A region has considered it and refused.
    Refused { region: String, failed: Failed },
    /// The regions that were tried have no room for it, and this is what the last of them answered.
    Limited { region: String, answer: Forwarded, error: FederationError },
    /// Anything else.
    Failed(FederationError),
}

/// What became of the regions that were tried.
#[derive(Default)]
struct Tried {
    regions: RegionSet,
    last: Option<(String, Failed)>,
    doubtful: Vec<String>,
}

impl FederatedClient {
    /// Enqueues a job in the region that its `meta` and the settings choose, and in another one if that region
    /// cannot take it.
    pub async fn enqueue(&self, job: &impl Serialize) -> Result<Routed, FederationError> {
        let json = text(job)?;
        let parcel = Parcel::one(&json, self.tenant.as_deref(), &self.rules())?;
        let own = Own { tenant: self.tenant.as_deref() };
        let delivered =
            self.deliver(&parcel, &own).await.map_err(|undelivered| match undelivered {
                Undelivered::Refused { region, failed } => {
                    FederationError::Region { region, error: failed.error }
                }
                Undelivered::Limited { error, .. } | Undelivered::Failed(error) => error,
            })?;
        let Delivered { taken: Taken { job, quota_exceeded }, region, strategy, doubtful } =
            delivered;
        Ok(Routed { job, region, strategy, quota_exceeded, doubtful })
    }

    /// Says where a job would go and why, without sending it.
    pub fn explain(&self, job: &impl Serialize) -> Result<Explanation, FederationError> {
        let json = text(job)?;
        let parcel = Parcel::one(&json, self.tenant.as_deref(), &self.rules())?;
        let now = self.shared.now();
        Ok(self.shared.regions().federation.explain(&parcel.wishes, now))
    }

    /// Sends a parcel to one region after another until one takes it.
    pub(super) async fn deliver<C: Courier>(
        &self,
        parcel: &Parcel<'_>,
        courier: &C,
    ) -> Result<Delivered<C::Taken>, Undelivered> {
        let mut tried = Tried::default();
        loop {
            let (sending, strategy) = match self.choose(parcel, &mut tried) {
                Ok(chosen) => chosen,
                Err(route) => {
                    self.count_refused_pin(parcel);
                    return Err(tried.outcome(route, &parcel.id));
                }
            };
            let (region, place) = (sending.target.id.to_string(), sending.target.region);
            tried.regions.insert(place);
            match self.send(sending, parcel, courier).await {
                Sent::Taken(taken) => {
                    self.taken(parcel, &region, &tried.doubtful);
                    let doubtful = tried.doubtful;
                    return Ok(Delivered { taken, region, strategy, doubtful });
                }
                Sent::Refused(failed) => return Err(Undelivered::Refused { region, failed }),
                Sent::NotTaken(failed) => tried.last = Some((region, failed)),
                Sent::Unknown(error) => {
                    let pinned = strategy == Strategy::GeoPin;
                    if pinned || self.shared.on_ambiguous() == OnAmbiguous::Fail {
                        let id = parcel.id.clone();
                        let error = FederationError::Ambiguous { region, id, error };
                        return Err(Undelivered::Failed(error));
                    }
                    tried.doubtful.push(region.clone());
                    tried.last = Some((region, error.into()));
                }
            }
        }
    }

    fn count_refused_pin(&self, parcel: &Parcel<'_>) {
        let mut regions = self.shared.regions();
        let pin = parcel.wishes.region.as_deref();
        if let Some(place) = pin.and_then(|id| regions.federation.registry().find(id)) {
            regions.federation.refused_pin(place);
        }
    }

    /// The rules for jobs that do not choose a region themselves.
    pub(super) fn rules(&self) -> Arc<Rules> {
        self.shared.regions().rules.clone()
    }

    fn taken(&self, parcel: &Parcel<'_>, region: &str, doubtful: &[String]) {
        let jobs = parcel.batch.as_ref().map_or(1, Vec::len) as u64;
        let mut regions = self.shared.regions();
        if let Some(place) = regions.federation.registry().find(region) {
            regions.federation.took(place, jobs);
        }
        drop(regions);
        for id in parcel.batch.as_deref().unwrap_or(std::slice::from_ref(&parcel.id)) {
            self.remember(id, region);
            super::reconcile::doubt(
                &self.shared,
                id,
                doubtful,
                region,
                parcel.wishes.tenant.as_deref(),
            );
        }
    }

    fn choose(
        &self,
        parcel: &Parcel<'_>,
        tried: &mut Tried,
    ) -> Result<(Sending, Strategy), NoRoute> {
        let now = self.shared.now();
        let mut regions = self.shared.regions();
        loop {
            let decision = regions.federation.route(&parcel.wishes, &tried.regions, now)?;
            let Some(attempt) = regions.federation.begin(decision, now) else {
                tried.regions.insert(decision.region);
                continue;
            };
            let target = regions.target(decision.region);
            drop(regions);
            if let Some((from, failed)) = &tried.last {
                self.shared.tell(&Event::Failover {
                    federation_id: parcel.id.clone(),
                    from_region: from.clone(),
                    to_region: target.id.to_string(),
                    reason: failed.error.to_string(),
                });
            }
            return Ok((self.shared.sending(target, attempt), decision.strategy));
        }
    }

    async fn send<C: Courier>(
        &self,
        sending: Sending,
        parcel: &Parcel<'_>,
        courier: &C,
    ) -> Sent<C::Taken> {
        let settings = self.shared.regions().settings.clone();
        let body = parcel.body(&settings.local_region, SystemTime::now());
        let tenant = parcel.wishes.tenant.as_deref().unwrap_or_default();
        let target = sending.target.clone();
        match courier.send(&target.client, parcel, body.clone(), false).await {
            Ok(taken) => {
                sending.finish(AttemptResult::Answered);
                Sent::Taken(taken)
            }
            Err(failed) => {
                let verdict = Verdict::of(&failed.error);
                sending.finish(verdict.result(&failed.error, tenant));
                match verdict {
                    Verdict::Refused => Sent::Refused(failed),
                    Verdict::Limited | Verdict::Away => Sent::NotTaken(failed),
                    // The same id in the same region makes one job, so sending it again is asking.
                    Verdict::Unknown => match self.shared.ask(&target) {
                        Some(again) => {
                            // Rare, so the usual future has no room for it.
                            let asking = self.ask_again(again, parcel, body, courier, failed.error);
                            Box::pin(asking).await
                        }
                        None => Sent::Unknown(failed.error),
                    },
                }
            }
        }
    }

    /// Asks a region that did not answer whether it has the parcel, by sending it once more.
    async fn ask_again<C: Courier>(
        &self,
        sending: Sending,
        parcel: &Parcel<'_>,
        body: Bytes,
        courier: &C,
        first: Error,
    ) -> Sent<C::Taken> {
        let tenant = parcel.wishes.tenant.as_deref().unwrap_or_default();
        let target = sending.target.clone();
        let failed = match courier.send(&target.client, parcel, body.clone(), true).await {
            Ok(taken) => {
                sending.finish(AttemptResult::Answered);
                return Sent::Taken(taken);
            }
            Err(failed) => failed,
        };
        let verdict = Verdict::of(&failed.error);
        sending.finish(verdict.result(&failed.error, tenant));
        // A refusal of the second request says nothing about the first.
        let Some(sending) = (match verdict {
            Verdict::Refused | Verdict::Limited => self.shared.ask(&target),
            Verdict::Away | Verdict::Unknown => None,
        }) else {
            return Sent::Unknown(first);
        };
        match courier.look(&target.client, parcel, &body).await {
            Ok(Some(taken)) => {
                sending.finish(AttemptResult::Answered);
                Sent::Taken(taken)
            }
            Ok(None) => {
                sending.finish(AttemptResult::Answered);
                match verdict {
                    Verdict::Refused => Sent::Refused(failed),
                    _ => Sent::NotTaken(failed),
                }
            }
            Err(silent) => {
                sending.finish(Verdict::of(&silent).result(&silent, tenant));
                Sent::Unknown(first)
            }
        }
    }
}

fn text(job: &impl Serialize) -> Result<String, FederationError> {
    serde_json::to_string(job)
        .map_err(|cause| FederationError::Job(Error::BadJob { reason: cause.to_string() }))
}

/// What became of a parcel that was sent to a region.
enum Sent<T> {
    Taken(T),
    Refused(Failed),
    NotTaken(Failed),
    Unknown(Error),
}

impl Tried {
    /// What became of the parcel, after the last region.
    fn outcome(self, route: NoRoute, id: &str) -> Undelivered {
        let Some((region, failed)) = self.last else {
            return Undelivered::Failed(FederationError::NoRoute(route));
        };
        let Failed { error, answer } = failed;
        if let Some(region) = self.doubtful.first() {
            let (region, id) = (region.clone(), id.to_owned());
            return Undelivered::Failed(FederationError::Ambiguous { region, id, error });
        }
        match answer.filter(|answer| answer.status == 429) {
            Some(answer) => {
                let error = FederationError::NotTaken { route, region: region.clone(), error };
                Undelivered::Limited { region, answer, error }
            }
            None => Undelivered::Failed(FederationError::NotTaken { route, region, error }),
        }
    }
}
