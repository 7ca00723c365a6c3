//! Regions in networks of their own, while links are cut, processes stop and die, and all of it heals. Every enqueue
//! is accounted for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rota_client::federation::{Event, FederatedClient, FederationError, NoRoute};
use rota_client::{Ack, Client, Fetch, NewJob};
use serde_json::json;
use tokio::task::JoinSet;

use crate::networks::Networks;
use crate::regions::{IDS, healthy, until};

/// What the caller was told about each job.
#[derive(Default)]
struct Ledger {
    /// Where jobs were taken, by id, with the region that they must run in.
    taken: BTreeMap<String, (String, Option<&'static str>)>,
    /// Jobs of which nobody knows: they may be in this region, and nowhere else.
    unknown: BTreeMap<String, (String, Option<&'static str>)>,
    refused_pins: u64,
    /// Errors that no caller should have seen.
    wrong: Vec<String>,
    runs: BTreeMap<String, Vec<&'static str>>,
}

/// A client that enqueues without end, and a worker in each region.
struct Load {
    ledger: Arc<Mutex<Ledger>>,
    producing: Arc<AtomicBool>,
    producers: JoinSet<()>,
    workers: JoinSet<()>,
}

impl Load {
    fn start(client: &FederatedClient) -> Self {
        let (ledger, producing) =
            (Arc::<Mutex<Ledger>>::default(), Arc::new(AtomicBool::new(true)));
        let (mut producers, mut workers) = (JoinSet::new(), JoinSet::new());
        for pin in [None, None, Some("eu"), Some("us"), Some("ap")] {
            let (client, ledger, producing) = (client.clone(), ledger.clone(), producing.clone());
            producers.spawn(async move {
                while producing.load(Ordering::Relaxed) {
                    enqueue(&client, pin, &ledger).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
        for id in IDS {
            workers.spawn(work(client.region(id).unwrap(), id, ledger.clone()));
        }
        Self { ledger, producing, producers, workers }
    }

    fn jobs_in(&self, region: &str) -> usize {
        let ledger = self.ledger.lock().unwrap();
        let here = |(at, pin): &&(String, Option<&str>)| at == region && pin.is_none();
        ledger.taken.values().filter(here).count()
    }

    fn refused_pins(&self) -> u64 {
        self.ledger.lock().unwrap().refused_pins
    }

    /// Waits until jobs for any region go to this one.
    async fn goes_to(&self, region: &str) {
        let before = self.jobs_in(region);
        until(|| self.jobs_in(region) >= before + 20).await;
    }

    async fn stop_producing(&mut self) {
        self.producing.store(false, Ordering::Relaxed);
        while self.producers.join_next().await.is_some() {}
    }
}

async fn enqueue(client: &FederatedClient, pin: Option<&'static str>, ledger: &Mutex<Ledger>) {
    let mut job = NewJob::new("a.b").arg(1);
    if let Some(region) = pin {
        job = job.meta("ojs.federation.region", region);
    }
    let outcome = client.enqueue(&job).await;
    let mut ledger = ledger.lock().unwrap();
    match outcome {
        Ok(routed) => {
            ledger.taken.insert(routed.job.id.clone(), (routed.region, pin));
        }
        Err(FederationError::Ambiguous { region, id, .. }) => {
            ledger.unknown.insert(id, (region, pin));
        }
        Err(FederationError::NoRoute(NoRoute::PinnedUnavailable { id, .. }))
            if Some(&*id) == pin =>
        {
            ledger.refused_pins += 1;
        }
        Err(FederationError::NotTaken { .. }) if pin.is_some() => ledger.refused_pins += 1,
        Err(error) => ledger.wrong.push(format!("{pin:?}: {error}")),
    }
}

async fn work(client: Client, region: &'static str, ledger: Arc<Mutex<Ledger>>) {
    let mut fetch = Fetch::from(["default"]).worker(region).count(50).wait_ms(200);
    // What is handed out on a link that is cut is handed out again after this time.
    fetch.visibility_timeout_ms = Some(5_000);
    loop {
        let Ok(jobs) = client.fetch(&fetch).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        for job in jobs {
            {
                let mut ledger = ledger.lock().unwrap();
                let regions = ledger.runs.entry(job.id.clone()).or_default();
                // A job whose report was lost is handed out again; its own region sees to that.
                if !regions.contains(&region) {
                    regions.push(region);
                }
            }
            let ack = Ack {
                job_id: job.id.clone(),
                worker_id: Some(region.to_owned()),
                attempt: Some(job.attempt),
                result: None,
            };
            // A report that is lost on a cut link is sent again until somebody has heard it.
            while matches!(
                client.ack(&ack).await,
                Err(rota_client::Error::Timeout { .. }
                    | rota_client::Error::Unreachable { .. }
                    | rota_client::Error::Interrupted { .. })
            ) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The pairs that the client has reported, and whether both copies had started.
fn pairs(events: &[Event]) -> BTreeMap<String, bool> {
    let pair = |event: &Event| match event {
        Event::Duplicate { federation_id, cancelled_in, .. } => {
            Some((federation_id.clone(), cancelled_in.is_none()))
        }
        _ => None,
    };
    events.iter().filter_map(pair).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_enqueue_is_accounted_for_while_links_are_cut_and_processes_stop_and_die() {
    let mut networks = Networks::start();
    let client = networks.client(&json!({"on_ambiguous": "send"}));
    for id in IDS {
        healthy(&client, id, true).await;
    }
    // All is well: jobs stay in the local region.
    for _ in 0..20 {
        assert_eq!(client.enqueue(&NewJob::new("a.b").queue("other")).await.unwrap().region, "eu");
    }
    let mut load = Load::start(&client);
    load.goes_to("eu").await;

    // The link to the local region is cut, and laid again.
    let refused = load.refused_pins();
    networks.cut("eu", true);
    load.goes_to("ap").await;
    until(|| load.refused_pins() > refused).await;
    networks.cut("eu", false);
    healthy(&client, "eu", true).await;
    load.goes_to("eu").await;

    // Its process stops and goes on.
    networks.signal("eu", "STOP");
    load.goes_to("ap").await;
    networks.signal("eu", "CONT");
    healthy(&client, "eu", true).await;

    // It dies while its neighbour cannot be reached, and both come back.
    networks.cut("ap", true);
    networks.kill("eu");
    load.goes_to("us").await;
    networks.restart("eu");
    networks.cut("ap", false);
    for id in IDS {
        healthy(&client, id, true).await;
    }
    load.goes_to("eu").await;
    load.stop_producing().await;
    settle(&networks, &client, &load).await;
    load.workers.shutdown().await;
    judge(&networks, &client, &load).await;
}

/// Waits until every doubt is settled and every job that is somewhere has run.
async fn settle(networks: &Networks, client: &FederatedClient, load: &Load) {
    until(|| client.doubts() == 0).await;
    eprintln!("all doubts are settled");
    let all_ran = || {
        let cancelled = pairs(&networks.events());
        let ledger = load.ledger.lock().unwrap();
        ledger.taken.keys().all(|id| ledger.runs.contains_key(id) || cancelled.contains_key(id))
    };
    until(all_ran).await;
}

async fn judge(networks: &Networks, client: &FederatedClient, load: &Load) {
    let ledger = load.ledger.lock().unwrap();
    let reported = pairs(&networks.events());
    eprintln!(
        "{} jobs taken, {} in doubt, {} pins refused, {} pairs found, in namespaces: {}",
        ledger.taken.len(),
        ledger.unknown.len(),
        ledger.refused_pins,
        reported.len(),
        networks.isolated,
    );
    assert!(ledger.wrong.is_empty(), "{:?}", ledger.wrong);
    let known: BTreeMap<_, _> = ledger.taken.iter().chain(&ledger.unknown).collect();
    for (id, regions) in &ledger.runs {
        let Some((region, pin)) = known.get(id) else { panic!("{id} ran and nobody sent it") };
        if let Some(pin) = pin {
            assert!(regions.iter().all(|at| at == pin), "{id} must run in {pin}: {regions:?}");
        }
        match reported.get(id) {
            Some(both_started) => assert!(regions.len() == 1 || *both_started, "{id}"),
            None => assert_eq!(regions.len(), 1, "{id} in {region} is a pair that was not found"),
        }
    }
    for id in ledger.taken.keys() {
        assert!(ledger.runs.contains_key(id), "{id} was taken and never ran");
    }
    drop(ledger);
    assert!(client.regions().iter().all(|region| region.healthy));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_hub_regions_keep_to_themselves_until_it_is_back() {
    let networks = Networks::start();
    let client = networks.client(&json!({"topology": "hub-spoke", "hub": "us"}));
    for id in IDS {
        healthy(&client, id, true).await;
    }
    let to_ap = NewJob::new("a.b").meta("ojs.federation.region", "ap");
    assert_eq!(client.enqueue(&to_ap).await.unwrap().region, "ap");
    networks.cut("us", true);
    healthy(&client, "us", false).await;
    assert_eq!(client.enqueue(&NewJob::new("a.b")).await.unwrap().region, "eu");
    let error = client.enqueue(&to_ap).await.unwrap_err();
    assert!(matches!(error, FederationError::NoRoute(NoRoute::HubAway { .. })), "{error}");
    networks.cut("us", false);
    healthy(&client, "us", true).await;
    assert_eq!(client.enqueue(&to_ap).await.unwrap().region, "ap");
}

#[tokio::test]
async fn a_region_that_asks_for_a_certificate_gets_no_jobs_without_it() {
    let networks = Networks::start();
    let with = networks.client(&json!({}));
    healthy(&with, "eu", true).await;
    assert_eq!(with.enqueue(&NewJob::new("a.b")).await.unwrap().region, "eu");
    let mut settings = (*with.settings()).clone();
    for region in &mut settings.regions {
        (region.client_cert, region.client_key) = (None, None);
    }
    let without = FederatedClient::connect(settings).unwrap();
    healthy(&without, "eu", false).await;
    assert!(without.enqueue(&NewJob::new("a.b")).await.is_err());
}
