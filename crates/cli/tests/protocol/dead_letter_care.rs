//! How the dead letter is cared for: retention, search, retries with changes, replays and statistics.

use serde_json::{Value, json};

use crate::shorthand::{ack, eventually, ids, job_with, merged, nack, take, text};
use crate::support::{JSON, Server};

/// A job that died of an error of this type, of a tenant.
fn dead_of(server: &Server, tenant: &str, queue: &str, kind: &str) -> String {
    let more = json!({"retry": {"max_attempts": 1}, "meta": {"tenant_id": tenant, "note": "keep"}});
    let id = server.enqueue(job_with(queue, more));
    die(server, queue, kind);
    id
}

fn die(server: &Server, queue: &str, kind: &str) {
    let id = text(&take(server, queue)["id"]);
    nack(server, &id, json!({"type": kind, "message": "no"}));
}

fn get_as(server: &Server, tenant: &str, path: &str) -> Value {
    server.send("GET", path, &[("X-OJS-Tenant", tenant)], None).expect(200)
}

fn listed(server: &Server, query: &str) -> Vec<String> {
    let page = server.get(&format!("/ojs/v1/dead-letter{query}")).expect(200);
    ids(page["jobs"].as_array().expect("jobs"))
}

fn stats(server: &Server) -> Value {
    server.get("/ojs/v1/dead-letter/stats").expect(200)
}

fn events(server: &Server, kind: &str) -> Vec<Value> {
    let page = server.get(&format!("/ojs/v1/events?types={kind}")).expect(200);
    page["events"].as_array().expect("events").iter().map(|event| event["data"].clone()).collect()
}

fn metric(server: &Server, sample: &str) -> Option<String> {
    let page = server.get("/metrics").text;
    let line = page.lines().find(|line| line.starts_with(&format!("{sample} ")));
    line.and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
}

fn configure(server: &Server, queue: &str, dead_letter: Value) -> Value {
    let path = format!("/ojs/v1/admin/queues/{queue}/config");
    server.put(&path, json!({"dead_letter": dead_letter})).expect(200)["configuration"].clone()
}

