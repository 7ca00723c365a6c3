//! Regions that go away and come back.

use rota_client::federation::{Circuit, Event, FederationError, NoRoute};
use serde_json::json;

use crate::regions::{IDS, Regions, healthy, job, pinned, until};

#[tokio::test]
async fn jobs_stay_local_until_the_region_dies_and_return_when_it_is_back() {
    let mut regions = Regions::start();
    // The first job may be sent on a connection of which nobody knows yet that it is dead.
    let settings = json!({"failover": {"prefer_regions": ["ap"]}, "on_ambiguous": "send"});
    let client = regions.client(settings);
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu");

    regions.server("eu").kill();
    for _ in 0..10 {
        let routed = client.enqueue(&job()).await.expect("no error while a neighbour is healthy");
        assert_eq!(routed.region, "ap");
    }
    let told = regions.events().iter().any(|event| {
        matches!(event, Event::Failover { from_region, to_region, .. }
            if from_region == "eu" && to_region == "ap")
    });
    assert!(told, "{:?}", regions.events());

    regions.server("eu").restart_on_its_port();
    healthy(&client, "eu", true).await;
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu");
}

#[tokio::test]
async fn a_pinned_job_goes_nowhere_else() {
    let mut regions = Regions::start();
    let client = regions.client(json!({}));
    assert_eq!(client.enqueue(&pinned("us")).await.unwrap().region, "us");
    regions.server("us").kill();
    for _ in 0..10 {
        let error = client.enqueue(&pinned("us")).await.unwrap_err();
        let named = match &error {
            // What was sent on a connection that died is in doubt, and stays there.
            FederationError::Ambiguous { region, .. }
            | FederationError::NotTaken { region, .. } => region,
            FederationError::NoRoute(NoRoute::PinnedUnavailable { id, .. }) => id,
            _ => panic!("{error}"),
        };
        assert_eq!(named, "us", "{error}");
    }
    let unknown = client.enqueue(&pinned("mars")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "region 'mars' does not exist");
    for id in ["eu", "ap"] {
        let jobs = regions.server(id).get("/ojs/v1/admin/jobs").expect(200);
        assert_eq!(jobs["items"], json!([]), "{id}");
    }
}

#[tokio::test]
async fn an_open_breaker_is_probed_after_its_cooldown_and_closes() {
    let mut regions = Regions::start();
    let client = regions.client(json!({}));
    healthy(&client, "us", true).await;
    regions.server("us").kill();
    let circuit = |wanted| {
        let client = client.clone();
        move || client.regions().iter().any(|region| region.id == "us" && region.circuit == wanted)
    };
    until(circuit(Circuit::Open)).await;
    regions.server("us").restart_on_its_port();
    until(circuit(Circuit::Closed)).await;
    let changes: Vec<Circuit> = regions
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::CircuitChanged { region, circuit } if region == "us" => Some(*circuit),
            _ => None,
        })
        .collect();
    assert_eq!(changes.first(), Some(&Circuit::Open));
    assert_eq!(changes.last(), Some(&Circuit::Closed));
    assert_eq!(client.enqueue(&pinned("us")).await.unwrap().region, "us");
}

#[tokio::test]
async fn without_the_hub_only_local_work_goes_on() {
    let mut regions = Regions::start();
    let client = regions.client(json!({"topology": "hub-spoke", "hub": "us"}));
    assert_eq!(client.enqueue(&pinned("ap")).await.unwrap().region, "ap");
    regions.server("us").kill();
    healthy(&client, "us", false).await;
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu");
    let error = client.enqueue(&pinned("ap")).await.unwrap_err();
    assert!(matches!(error, FederationError::NoRoute(NoRoute::HubAway { .. })), "{error}");
    regions.server("us").restart_on_its_port();
    healthy(&client, "us", true).await;
    assert_eq!(client.enqueue(&pinned("ap")).await.unwrap().region, "ap");
}

#[tokio::test]
async fn overflow_goes_to_the_region_with_the_least_work() {
    let mut regions = Regions::start();
    for (id, waiting) in [("eu", 20), ("us", 10), ("ap", 30)] {
        for _ in 0..waiting {
            regions.server(id).enqueue(json!({"type": "a.b", "args": []}));
        }
    }
    let client = regions.client(json!({}));
    until(|| client.regions().iter().all(|region| region.load.is_some())).await;
    let overflow = job().meta("ojs.federation.region_affinity", "overflow");
    assert_eq!(client.enqueue(&overflow).await.unwrap().region, "us");
}

#[tokio::test]
async fn a_limit_of_one_region_sends_the_tenants_jobs_to_another() {
    let mut regions = Regions::start();
    let limit = json!({"limits": {"max_queue_depth": 1}});
    regions.server("eu").put("/ojs/v1/admin/tenants/acme", limit).expect(201);
    let client = regions.client(json!({})).with_tenant("acme").unwrap();
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu");
    let second = client.enqueue(&job()).await.unwrap();
    assert_ne!(second.region, "eu");
    let eu = client.regions().into_iter().find(|region| region.id == "eu").unwrap();
    assert_eq!((eu.circuit, eu.failures), (Circuit::Closed, 0), "a limit is an answer");
}

#[tokio::test]
async fn a_job_is_found_and_cancelled_wherever_it_is() {
    let mut regions = Regions::start();
    let writer = regions.client(json!({}));
    let routed = writer.enqueue(&pinned("ap")).await.unwrap();
    // One that has not enqueued it and has to ask.
    let reader = regions.client(json!({}));
    let (found, region) = reader.job(&routed.job.id).await.unwrap();
    assert_eq!((found.id.as_str(), region.as_str()), (routed.job.id.as_str(), "ap"));
    let (cancelled, _) = reader.cancel(&routed.job.id).await.unwrap();
    assert_eq!(cancelled.state, "cancelled");
    let missing = "01234567-89ab-7000-8000-000000000000";
    assert!(matches!(reader.job(missing).await, Err(FederationError::Region { .. })));
    regions.server("us").kill();
    let unknown = reader.job(missing).await.unwrap_err();
    assert!(
        matches!(&unknown, FederationError::Unknown { regions, .. } if regions == "us"),
        "{unknown}"
    );
    assert_eq!(IDS.len(), 3);
}
