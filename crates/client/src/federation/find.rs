//! Finding the region of a job.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};

use rota_federation::AttemptResult;

use super::FederationError;
use super::connection::FederatedClient;
use super::verdict::Verdict;
use crate::{Client, Error, Job, JobId, WithJson};

/// How many jobs' regions are remembered.
const MOST_HOMES: usize = 100_000;

/// The regions of the jobs that were seen last.
#[derive(Default)]
pub(super) struct Homes {
    by_id: HashMap<JobId, Arc<str>>,
    oldest_first: VecDeque<JobId>,
}

impl Homes {
    fn insert(&mut self, id: JobId, region: Arc<str>) {
        if self.by_id.insert(id, region).is_none() {
            self.oldest_first.push_back(id);
        }
        while self.oldest_first.len() > MOST_HOMES {
            if let Some(oldest) = self.oldest_first.pop_front() {
                self.by_id.remove(&oldest);
            }
        }
    }
}

impl FederatedClient {
    /// The job with this id and its region. Regions are asked one after another: the one that is remembered for the
    /// job, then the nearest first. A region that cannot be asked makes the outcome unknown, never "not found".
    pub async fn job(&self, id: &str) -> Result<(WithJson<Job>, String), FederationError> {
        self.in_its_region(id, |client, id| async move { client.job(&id).await }).await
    }

    /// Cancels a job in its region.
    pub async fn cancel(&self, id: &str) -> Result<(WithJson<Job>, String), FederationError> {
        self.in_its_region(id, |client, id| async move { client.cancel(&id).await }).await
    }

    /// Sends a request about a job to its region.
    async fn in_its_region<T, Asking>(
        &self,
        id: &str,
        ask: impl Fn(Client, String) -> Asking,
    ) -> Result<(T, String), FederationError>
    where
        Asking: Future<Output = Result<T, Error>>,
    {
        let mut targets = self.shared.regions().nearest_first();
        if let Some(home) = self.remembered(id) {
            targets.sort_by_key(|target| target.id != home);
        }
        let (mut unasked, mut missing) = (Vec::new(), None);
        for target in targets {
            let Some(sending) = self.shared.ask(&target) else {
                unasked.push(target.id.to_string());
                continue;
            };
            let tenant = self.tenant.as_deref().unwrap_or_default();
            match ask(self.on_behalf(&target.client), id.to_owned()).await {
                Ok(found) => {
                    sending.finish(AttemptResult::Answered);
                    self.remember(id, &target.id);
                    return Ok((found, target.id.to_string()));
                }
                Err(error) => {
                    let verdict = Verdict::of(&error);
                    sending.finish(verdict.result(&error, tenant));
                    match verdict {
                        Verdict::Refused if error.is_not_found() => {
                            missing = Some((target.id.to_string(), error))
                        }
                        Verdict::Refused => {
                            let region = target.id.to_string();
                            return Err(FederationError::Region { region, error });
                        }
                        Verdict::Limited | Verdict::Away | Verdict::Unknown => {
                            unasked.push(target.id.to_string())
                        }
                    }
                }
            }
        }
        match missing {
            Some((region, error)) if unasked.is_empty() => {
                Err(FederationError::Region { region, error })
            }
            _ => Err(FederationError::Unknown { id: id.to_owned(), regions: unasked.join(", ") }),
        }
    }

    /// Ids that no server gives to jobs are not remembered.
    pub(super) fn remember(&self, id: &str, region: &str) {
        let Some(id) = JobId::parse(id) else { return };
        let Some(region) = self.shared.regions().find(region).map(|target| target.id) else {
            return;
        };
        let mut homes = self.shared.homes.lock().unwrap_or_else(PoisonError::into_inner);
        homes.insert(id, region);
    }

    pub(super) fn remembered(&self, id: &str) -> Option<Arc<str>> {
        let id = JobId::parse(id)?;
        let homes = self.shared.homes.lock().unwrap_or_else(PoisonError::into_inner);
        homes.by_id.get(&id).cloned()
    }
}
