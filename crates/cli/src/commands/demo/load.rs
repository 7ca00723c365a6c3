//! The demo's load: which tenants enqueue how much, and the workers.

use std::sync::Arc;
use std::time::Duration;

use rota_client::{Ack, Client, Error, Fetch, NewJob};
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::tally::{FLOOD, NAMES, QUIET, Shared, URGENT};

/// Six workers at 40 ms per job handle at most 150 jobs per second: less than the flood needs, but few
/// enough for a slow machine, so that the demo shows the order of jobs rather than the machine's limits.
const WORKERS: usize = 6;
const WORK: Duration = Duration::from_millis(40);
const QUEUE: &str = "demo";
/// A batch is stored as a whole, so large ones would delay other jobs on either server.
const LARGEST_BATCH: usize = 250;
const BETWEEN_BATCHES: Duration = Duration::from_millis(10);

/// Many jobs at first, then one batch after another.
struct Habit {
    at_first: usize,
    batch: usize,
    every: Duration,
    priority: i64,
}

const A_JOB_NOW_AND_THEN: Habit =
    Habit { at_first: 0, batch: 1, every: Duration::from_millis(500), priority: 0 };
const A_FLOOD: Habit =
    Habit { at_first: 20_000, batch: 250, every: Duration::from_secs(1), priority: 0 };
const ALL_URGENT: Habit =
    Habit { at_first: 300, batch: 10, every: Duration::from_millis(250), priority: 100 };

/// Runs all tenants and workers until they are shut down.
pub(super) fn start(
    client: &Client,
    tally: &Arc<Shared>,
    tasks: &mut JoinSet<Result<(), Error>>,
) -> Result<(), Error> {
    for (tenant, name) in NAMES.iter().enumerate() {
        let client = client.clone().with_tenant(name)?;
        let habit = match tenant {
            FLOOD => A_FLOOD,
            URGENT => ALL_URGENT,
            _ => A_JOB_NOW_AND_THEN,
        };
        // Stagger the quiet tenants.
        let later = match QUIET.contains(&tenant) {
            true => habit.every * tenant as u32 / QUIET.len() as u32,
            false => Duration::ZERO,
        };
        let tally = tally.clone();
        tasks.spawn(async move {
            sleep(later).await;
            enqueue(&client, tenant, &habit, &tally).await
        });
    }
    for number in 1..=WORKERS {
        tasks.spawn(work(client.clone(), format!("demo-{number}"), tally.clone()));
    }
    Ok(())
}

async fn enqueue(
    client: &Client,
    tenant: usize,
    habit: &Habit,
    tally: &Shared,
) -> Result<(), Error> {
    let mut left = habit.at_first;
    while left > 0 {
        let count = left.min(LARGEST_BATCH);
        batch(client, tenant, count, habit.priority, tally).await?;
        left -= count;
        sleep(BETWEEN_BATCHES).await;
    }
    let mut ticks = interval(habit.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        batch(client, tenant, habit.batch, habit.priority, tally).await?;
    }
}

async fn batch(
    client: &Client,
    tenant: usize,
    count: usize,
    priority: i64,
    tally: &Shared,
) -> Result<(), Error> {
    let numbers = tally.lock().enqueue(tenant, count);
    let job = |number| NewJob::new("demo").arg(tenant).arg(number).queue(QUEUE).priority(priority);
    let jobs: Vec<NewJob> = numbers.map(job).collect();
    client.enqueue_batch(&jobs).await?;
    Ok(())
}

async fn work(client: Client, worker: String, tally: Arc<Shared>) -> Result<(), Error> {
    let fetch = Fetch::from([QUEUE]).worker(&worker).wait_ms(1_000);
    loop {
        for job in client.fetch(&fetch).await? {
            let (tenant, number) = whose(&job.args);
            tally.lock().begin(tenant, number);
            sleep(WORK).await;
            let ack = Ack {
                job_id: job.id.clone(),
                worker_id: Some(worker.clone()),
                attempt: Some(job.attempt),
                result: None,
            };
            client.ack(&ack).await?;
            tally.lock().finish(tenant);
        }
    }
}

/// A tenant, and the index of one of its jobs.
fn whose(args: &RawValue) -> (usize, usize) {
    serde_json::from_str(args.get()).expect("the arguments are those that were enqueued here")
}
