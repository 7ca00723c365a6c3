//! A client that enqueues, and a worker in each region.

use std::sync::Arc;
use std::time::Duration;

use rota_client::federation::{FederatedClient, FederationError, NoRoute};
use rota_client::{Ack, Client, Fetch, NewJob};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::tally::{IDS, Shared};

const EVERY: Duration = Duration::from_millis(40);
/// One of so many jobs must run in the first region, one in the second, and the others may run anywhere.
const KINDS: u64 = 4;
const QUEUE: &str = "demo";
/// A worker whose region does not answer asks again after this time.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn start_enqueueing(
    client: &FederatedClient,
    tally: &Arc<Shared>,
    to: &mut JoinSet<()>,
) {
    let (client, tally) = (client.clone(), tally.clone());
    to.spawn(async move {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for number in 0.. {
            ticks.tick().await;
            let pin = match number % KINDS {
                0 => Some(IDS[0]),
                1 => Some(IDS[1]),
                _ => None,
            };
            enqueue(&client, pin, number, &tally).await;
        }
    });
}

pub(super) fn start_working(client: &FederatedClient, tally: &Arc<Shared>, to: &mut JoinSet<()>) {
    for id in IDS {
        if let Some(region) = client.region(id) {
            to.spawn(work(region, id, tally.clone()));
        }
    }
}

async fn enqueue(client: &FederatedClient, pin: Option<&str>, number: u64, tally: &Shared) {
    let mut job = NewJob::new("demo").arg(number).queue(QUEUE);
    if let Some(region) = pin {
        job = job.meta("ojs.federation.region", region);
    }
    match (client.enqueue(&job).await, pin) {
        (Ok(routed), _) => tally.lock().took(&routed.region, &routed.job.id, pin.is_some()),
        (Err(error), Some(_)) => {
            let mut tally = tally.lock();
            tally.pins_refused += 1;
            // What is refused without being sent explains itself best.
            let explains =
                matches!(error, FederationError::NoRoute(NoRoute::PinnedUnavailable { .. }));
            if explains || tally.last_refusal.is_none() {
                tally.last_refusal = Some(error.to_string());
            }
        }
        (Err(error), None) => {
            tally.lock().not_taken += 1;
            tally.note(format!("a job was not taken: {error}"));
        }
    }
}

async fn work(client: Client, region: &'static str, tally: Arc<Shared>) {
    let worker = format!("demo-{region}");
    let fetch = Fetch::from([QUEUE]).worker(&worker).wait_ms(500);
    loop {
        let Ok(jobs) = client.fetch(&fetch).await else {
            sleep(PAUSE).await;
            continue;
        };
        for job in jobs {
            tally.lock().ran(region, &job.id);
            let ack = Ack {
                job_id: job.id.clone(),
                worker_id: Some(worker.clone()),
                attempt: Some(job.attempt),
                result: None,
            };
            // A worker that cannot report runs the job again later; the region gives it out again.
            let _ = client.ack(&ack).await;
        }
    }
}
