//! The description of the regions: checked, and changed while the client runs.

use rota_client::federation::{FederatedClient, Settings};
use serde_json::{Value, json};

use crate::regions::{Regions, job};
use crate::support::Server;

fn refused(changed: Value) -> String {
    let mut settings = json!({
        "local_region": "eu",
        "regions": [
            {"id": "eu", "url": "https://eu.example.com"},
            {"id": "us", "url": "https://us.example.com"},
        ],
    });
    for (name, value) in changed.as_object().unwrap() {
        settings[name] = value.clone();
    }
    let settings = Settings::from_json(&settings.to_string(), "regions.json");
    match settings.and_then(|settings| settings.check()) {
        Ok(()) => "nothing is wrong".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(refused(json!({})), "nothing is wrong");
    for (changed, expected) in [
        (json!({"local_region": "mars"}), "names region 'mars', which does not exist"),
        (json!({"topology": "hub-spoke"}), "hub must name a region"),
        (json!({"topology": "ring"}), "topology must be mesh"),
        (json!({"hub": "eu"}), "hub is for the topology hub-spoke only"),
        (json!({"default_strategy": "geo-pin"}), "cannot be geo-pin"),
        (json!({"default_strategy": "fastest"}), "must be one of: affinity, overflow"),
        (json!({"regions": []}), "at least one region"),
        (json!({"regions": [{"id": "eu", "url": "http://eu.example.com"}]}), "https only"),
        (
            json!({"regions": [{"id": "eu", "url": "https://eu.example.com", "wieght": 2}]}),
            "wieght",
        ),
        (json!({"failover": {"exclude_regions": ["mars"]}}), "failover.exclude_regions"),
        (json!({"health_check": {"interval_seconds": 0}}), "must be 1 to"),
        (json!({"circuit_breaker": {"failure_threshold": 0}}), "at least 1"),
    ] {
        let error = refused(changed.clone());
        assert!(error.contains(expected), "{changed}: {error}");
    }
}

#[test]
fn a_file_is_toml_or_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("regions.toml");
    let text =
        "local_region = \"eu\"\n[[regions]]\nid = \"eu\"\nurl = \"https://eu.example.com\"\n";
    std::fs::write(&path, text).unwrap();
    assert_eq!(Settings::read(&path).unwrap().regions[0].id, "eu");
    std::fs::write(&path, "local_region = 7").unwrap();
    assert!(Settings::read(&path).unwrap_err().to_string().contains("regions.toml"));
    assert!(Settings::read(dir.path().join("none.toml")).is_err());
}

#[tokio::test]
async fn a_region_that_is_taken_out_gets_no_more_jobs() {
    let regions = Regions::start();
    let client = regions.client(json!({}));
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "eu");
    let mut settings = regions.settings(json!({"local_region": "us"}));
    settings.regions.retain(|region| region.id != "eu");
    client.reconfigure(settings).unwrap();
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "us");
    let wrong = regions.settings(json!({"local_region": "mars"}));
    assert!(client.reconfigure(wrong).is_err());
    assert_eq!(client.enqueue(&job()).await.unwrap().region, "us");
}

#[tokio::test]
async fn credentials_that_are_missing_are_named_and_not_shown() {
    let regions = Regions::start();
    let mut settings = regions.settings(json!({}));
    settings.regions[1].token_env = Some("ROTA_TEST_NO_SUCH_TOKEN".to_owned());
    let error = FederatedClient::connect(settings).unwrap_err().to_string();
    assert!(error.contains("region 'us'") && error.contains("ROTA_TEST_NO_SUCH_TOKEN"), "{error}");
}

#[test]
fn a_server_that_knows_its_region_refuses_what_must_run_elsewhere() {
    let server = Server::start_in_env(&[], &[("ROTA_FEDERATION_REGION", "eu")]);
    let job = |region: &str| json!({"type": "a.b", "args": [], "meta": {"ojs.federation.region": region}});
    server.post("/ojs/v1/jobs", job("eu")).expect(201);
    let refused = server.post("/ojs/v1/jobs", job("us")).expect_error(422, "invalid_request");
    assert_eq!(refused["details"]["field"], "meta.ojs.federation.region");
    let batch = json!({"jobs": [job("eu"), job("us")]});
    server.post("/ojs/v1/jobs/batch", batch).expect_error(422, "invalid_request");
    let schedule = json!({"name": "c", "cron": "0 0 * * *", "type": "a.b", "args": [],
        "meta": {"ojs.federation.region": "us"}});
    server.post("/ojs/v1/cron", schedule).expect_error(422, "invalid_request");
    assert_eq!(
        server.get("/ojs/v1/admin/jobs").expect(200)["items"].as_array().map(Vec::len),
        Some(1)
    );
}
