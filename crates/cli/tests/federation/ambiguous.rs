//! Regions that are sent a job and do not answer.

use rota_client::federation::{Event, FederationError};
use serde_json::json;

use crate::regions::{Regions, healthy, job, pinned, until};

#[tokio::test]
async fn a_silent_region_fails_the_call_and_nothing_runs_twice() {
    let mut regions = Regions::start();
    let client = regions.client(json!({}));
    client.enqueue(&job()).await.unwrap();
    regions.freeze("eu").await;
    let id = &match client.enqueue(&job()).await {
        Err(FederationError::Ambiguous { region, id, .. }) if region == "eu" => id,
        // A health check was quicker than the job, which never went to the silent region.
        Ok(routed) if routed.region != "eu" => return regions.server("eu").signal("CONT"),
        other => panic!("{other:?}"),
    };
    regions.server("eu").signal("CONT");
    healthy(&client, "eu", true).await;
    // What was sent arrives now, once or not at all, and sending it again makes no second job.
    let again = client.enqueue(&pinned("eu").id(id)).await.unwrap();
    assert_eq!((&again.job.id, regions.copies(id)), (id, 1));
}

#[tokio::test]
async fn a_copy_that_was_sent_elsewhere_is_found_and_cancelled() {
    let mut regions = Regions::start();
    let client = regions.client(json!({"on_ambiguous": "send"}));
    client.enqueue(&job()).await.unwrap();
    regions.freeze("eu").await;
    let routed = client.enqueue(&job()).await.unwrap();
    assert_ne!(routed.region, "eu");
    if routed.doubtful.is_empty() {
        // A health check was quicker than the job, which never went to the silent region.
        regions.server("eu").signal("CONT");
        assert_eq!(regions.copies(&routed.job.id), 1);
        return;
    }
    assert_eq!(routed.doubtful, ["eu"]);
    regions.server("eu").signal("CONT");
    let settled = |event: &Event| {
        matches!(event, Event::Duplicate { federation_id, .. } | Event::NoDuplicate { federation_id, .. }
            if *federation_id == routed.job.id)
    };
    until(|| regions.events().iter().any(settled)).await;
    let open = regions
        .servers
        .iter()
        .map(|server| server.get(&format!("/ojs/v1/jobs/{}", routed.job.id)))
        .filter(|reply| reply.status == 200 && reply.body["job"]["state"] == "available")
        .count();
    assert_eq!(open, 1, "{:?}", regions.events());
}

#[tokio::test]
async fn a_pinned_job_is_never_sent_elsewhere_in_doubt() {
    let mut regions = Regions::start();
    let settings = json!({"on_ambiguous": "send", "health_check": {"interval_seconds": 60}});
    let client = regions.client(settings);
    client.enqueue(&pinned("us")).await.unwrap();
    regions.freeze("us").await;
    let error = client.enqueue(&pinned("us")).await.unwrap_err();
    assert!(matches!(error, FederationError::Ambiguous { .. }), "{error}");
    regions.server("us").signal("CONT");
}
