//! Another priority for a waiting job.

use serde_json::{Value, json};

use crate::shorthand::{ack, job_with, take, text};
use crate::support::{JSON, Reply, Server};

fn patch_as(server: &Server, tenant: Option<&str>, id: &str, body: &Value) -> Reply {
    let headers: Vec<_> = tenant.map(|id| ("X-OJS-Tenant", id)).into_iter().chain([JSON]).collect();
    let path = format!("/ojs/v1/jobs/{id}");
    server.send("PATCH", &path, &headers, Some(body.to_string().as_bytes()))
}

fn set(server: &Server, id: &str, priority: i64) -> Value {
    patch_as(server, None, id, &json!({"priority": priority})).expect(200)
}

#[test]
fn a_waiting_job_moves_to_its_new_place_and_stays_there_after_a_kill() {
    let mut server = Server::start_apart(&[]);
    let args = json!({"args": [12345678901234567890123_u128.to_string(), {"priority": 1}]});
    let ids: Vec<String> = (0..4).map(|_| server.enqueue(job_with("q", args.clone()))).collect();
    let changed = set(&server, &ids[3], 7);
    assert_eq!((&changed["priority"], &changed["previous_priority"]), (&json!(7), &json!(0)));
    assert_eq!((&changed["id"], &changed["job"]["priority"]), (&json!(ids[3]), &json!(7)));
    set(&server, &ids[1], 7);
    set(&server, &ids[0], -100);
    let first = take(&server, "q");
    assert_eq!((text(&first["id"]), &first["priority"]), (ids[1].clone(), &json!(7)));
    assert_eq!(first["args"], args["args"], "the rest of the job is as it was");
    ack(&server, &ids[1]);
    server.kill();
    server.restart();
    let shown = server.job(&ids[3]);
    assert_eq!((&shown["priority"], &shown["state"]), (&json!(7), &json!("available")));
    let listed = server.get("/ojs/v1/admin/jobs?queue=q&state=available").expect(200);
    assert_eq!(listed["pagination"]["total"], 3);
    for (id, priority) in [(&ids[3], 7), (&ids[2], 0), (&ids[0], -100)] {
        let job = take(&server, "q");
        assert_eq!((&text(&job["id"]), &job["priority"]), (id, &json!(priority)));
    }
    let error = patch_as(&server, None, &ids[0], &json!({"priority": 1}));
    let error = error.expect_error(409, "conflict");
    assert_eq!(error["details"]["current_state"], "active");
    let error = patch_as(&server, None, &ids[1], &json!({"priority": 1}));
    assert_eq!(error.expect_error(409, "conflict")["details"]["current_state"], "completed");
}

#[test]
fn what_makes_no_sense_is_refused_and_others_see_nothing() {
    let server = Server::start();
    let id = server.enqueue(job_with("p", json!({"meta": {"tenant_id": "acme"}})));
    let refused = |body: Value, status: u16| {
        let reply = patch_as(&server, None, &id, &body);
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        reply.body["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({"priority": 1, "queue": "x"}), 422).contains("'queue'"));
    assert!(refused(json!({}), 400).contains("'priority'"));
    refused(json!({"priority": 101}), 422);
    refused(json!({"priority": 1.5}), 400);
    refused(json!([1]), 400);
    patch_as(&server, Some("other"), &id, &json!({"priority": 1})).expect_error(404, "not_found");
    assert_eq!(server.job(&id)["priority"], 0);
    let admin = format!("/ojs/v1/admin/jobs/{id}");
    server.send("PATCH", &admin, &[JSON], Some(br#"{"priority": 2}"#)).expect(200);
    patch_as(&server, Some("acme"), &id, &json!({"priority": "low"})).expect(200);
    let told = server.get("/ojs/v1/events?types=priority.changed&queues=p").expect(200);
    let told: Vec<_> =
        told["events"].as_array().unwrap().iter().map(|event| &event["data"]).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (data, (previous, new)) in told.iter().zip([(0, 2), (2, -10)]) {
        let both = (&data["previous_priority"], &data["new_priority"]);
        assert_eq!(both, (&json!(previous), &json!(new)), "{data}");
        assert_eq!((&data["job_id"], &data["tenant_id"]), (&json!(id), &json!("acme")));
    }
}