#[test]
fn retention_prunes_by_count_and_age_for_each_tenant_and_queue() {
    let flags = [
        "--dead-letter-prune-interval",
        "1s",
        "--dead-letter-max-count",
        "2",
        "--dead-letter-pruning-policy",
        "archive",
    ];
    let mut server = Server::start_with(&flags);
    let of_a: Vec<String> = (0..4).map(|_| dead_of(&server, "a", "q", "Timeout")).collect();
    let of_b = dead_of(&server, "b", "q", "Timeout");
    let elsewhere = dead_of(&server, "a", "other", "Timeout");
    let mut kept = vec![of_a[2].clone(), of_a[3].clone(), of_b.clone(), elsewhere.clone()];
    kept.reverse();
    eventually("the oldest of one tenant are pruned", || {
        (listed(&server, "") == kept).then_some(())
    });
    server.get(&format!("/ojs/v1/jobs/{}", of_a[0])).expect_error(404, "not_found");
    let pruned = events(&server, "dead_letter.pruned");
    let sum: u64 = pruned.iter().filter_map(|event| event["count"].as_u64()).sum();
    assert_eq!((sum, &pruned[0]["tenant_id"], &pruned[0]["queue"]), (2, &json!("a"), &json!("q")));
    let sample = r#"ojs_dead_letter_pruned_total{tenant_id="a",queue="q"}"#;
    assert_eq!(metric(&server, sample).as_deref(), Some("2"));
    let archive = std::fs::read_dir(server.dir().join("archive")).unwrap().next().unwrap().unwrap();
    let lines = std::fs::read_to_string(archive.path()).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let archived: Vec<_> = lines.iter().map(|line| text(&line["job"]["id"])).collect();
    assert_eq!(archived, of_a[..2]);
    assert_eq!(
        (&lines[0]["tenant_id"], &lines[0]["job"]["errors"][0]["type"]),
        (&json!("a"), &json!("Timeout"))
    );

    // A queue's own limits apply to the jobs that are there, and survive a restart.
    let shown = configure(
        &server,
        "q",
        json!({"retention": {"max_count": 1, "max_age": "P365D"}, "pruning_policy": "delete"}),
    );
    let expected = json!({"retention": {"max_count": 1, "max_age": "P365D"},
        "pruning_policy": "delete", "replay_rules": []});
    assert_eq!(shown["dead_letter"], expected);
    server.kill();
    server.restart();
    let left = [&*elsewhere, &*of_b, &*of_a[3]];
    eventually("the queue's own limit is applied", || (listed(&server, "") == left).then_some(()));
    configure(&server, "q", json!({"retention": {"max_age": "PT0S"}}));
    eventually("old jobs are pruned", || (listed(&server, "") == [&*elsewhere]).then_some(()));
    assert_eq!(stats(&server)["by_queue"], json!({"other": 1}));

    for bad in [
        json!({"retention": {"max_age": "soon"}}),
        json!({"retention": {"max_count": -1}}),
        json!({"retention": {"max_size": 1}}),
        json!({"pruning_policy": "burn"}),
        json!({"replay_rules": [{"name": "x", "delay": "PT1H"}]}),
        json!({"replay_rules": [{"name": "x", "delay": "PT1H", "max_replays": 1, "often": true}]}),
        json!({"keep": true}),
    ] {
        let path = "/ojs/v1/admin/queues/q/config";
        let status = server.put(path, json!({"dead_letter": bad})).status;
        assert!(status == 400 || status == 422, "{bad}: {status}");
    }
    let as_tenant = [JSON, ("X-OJS-Tenant", "a")];
    let body = json!({"dead_letter": {"retention": {"max_count": 1}}}).to_string();
    let reply =
        server.send("PUT", "/ojs/v1/admin/queues/q/config", &as_tenant, Some(body.as_bytes()));
    reply.expect_error(403, "forbidden");
}

