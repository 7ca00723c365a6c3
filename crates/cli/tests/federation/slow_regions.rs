//! Regions that answer slowly, or break, behind a relay that counts what they are sent.

use std::time::Duration;

use rota_client::federation::{Circuit, Event, FederatedClient};
use serde_json::{Value, json};

use crate::regions::{IDS, Regions, healthy, job, pinned, until};
use crate::relay::Relay;

/// A client that reaches `eu` through a relay.
async fn relayed(regions: &Regions, changed: Value) -> (FederatedClient, Relay) {
    let relay = Relay::to(regions.servers[0].address()).await;
    let mut settings = regions.settings(changed);
    settings.regions[0].url = format!("http://{}", relay.address);
    let client = regions.client_of(settings);
    for id in IDS {
        healthy(&client, id, true).await;
    }
    (client, relay)
}

#[tokio::test]
async fn an_open_breaker_lets_one_request_through_per_cooldown_and_no_more() {
    let regions = Regions::start();
    let (client, relay) =
        relayed(&regions, json!({"health_check": {"interval_seconds": 3600}})).await;
    // The load is asked for besides; nothing else is sent unless a job is.
    relay.set_broken(true);
    let opened = || {
        let open = |event: &&Event| matches!(event, Event::CircuitChanged { region, circuit: Circuit::Open } if region == "eu");
        regions.events().iter().filter(open).count()
    };
    let before = relay.requests();
    while opened() == 0 {
        assert!(client.enqueue(&pinned("eu")).await.is_err());
    }
    assert_eq!(relay.requests() - before, 3, "three failures open it, and nothing else was sent");
    // Callers try without pause. Each time the breaker opens again, one request more was sent.
    let at_open = relay.requests();
    let mut tries = 0;
    while opened() < 3 {
        assert!(client.enqueue(&pinned("eu")).await.is_err());
        tries += 1;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(relay.requests() - at_open, 2, "{tries} calls, and one probe for each cooldown");
    relay.set_broken(false);
    while client.enqueue(&pinned("eu")).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(relay.requests() - at_open, 3, "the probe that succeeds closes it");
    let eu = client.regions().into_iter().find(|region| region.id == "eu").unwrap();
    assert_eq!((eu.circuit, eu.failures), (Circuit::Closed, 0));
}

#[tokio::test]
async fn a_slow_region_is_the_local_one_still_and_a_silent_one_is_not() {
    let mut regions = Regions::start();
    let (client, relay) = relayed(&regions, json!({"on_ambiguous": "send"})).await;
    relay.delay(Duration::from_millis(100));
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu", "slow, and still an answer");
    let by_latency = job().meta("ojs.federation.region_affinity", "latency");
    let measured = || {
        let regions = client.regions();
        regions.iter().find(|region| region.id == "eu").unwrap().latency_ms > Some(20.0)
    };
    until(measured).await;
    assert_ne!(client.enqueue(&by_latency).await.unwrap().region, "eu", "it is not the fastest");
    relay.delay(Duration::from_secs(5));
    let routed = client.enqueue(&job()).await.unwrap();
    assert_ne!(routed.region, "eu", "no answer within the timeout");
    relay.delay(Duration::ZERO);
    healthy(&client, "eu", true).await;
    until(|| client.doubts() == 0).await;
    assert!(!routed.doubtful.is_empty() || regions.copies(&routed.job.id) == 1);
    let open = regions.servers.iter_mut().filter(|server| {
        let reply = server.get(&format!("/ojs/v1/jobs/{}", routed.job.id));
        reply.status == 200 && reply.body["job"]["state"] == "available"
    });
    assert_eq!(open.count(), 1, "the copy in the slow region is found and cancelled");
}
