//! Lists, counts, statistics and events of one tenant.

use serde_json::{Value, json};

use crate::api::{caller, enqueue_many, fresh, list, of, of_with, shared, tenants};
use crate::shorthand::{ack, fresh_queue, job_on, text};
use crate::support::Server;

/// Two tenants on one queue: 3 waiting and 1 active of the first, 2 waiting of the second.
fn filled(server: &Server) -> (String, String, String) {
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    enqueue_many(server, &of(&acme, &queue), 4);
    enqueue_many(server, &of(&beta, &queue), 2);
    assert_eq!(caller(server, &acme).fetch(&queue, 1).len(), 1);
    (acme, beta, queue)
}

#[test]
fn counts_of_a_queue_are_the_tenants_own() {
    let server = shared();
    let (acme, beta, queue) = filled(&server);
    let counts = |stats: &Value| (stats["available"].clone(), stats["active"].clone());
    for (who, expected) in [(&acme, (json!(3), json!(1))), (&beta, (json!(2), json!(0)))] {
        for path in [format!("/ojs/v1/queues/{queue}"), format!("/ojs/v1/queues/{queue}/stats")] {
            let answer = caller(&server, who).get(&path).expect(200);
            assert_eq!(counts(&answer["stats"]), expected, "{path} of {who}");
        }
    }
    let all = server.get(&format!("/ojs/v1/queues/{queue}/stats")).expect(200);
    assert_eq!(counts(&all["stats"]), (json!(5), json!(1)));
}

#[test]
fn queues_that_a_tenant_has_nothing_on_are_not_listed_for_it() {
    let server = shared();
    let (acme, _, queue) = filled(&server);
    let other = fresh("gamma");
    caller(&server, &other).enqueue(job_on(&fresh_queue()));
    let names = |who: &str| -> Vec<String> {
        let answer = caller(&server, who).get("/ojs/v1/queues?limit=1000").expect(200);
        list(&answer["queues"]).iter().map(|queue| text(&queue["name"])).collect()
    };
    assert_eq!(names(&acme), [queue]);
    assert_eq!(names(&other).len(), 1);
}

#[test]
fn jobs_are_listed_for_their_tenant() {
    let server = shared();
    let (acme, beta, queue) = filled(&server);
    for (who, total) in [(&acme, 4), (&beta, 2)] {
        let path = format!("/ojs/v1/admin/jobs?queue={queue}&per_page=100");
        let answer = caller(&server, who).get(&path).expect(200);
        let jobs = list(&answer["items"]);
        assert_eq!(jobs.len(), total);
        assert!(tenants(&jobs).iter().all(|tenant| tenant == who));
    }
}

#[test]
fn pages_of_tenants_by_number_end_somewhere() {
    let server = shared();
    for query in ["page=999999", "page=1002&per_page=100", "page=999999&sort=depth"] {
        let path = format!("/ojs/v1/admin/tenants?{query}");
        let error = server.get(&path).expect_error(422, "invalid_request");
        assert_eq!(error["details"]["field"], "page", "{error}");
    }
    server.get("/ojs/v1/admin/tenants?page=1001&per_page=100").expect(200);
}

#[test]
fn bulk_operations_touch_only_the_tenants_jobs() {
    let server = shared();
    let (acme, beta, queue) = filled(&server);
    let body = json!({"filter": {"queue": queue, "state": "available"}, "confirm": true});
    caller(&server, &beta).post("/ojs/v1/admin/jobs/bulk/cancel", body).expect(200);
    assert!(caller(&server, &beta).fetch(&queue, 9).is_empty());
    assert_eq!(caller(&server, &acme).fetch(&queue, 9).len(), 3);
}

#[test]
fn events_are_the_tenants_own() {
    let server = shared();
    let (acme, beta, queue) = filled(&server);
    let count = |who: Option<&str>, query: &str| {
        let path = format!("/ojs/v1/events?limit=1000&types=job.enqueued&queues={queue}{query}");
        let reply = who.map_or_else(|| server.get(&path), |who| caller(&server, who).get(&path));
        list(&reply.expect(200)["events"]).len()
    };
    assert_eq!(count(Some(&acme), ""), 4);
    assert_eq!(count(Some(&beta), ""), 2);
    assert_eq!(count(None, ""), 6);
    assert_eq!(count(None, &format!("&tenant={beta}")), 2);
    assert_eq!(count(None, &format!("&tenants={acme},{beta}")), 6);
}

#[test]
fn a_tenant_cannot_ask_for_the_events_of_another() {
    let server = shared();
    let (acme, beta, _) = filled(&server);
    let path = format!("/ojs/v1/events?limit=1000&types=job.enqueued&tenant={beta}");
    let reply = caller(&server, &acme).get(&path);
    assert!(!reply.text.contains(&beta) || reply.status >= 400, "{}", reply.text);
}