#[test]
fn dead_jobs_are_found_and_counted_by_their_error() {
    let mut server = Server::start_with(&["--limits-error-types-per-tenant", "2"]);
    let timeout = dead_of(&server, "a", "q", "Timeout");
    let refused = dead_of(&server, "a", "p", "Refused");
    let foreign = dead_of(&server, "b", "q", "Timeout");
    let odd = dead_of(&server, "a", "q", "Odd");
    assert_eq!(listed(&server, "?error_type=Timeout"), [&*foreign, &*timeout]);
    assert_eq!(listed(&server, "?error_type=Timeout&tenant=a"), [&*timeout]);
    assert_eq!(listed(&server, "?error_type=Odd"), [&*odd], "also without a counter of its own");
    assert!(listed(&server, "?error_type=Odd&queue=p").is_empty());
    let died = text(&server.job(&refused)["discarded_at"]);
    assert_eq!(listed(&server, &format!("?since={died}&queue=p")), [&*refused]);
    assert!(listed(&server, &format!("?until={died}&queue=p")).is_empty());
    let of_a = get_as(&server, "a", "/ojs/v1/dead-letter/stats");
    let expected = json!({"Timeout": 1, "Refused": 1, "other": 1});
    assert_eq!((&of_a["total"], &of_a["by_error_type"]), (&json!(3), &expected));
    assert_eq!(of_a["by_queue"], json!({"p": 1, "q": 2}));
    server.kill();
    server.restart();
    let all = stats(&server);
    assert_eq!(all["by_error_type"], json!({"Timeout": 2, "Refused": 1, "other": 1}));
    assert_eq!(all["oldest_at"], server.job(&timeout)["discarded_at"]);
    assert_eq!(all["newest_at"], server.job(&odd)["discarded_at"]);
    assert_eq!(
        get_as(&server, "b", "/ojs/v1/dead-letter/stats")["oldest_at"],
        server.job(&foreign)["discarded_at"]
    );
    let retention = &all["retention"];
    assert_eq!((&retention["max_age"], &retention["max_count"]), (&json!("P180D"), &json!(10_000)));
    assert!(retention["next_prune_at"].is_string(), "{retention}");
    let body = json!({"filter": {"error_type": "Timeout"}, "confirm": true}).to_string();
    let headers = [JSON, ("X-OJS-Tenant", "a")];
    let reply = server.send("POST", "/ojs/v1/dead-letter/retry", &headers, Some(body.as_bytes()));
    assert_eq!(reply.expect(200)["retried"], 1, "another tenant's job stays");
    server.delete(&format!("/ojs/v1/dead-letter/{odd}")).expect(200);
    assert_eq!(stats(&server)["by_error_type"], json!({"Timeout": 1, "Refused": 1}));
    dead_of(&server, "c", "r", "Timeout");
    // One page shows all; it may be shown again for a moment.
    let added = r#"ojs_dead_letter_added_total{queue="r",type="test.job"}"#;
    assert_eq!(metric(&server, added).as_deref(), Some("1"));
    let gauge = r#"ojs_dead_letter_total{tenant_id="a",queue="q"}"#;
    assert_eq!(metric(&server, gauge).as_deref(), Some("0"));
    let retried = r#"ojs_dead_letter_retried_total{tenant_id="a",queue="q"}"#;
    assert_eq!(metric(&server, retried).as_deref(), Some("1"));
    let names = ["dead_letter.retried", "dead_letter.deleted", "dead_letter.added"];
    assert_eq!(names.map(|name| events(&server, name).len()), [1, 1, 5]);
    let added = &events(&server, "dead_letter.added")[4];
    assert_eq!(
        (&added["last_error"]["type"], &added["tenant_id"]),
        (&json!("Timeout"), &json!("c"))
    );
}

#[test]
fn a_dead_job_is_retried_with_changes() {
    let mut server = Server::start();
    let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}, "timeout": 60,
        "meta": {"tenant_id": "a", "note": "keep"}, "args": [1]});
    let id = server.enqueue(job_with("q", more));
    die(&server, "q", "Timeout");
    let path = format!("/ojs/v1/dead-letter/{id}/retry");
    for bad in [
        json!({"override": {"type": "other.job"}}),
        json!({"override": {"id": "x"}}),
        json!({"override": {"meta": {"tenant_id": "b"}}}),
        json!({"override": {"queue": "NO WAY"}}),
        json!({"override": {"retry": {"max_attempts": -1}}}),
        json!({"override": {"args": {}}}),
        json!({"override": []}),
        json!({"changes": {}}),
    ] {
        let status = server.post(&path, bad.clone()).status;
        assert!(status == 400 || status == 422, "{bad}: {status}");
        assert_eq!(server.job(&id)["state"], "discarded", "{bad}");
    }
    let changes = json!({"queue": "second", "args": [2], "priority": 5, "timeout_ms": 5_000,
        "meta": {"retry_source": "manual"}, "retry": {"max_attempts": 2}});
    let answer = server.post(&path, json!({"override": changes})).expect(200);
    let expected = json!({"queue": "second", "args": [2], "priority": 5, "timeout_ms": 5_000,
        "id": id, "state": "available", "attempt": 0, "max_attempts": 2, "type": "test.job",
        "meta": {"tenant_id": "a", "note": "keep", "retry_source": "manual"},
        "retry": {"max_attempts": 2, "on_exhaustion": "dead_letter"}});
    let job = &answer["job"];
    assert_eq!(*job, merged(job.clone(), expected), "{job}");
    assert!(job.get("error").is_none() && job.get("timeout").is_none(), "{job}");
    assert_eq!(job["errors"].as_array().map(Vec::len), Some(1), "its errors are kept");
    server.kill();
    server.restart();
    assert_eq!(server.get("/ojs/v1/queues/q").expect(200)["stats"]["available"], 0);
    assert_eq!(server.get("/ojs/v1/queues/second").expect(200)["stats"]["available"], 1);
    let again = take(&server, "second");
    assert_eq!(
        (text(&again["id"]), &again["args"], &again["attempt"]),
        (id.clone(), &json!([2]), &json!(1))
    );
    assert_eq!(again["errors"].as_array().map(Vec::len), Some(1));
    ack(&server, &id);
    let list = server.get("/ojs/v1/admin/jobs?queue=second").expect(200);
    assert_eq!(ids(list["items"].as_array().unwrap()), [id]);
}

