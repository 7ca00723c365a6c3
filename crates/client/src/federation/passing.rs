//! Passing on the requests of others, for gateways.

use std::collections::BTreeMap;

use http::HeaderMap;
use rota_federation::{AttemptResult, Explanation, NoRoute, Strategy};
use serde_json::value::RawValue;

use super::FederationError;
use super::connection::{FederatedClient, Target};
use super::courier::Passing;
use super::enqueue::{Delivered, Undelivered};
use super::parcel::Parcel;
use super::verdict::Verdict;
use crate::Error;
use crate::forward::{Forward, Forwarded};

/// The answer to a request that was passed on.
#[derive(Debug, Clone)]
pub struct Passed {
    /// The answer as it came.
    pub answer: Forwarded,
    /// The region that gave it.
    pub region: String,
    /// How the region was chosen, for a new job.
    pub strategy: Option<Strategy>,
}

impl FederatedClient {
    /// Passes a new job on to the region that is chosen for it. An answer of a region is a success here, whatever
    /// its status is.
    pub async fn pass_job(
        &self,
        job: &str,
        tenant: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Passed, FederationError> {
        self.pass_parcel(Parcel::one(job, tenant, &self.rules())?, headers).await
    }

    /// Passes a batch of new jobs on to one region.
    pub async fn pass_batch(
        &self,
        jobs: &[&RawValue],
        tenant: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Passed, FederationError> {
        self.pass_parcel(Parcel::many(jobs, tenant, &self.rules())?, headers).await
    }

    async fn pass_parcel(
        &self,
        parcel: Parcel<'_>,
        headers: &HeaderMap,
    ) -> Result<Passed, FederationError> {
        match self.deliver(&parcel, &Passing { headers }).await {
            Ok(Delivered { taken, region, strategy, .. }) => {
                Ok(Passed { answer: taken, region, strategy: Some(strategy) })
            }
            Err(Undelivered::Refused { region, failed }) => match failed.answer {
                Some(answer) => Ok(Passed { answer, region, strategy: None }),
                None => Err(FederationError::Region { region, error: failed.error }),
            },
            // The region says which limit it is, and when to try again.
            Err(Undelivered::Limited { region, answer, .. }) => {
                Ok(Passed { answer, region, strategy: None })
            }
            Err(Undelivered::Failed(error)) => Err(error),
        }
    }

    /// Says where a job would go and why, without sending it.
    pub fn explain_for(
        &self,
        job: &str,
        tenant: Option<&str>,
    ) -> Result<Explanation, FederationError> {
        let parcel = Parcel::one(job, tenant, &self.rules())?;
        let now = self.shared.now();
        Ok(self.shared.regions().federation.explain(&parcel.wishes, now))
    }

    /// The region in which such a job must run: its own `meta` says so, or a rule.
    pub fn pin_of(
        &self,
        job: &str,
        tenant: Option<&str>,
    ) -> Result<Option<String>, FederationError> {
        Ok(Parcel::one(job, tenant, &self.rules())?.wishes.region)
    }

    /// Passes a request about a job on to the job's region: the one that is remembered, else the one in `hint`, else
    /// whichever knows the job, the nearest asked first.
    ///
    /// A region that refuses the caller does not say whether it has the job, so the others are asked as well. What the
    /// first of them said is the answer if none has it. The same holds for a region that did not answer in time: a job
    /// that another region has is not there.
    pub async fn pass_to_job(
        &self,
        id: &str,
        hint: Option<&str>,
        request: &Forward,
    ) -> Result<Passed, FederationError> {
        let passed =
            |answer, region: &str| Passed { answer, region: region.into(), strategy: None };
        let (mut unasked, mut missing, mut refused, mut silent) = (Vec::new(), None, None, None);
        for target in self.where_to_look(id, hint) {
            match self.pass(&target, request).await {
                Ok(answer) if answer.status == 404 => missing = Some((answer, target.id)),
                Ok(answer) if matches!(answer.status, 401 | 403 | 429 | 500..) => {
                    refused.get_or_insert((answer, target.id));
                }
                Ok(answer) => {
                    if answer.is_success() || answer.status == 409 {
                        self.remember(id, &target.id);
                    }
                    return Ok(passed(answer, &target.id));
                }
                Err(error) => {
                    unasked.push(target.id.clone());
                    // It may have been done there. A request that changes nothing can just be repeated.
                    let sent = error.filter(|error| Verdict::of(error) == Verdict::Unknown);
                    if let (Some(error), false) = (sent, request.method.is_safe()) {
                        silent.get_or_insert((target.id, error));
                    }
                }
            }
        }
        if let Some((region, error)) = silent {
            let (id, region) = (id.to_owned(), region.to_string());
            return Err(FederationError::Ambiguous { region, id, error });
        }
        match (refused, missing) {
            (Some((answer, region)), _) => Ok(passed(answer, &region)),
            (None, Some((answer, region))) if unasked.is_empty() => Ok(passed(answer, &region)),
            _ => Err(FederationError::Unknown { id: id.to_owned(), regions: unasked.join(", ") }),
        }
    }

    /// All regions, in the order in which they are asked for a job.
    fn where_to_look(&self, id: &str, hint: Option<&str>) -> Vec<Target> {
        let mut targets = self.shared.regions().nearest_first();
        let home = self.remembered(id);
        targets.sort_by_key(|target| match &*target.id {
            id if home.as_deref() == Some(id) => 0,
            id if hint == Some(id) => 1,
            _ => 2,
        });
        targets
    }

    /// The region that is remembered for a job.
    #[must_use]
    pub fn home_of(&self, id: &str) -> Option<String> {
        self.remembered(id).map(|region| region.to_string())
    }

    /// Passes a request on to one region.
    pub async fn pass_to(
        &self,
        region: &str,
        request: &Forward,
    ) -> Result<Passed, FederationError> {
        let target = self.shared.regions().find(region);
        let unknown = || NoRoute::UnknownRegion { id: region.to_owned() };
        let target = target.ok_or_else(unknown)?;
        match self.pass(&target, request).await {
            Ok(answer) => Ok(Passed { answer, region: target.id.to_string(), strategy: None }),
            Err(Some(error)) => {
                Err(FederationError::Region { region: target.id.to_string(), error })
            }
            Err(None) => Err(FederationError::CircuitOpen { region: target.id.to_string() }),
        }
    }

    /// Passes a request on to these regions at once. Those that cannot be asked have no answer.
    pub async fn pass_to_all(
        &self,
        regions: &[String],
        request: &Forward,
    ) -> BTreeMap<String, Option<Forwarded>> {
        let targets: Vec<Target> = {
            let known = self.shared.regions();
            regions.iter().filter_map(|id| known.find(id)).collect()
        };
        let mut asking = tokio::task::JoinSet::new();
        for target in targets {
            let (client, request) = (self.clone(), request.clone());
            asking.spawn(async move {
                let answer = client.pass(&target, &request).await.ok();
                (target.id, answer)
            });
        }
        let mut answers: BTreeMap<_, _> = regions.iter().map(|id| (id.clone(), None)).collect();
        while let Some(asked) = asking.join_next().await {
            if let Ok((region, answer)) = asked {
                answers.insert(region.to_string(), answer);
            }
        }
        answers
    }

    /// Remembers that a job was handed out by this region.
    pub fn remember_home(&self, id: &str, region: &str) {
        self.remember(id, region);
    }

    /// The names of all regions, the local one first and then by latency.
    #[must_use]
    pub fn region_ids(&self) -> Vec<String> {
        let targets = self.shared.regions().nearest_first();
        targets.into_iter().map(|target| target.id.to_string()).collect()
    }

    /// `Err(None)`: the region's breaker is open. An answer that a proxy gave for a region that is away is an error.
    async fn pass(&self, target: &Target, request: &Forward) -> Result<Forwarded, Option<Error>> {
        let sending = self.shared.ask(target).ok_or(None)?;
        let answer = match target.client.forward(request.clone()).await {
            Ok(answer) => answer,
            Err(error) => {
                sending.finish(Verdict::of(&error).result(&error, ""));
                return Err(Some(error));
            }
        };
        if !matches!(answer.status, 502..=504) {
            sending.finish(AttemptResult::Answered);
            return Ok(answer);
        }
        sending.finish(AttemptResult::Failed);
        Err(Some(answer.error(target.client.url())))
    }
}
