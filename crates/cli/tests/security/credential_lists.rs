//! Keys that are for some queues or job types only.

use serde_json::{Value, json};

use crate::secured::{Secured, job, text_of};

fn key(secured: &Secured, more: Value) -> String {
    let mut about = json!({"name": "x", "tenant_id": "acme", "role": "admin"});
    about.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    text_of(&secured.create(about))
}

#[test]
fn jobs_are_added_to_the_queues_of_the_key_only() {
    let secured = Secured::start();
    let key = key(&secured, json!({"queues": ["mail"]}));
    secured.post(&key, "/ojs/v1/jobs", job("a", "mail")).expect(201);
    let error = secured.post(&key, "/ojs/v1/jobs", job("a", "sms"));
    let error = error.expect_error(403, "forbidden");
    assert_eq!(error["details"]["queue"], "sms");
    let batch = json!({"jobs": [job("a", "mail"), job("a", "sms")]});
    let error = secured.post(&key, "/ojs/v1/jobs/batch", batch).expect_error(403, "forbidden");
    assert_eq!(error["details"]["index"], 1);
    let cron = json!({"name": "n", "cron": "0 0 * * *", "type": "a", "queue": "sms"});
    secured.post(&key, "/ojs/v1/cron", cron).expect_error(403, "forbidden");
    assert_eq!(
        secured.get(secured.operator(), "/ojs/v1/jobs").expect(200)["pagination"]["total"],
        1
    );
}

#[test]
fn jobs_are_of_the_types_of_the_key_only() {
    let secured = Secured::start();
    let key = key(&secured, json!({"job_types": ["email.send"]}));
    secured.post(&key, "/ojs/v1/jobs", job("email.send", "q")).expect(201);
    let error = secured.post(&key, "/ojs/v1/jobs", job("email.purge", "q"));
    assert_eq!(error.expect_error(403, "forbidden")["details"]["job_type"], "email.purge");
}

#[test]
fn jobs_are_fetched_from_the_queues_of_the_key_only() {
    let secured = Secured::start();
    let (all, key) = (key(&secured, json!({})), key(&secured, json!({"queues": ["mail"]})));
    for queue in ["mail", "sms"] {
        secured.post(&all, "/ojs/v1/jobs", job("a", queue)).expect(201);
    }
    let fetch = |queues: Value| {
        secured.post(&key, "/ojs/v1/workers/fetch", json!({"queues": queues, "count": 10}))
    };
    fetch(json!(["sms"])).expect_error(403, "forbidden");
    fetch(json!(["mail", "sms"])).expect_error(403, "forbidden");
    // Without names, the queues of the key are meant.
    let fetched = fetch(json!([])).expect(200);
    let queues: Vec<&Value> =
        fetched["jobs"].as_array().unwrap().iter().map(|job| &job["queue"]).collect();
    assert_eq!(queues, ["mail"]);
}

#[test]
fn jobs_in_other_queues_do_not_exist_for_the_key() {
    let secured = Secured::start();
    let (all, key) = (key(&secured, json!({})), key(&secured, json!({"queues": ["mail"]})));
    let [own, other] = ["mail", "sms"].map(|queue| {
        let accepted = secured.post(&all, "/ojs/v1/jobs", job("a", queue)).expect(201);
        accepted["job"]["id"].as_str().unwrap().to_owned()
    });
    secured.get(&key, &format!("/ojs/v1/jobs/{own}")).expect(200);
    for (method, path) in [
        ("GET", format!("/ojs/v1/jobs/{other}")),
        ("GET", format!("/ojs/v1/admin/jobs/{other}")),
        ("GET", format!("/ojs/v1/admin/jobs/{other}/explain")),
        ("GET", format!("/ojs/v1/jobs/{other}/result")),
        ("DELETE", format!("/ojs/v1/jobs/{other}")),
        ("POST", format!("/ojs/v1/jobs/{other}/cancel")),
    ] {
        secured.send(&key, method, &path, None).expect_error(404, "not_found");
    }
    let list = secured.get(&key, "/ojs/v1/jobs").expect(200);
    let ids: Vec<&Value> = list["jobs"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
    assert_eq!(ids, [&own]);
    let fetch = json!({"queues": ["sms"], "count": 1});
    let fetched = secured.post(&all, "/ojs/v1/workers/fetch", fetch).expect(200);
    assert_eq!(fetched["jobs"][0]["id"], other.as_str());
    secured
        .post(&key, "/ojs/v1/workers/ack", json!({"job_id": other}))
        .expect_error(404, "not_found");
    secured.post(&all, "/ojs/v1/workers/ack", json!({"job_id": other})).expect(200);
    let events = secured.get(&key, "/ojs/v1/events").expect(200).to_string();
    assert!(events.contains(&own) && !events.contains(&other), "{events}");
    let about = json!({"name": "x", "scopes": ["server"], "queues": ["mail"]});
    secured
        .post(secured.operator(), "/ojs/v1/admin/keys", about)
        .expect_error(422, "invalid_request");
}