#[test]
fn an_override_adds_nothing_to_a_job_that_names_no_tenant() {
    let server = Server::start();
    let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "dead_letter"}});
    let id = server.enqueue(job_with("plain", more));
    die(&server, "plain", "Timeout");
    let path = format!("/ojs/v1/dead-letter/{id}/retry");
    let answer = server.post(&path, json!({"override": {"args": [1]}})).expect(200);
    assert_eq!((&answer["job"]["args"], &answer["job"]["meta"]), (&json!([1]), &json!({})));
}

#[test]
fn rules_replay_dead_jobs_as_often_as_they_may() {
    let config =
        r#"{"late": {"filter": {"error_type": "Never"}, "delay": "PT0S", "max_replays": 9}}"#;
    let mut server = Server::start_in_env(&[], &[("ROTA_REPLAY_RULES", config)]);
    let rule = json!({"name": "flaky", "filter": {"error_type": "Flaky"}, "delay": "PT0S",
        "max_replays": 2, "enabled": true});
    let off = json!({"name": "off", "delay": "PT0S", "max_replays": 9, "enabled": false});
    let shown = configure(&server, "q", json!({"replay_rules": [off, rule]}));
    assert_eq!(
        shown["dead_letter"]["replay_rules"],
        json!([merged(off, json!({"filter": {}})), rule])
    );
    let unmatched = dead_of(&server, "a", "q", "Solid");
    let id = dead_of(&server, "a", "q", "Flaky");
    for count in 1..=2 {
        let job = eventually("the job is replayed", || {
            let job = server.job(&id);
            (job["state"] == "available").then_some(job)
        });
        let meta = &job["meta"];
        assert_eq!(
            (&meta["ojs.replay_count"], &meta["ojs.replay_rule"]),
            (&json!(count), &json!("flaky"))
        );
        assert!(meta["ojs.last_replayed_at"].is_string() && meta["note"] == "keep", "{meta}");
        assert_eq!(job["errors"].as_array().map(Vec::len), Some(count));
        server.kill();
        server.restart();
        let taken = take(&server, "q");
        assert_eq!(taken["meta"]["ojs.replay_count"], count, "its worker sees it too");
        nack(&server, &id, json!({"type": "Flaky", "message": "no"}));
    }
    // The rule of the configuration file comes after those of the queue.
    let never = dead_of(&server, "a", "q", "Never");
    eventually("a rule of the file applies", || {
        (server.job(&never)["state"] == "available").then_some(())
    });
    let replayed = events(&server, "dead_letter.replayed");
    let by_rule: Vec<_> =
        replayed.iter().map(|event| (&event["rule"], &event["replay_count"])).collect();
    let expected =
        [("flaky", 1), ("flaky", 2), ("late", 1)].map(|(rule, n)| (json!(rule), json!(n)));
    assert_eq!(by_rule, expected.each_ref().map(|(rule, count)| (rule, count)));
    for left in [&unmatched, &id] {
        assert_eq!(server.job(left)["state"], "discarded");
    }
    assert_eq!(server.job(&id)["meta"]["ojs.replay_count"], 2);
}