#[test]
fn a_pause_with_a_tenant_stops_its_shard_only() {
    let server = shared();
    let (acme, beta, queue) = filled(&server);
    let path = |what: &str| format!("/ojs/v1/queues/{queue}/{what}");
    caller(&server, &acme).post(&path("pause"), json!({})).expect(200);
    let jobs = server.fetch(&queue, 9);
    assert_eq!(tenants(&jobs), [&*beta, &*beta]);
    caller(&server, &acme).enqueue(job_on(&queue));
    assert!(server.fetch(&queue, 9).is_empty());
    let stats = crate::api::tenant_stats(&server, &acme);
    let shard = &list(&stats["queues"])[0];
    assert_eq!((&shard["paused"], &shard["available"]), (&json!(true), &json!(4)), "{shard}");
    caller(&server, &acme).post(&path("resume"), json!({})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 4);
}

#[test]
fn shards_are_shown_with_their_tenant() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    server.enqueue(of_with(&acme, &queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    server.enqueue(of(&acme, &queue));
    let stats = crate::api::tenant_stats(&server, &acme);
    let shards = list(&stats["queues"]);
    assert_eq!(shards.len(), 1);
    assert_eq!(shards[0]["name"], queue);
    assert_eq!(shards[0]["shard"], format!("shard:{acme}:{queue}"));
    assert_eq!((&shards[0]["available"], &shards[0]["scheduled"]), (&json!(1), &json!(1)));
}

/// What a page tells: its jobs' ids, and whether more follow.
fn page(answer: &Value) -> (Vec<String>, bool) {
    let ids = list(&answer["items"]).iter().map(|job| text(&job["id"])).collect();
    (ids, answer["pagination"]["has_more"] == true)
}

/// Pages of 20, by cursor and by number, and in both directions: all full but the last.
fn expect_full_pages(get: &dyn Fn(&str) -> Value, expected: &[String]) {
    for order in ["desc", "asc"] {
        let mut wanted = expected.to_vec();
        if order == "desc" {
            wanted.reverse();
        }
        let mut cursor = String::new();
        for (n, part) in wanted.chunks(20).enumerate() {
            let whole = (part.to_vec(), (n + 1) * 20 < wanted.len());
            let size = format!("per_page=20&order={order}");
            assert_eq!(page(&get(&format!("{size}&page={}", n + 1))), whole, "page {n}, {order}");
            let answer = get(&format!("{size}{cursor}"));
            assert_eq!(page(&answer), whole, "{cursor}, {order}");
            cursor = match answer["pagination"]["next_cursor"].as_str() {
                Some(next) => format!("&cursor={next}"),
                None => break,
            };
        }
    }
}

#[test]
fn a_flood_of_others_is_not_felt_in_a_tenants_lists() {
    let server = crate::api::start(&[]);
    let (quiet, flood, small, crowded) = ("quiet", "flood", "small", "crowded");
    let mut own = enqueue_many(&server, &of(quiet, small), 25);
    own.extend(enqueue_many(&server, &of(quiet, crowded), 25));
    for job in caller(&server, quiet).fetch(small, 5) {
        ack(&server, &text(&job["id"]));
    }
    // More than one page may look at.
    enqueue_many(&server, &of(flood, crowded), 55_000);

    let path = |query: &str, more: &str| format!("/ojs/v1/admin/jobs?{query}&{more}");
    let by_header = |more: &str| caller(&server, quiet).get(&path("", more)).expect(200);
    let by_tenant = |more: &str| server.get(&path("tenant=quiet", more)).expect(200);
    let of_tenant =
        |more: &str| server.get(&format!("/ojs/v1/admin/tenants/quiet/jobs?{more}")).expect(200);
    let by_queue = |more: &str| server.get(&path("queue=small", more)).expect(200);
    let both = |more: &str| server.get(&path("tenant=quiet&queue=crowded", more)).expect(200);
    let done = |more: &str| server.get(&path("tenant=quiet&state=completed", more)).expect(200);
    expect_full_pages(&by_header, &own);
    expect_full_pages(&by_tenant, &own);
    expect_full_pages(&of_tenant, &own);
    expect_full_pages(&by_queue, &own[..25]);
    expect_full_pages(&both, &own[25..]);
    expect_full_pages(&done, &own[..5]);

    let cancel = json!({"filter": {"tenant_id": quiet}, "confirm": true});
    let outcome = server.post("/ojs/v1/admin/jobs/bulk/cancel", cancel).expect(200);
    assert_eq!(outcome["succeeded"], 45, "{outcome}");
    let cancelled =
        |more: &str| server.get(&path("tenant=quiet&state=cancelled", more)).expect(200);
    expect_full_pages(&cancelled, &own[5..]);
}
