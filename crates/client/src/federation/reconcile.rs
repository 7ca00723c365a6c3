//! Jobs that may be in two regions.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{FederatedClient, Shared, Target};
use super::event::Event;
use crate::{Client, Error};

/// How many doubts are remembered. Beyond it the oldest are reported and forgotten.
const MOST_DOUBTS: usize = 10_000;

/// A job that was sent to a second region because the first did not answer.
#[derive(Debug, Clone)]
pub(super) struct Doubt {
    id: String,
    first: String,
    second: String,
    tenant: Option<String>,
    /// When a copy that is not there by then will not come any more. A request can be on its way for a while after its
    /// region is back: in a network that sends it again, or in front of a process that was stopped.
    until: Option<Instant>,
}

/// Jobs that may be in two regions, oldest first.
#[derive(Default)]
pub(super) struct Doubts {
    open: VecDeque<Doubt>,
    /// How many are being settled.
    under_way: usize,
}

impl FederatedClient {
    /// How many jobs were sent to a second region and may be in the first as well.
    #[must_use]
    pub fn doubts(&self) -> usize {
        let doubts = self.shared.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        doubts.open.len() + doubts.under_way
    }
}

/// Remembers that the first regions may have the job as well.
pub(super) fn doubt(
    shared: &Shared,
    id: &str,
    doubtful: &[String],
    second: &str,
    tenant: Option<&str>,
) {
    let mut doubts = shared.doubts.lock().unwrap_or_else(PoisonError::into_inner);
    for first in doubtful {
        doubts.open.push_back(Doubt {
            id: id.to_owned(),
            first: first.clone(),
            second: second.to_owned(),
            tenant: tenant.map(str::to_owned),
            until: None,
        });
    }
    let mut forgotten = Vec::new();
    while doubts.open.len() > MOST_DOUBTS {
        forgotten.extend(doubts.open.pop_front());
    }
    drop(doubts);
    for Doubt { id, first, second, .. } in forgotten {
        shared.tell(&Event::DoubtForgotten {
            federation_id: id,
            first_region: first,
            second_region: second,
        });
    }
}

impl Shared {
    /// Settles the doubts about a region that answers again.
    pub async fn reconcile(self: &Arc<Self>, target: &Target) {
        let healthy = {
            let (regions, now) = (self.regions(), self.now());
            let place = regions.federation.registry().find(&target.id);
            place.is_some_and(|place| {
                let observed = regions.federation.observed(place);
                observed.is_healthy(now) && observed.check().is_some()
            })
        };
        if !healthy {
            return;
        }
        let wait = Duration::from_secs(self.regions().settings.reconcile_for_seconds);
        for mut doubt in self.take_doubts(&target.id) {
            let until = *doubt.until.get_or_insert_with(|| Instant::now() + wait);
            let second = self.regions().find(&doubt.second);
            let settled = match second {
                Some(second) => settle(&doubt, &target.client, &second.client).await,
                // Nobody can be asked about a region that is no longer one.
                None => Ok(None),
            };
            let over = match &settled {
                Ok(Some(event)) => {
                    self.tell(event);
                    true
                }
                Ok(None) if Instant::now() >= until => {
                    self.tell(&Event::NoDuplicate {
                        federation_id: doubt.id.clone(),
                        region: doubt.second.clone(),
                    });
                    true
                }
                // It may still come, or one of the two cannot be asked: later.
                Ok(None) | Err(_) => false,
            };
            let mut doubts = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
            doubts.under_way -= 1;
            if !over {
                doubts.open.push_back(doubt);
            }
        }
    }

    fn take_doubts(&self, region: &str) -> Vec<Doubt> {
        let mut doubts = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, rest): (VecDeque<_>, _) =
            doubts.open.drain(..).partition(|doubt| doubt.first == region);
        doubts.open = rest;
        doubts.under_way += taken.len();
        Vec::from(taken)
    }
}

/// Looks whether both regions have the job, and cancels the copy that has not started; `None` if the first does not
/// have it.
async fn settle(doubt: &Doubt, first: &Client, second: &Client) -> Result<Option<Event>, Error> {
    let on_behalf = |client: &Client| match &doubt.tenant {
        Some(id) => client.clone().with_tenant(id),
        None => Ok(client.clone()),
    };
    let (first, second) = (on_behalf(first)?, on_behalf(second)?);
    let Some(_) = state(&first, &doubt.id).await? else {
        return Ok(None);
    };
    let cancelled_in = if cancel_unstarted(&first, &doubt.id).await? {
        Some(doubt.first.clone())
    } else if cancel_unstarted(&second, &doubt.id).await? {
        Some(doubt.second.clone())
    } else {
        None
    };
    Ok(Some(Event::Duplicate {
        federation_id: doubt.id.clone(),
        first_region: doubt.first.clone(),
        second_region: doubt.second.clone(),
        cancelled_in,
    }))
}

async fn state(client: &Client, id: &str) -> Result<Option<String>, Error> {
    match client.job(id).await {
        Ok(job) => Ok(Some(job.state.clone())),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Cancels a job that has not started. Between the look and the cancellation it may start: an active job is then
/// told to stop, and its worker's outcome is refused, so that it still counts as one that ran.
async fn cancel_unstarted(client: &Client, id: &str) -> Result<bool, Error> {
    let waiting = matches!(
        state(client, id).await?.as_deref(),
        Some("available" | "scheduled" | "pending" | "retryable")
    );
    if !waiting {
        return Ok(false);
    }
    match client.cancel(id).await {
        Ok(_) => Ok(true),
        // It has ended since.
        Err(Error::Refused(refusal)) if matches!(refusal.status, 404 | 409) => Ok(false),
        Err(error) => Err(error),
    }
}
