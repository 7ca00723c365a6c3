//! The bytes that a tenant has stored are counted exactly: what is shown is what the database holds.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::api::{caller, enqueue_many, fresh, of, of_with, put_tenant, start, tenant_stats};
use crate::shorthand::{ack, boom, eventually, nack, quick_retry, take, text};
use crate::support::{JSON, Server};
use crate::watch::await_metric;

/// Counted from the rows, without the server.
fn recount(dir: &Path, tenant: &str) -> u64 {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = Connection::open_with_flags(dir.join("rota.db"), flags).unwrap();
    let of_jobs = "SELECT coalesce(sum(n), 0) FROM (
        SELECT class, length(body) AS n FROM jobs
        UNION ALL SELECT class, length(result) FROM done WHERE result IS NOT NULL
        UNION ALL SELECT class, length(errors.json) FROM errors JOIN jobs USING (seq)
        UNION ALL SELECT class, length(replays.json) FROM replays JOIN jobs USING (seq)
    ) JOIN classes ON id = class WHERE classes.json ->> '$.tenant' = ?1";
    let of_schedules = "SELECT coalesce(sum(length(json)), 0) FROM named
        WHERE kind = 1 AND CAST(json AS TEXT) ->> '$.class.tenant' = ?1";
    let sum = |sql| conn.query_row(sql, [tenant], |row| row.get::<_, i64>(0)).unwrap() as u64;
    sum(of_jobs) + sum(of_schedules)
}

fn shown(server: &Server, tenant: &str) -> u64 {
    tenant_stats(server, tenant)["stored_bytes"].as_u64().unwrap()
}

/// What is removed counts until the engine has heard of the commit, which is after the answer.
#[track_caller]
fn stored(server: &Server, tenant: &str) -> u64 {
    eventually("the bytes are counted", || {
        let bytes = shown(server, tenant);
        (bytes == recount(server.dir(), tenant)).then_some(bytes)
    })
}

fn ack_with(server: &Server, id: &str, result: &Value) {
    server.post("/ojs/v1/workers/ack", json!({"job_id": id, "result": result})).expect(200);
}

/// A job of acme that fails for good, and is in the dead letter.
fn dead_job(server: &Server) -> String {
    let retry = json!({"max_attempts": 1, "on_exhaustion": "dead_letter"});
    let id = server.enqueue(of_with("acme", "dying", json!({"retry": retry})));
    take(server, "dying");
    assert_eq!(nack(server, &id, boom())["state"], "discarded");
    id
}

#[test]
fn every_operation_is_counted_to_the_byte() {
    let server = start(&[]);
    let size = {
        server.enqueue(of("acme", "q"));
        stored(&server, "acme")
    };
    assert!(size > 0);
    enqueue_many(&server, &of("acme", "q"), 3);
    assert_eq!(stored(&server, "acme"), 4 * size);

    // A result, as it is stored.
    let id = text(&take(&server, "q")["id"]);
    let result = json!({"rows": "x".repeat(1_000)});
    ack_with(&server, &id, &result);
    assert_eq!(stored(&server, "acme"), 4 * size + result.to_string().len() as u64);

    // An error of each attempt, of which the last twenty are kept.
    let before = stored(&server, "acme");
    let retry = json!({"retry": quick_retry(30)});
    let failing = server.enqueue(of_with("acme", "failing", retry));
    let mut sizes = vec![stored(&server, "acme")];
    for _ in 0..22 {
        take(&server, "failing");
        nack(&server, &failing, boom());
        sizes.push(stored(&server, "acme"));
    }
    assert!(sizes.windows(2).take(20).all(|pair| pair[0] < pair[1]), "{sizes:?}");
    let growth = |from: usize, to: usize| sizes[to].abs_diff(sizes[from]);
    assert!(growth(20, 22) < growth(0, 1), "the oldest errors are gone: {sizes:?}");
    server.post(&format!("/ojs/v1/jobs/{failing}/cancel"), json!({})).expect(200);
    assert_eq!(stored(&server, "acme"), sizes[22], "a cancelled job is still stored");
    let all = json!({"confirm": true, "filter": {"queue": "failing", "state": "cancelled"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", all).expect(200);
    assert_eq!(stored(&server, "acme"), before);

    // Another priority is another body.
    let waiting = server.enqueue(of("acme", "waiting"));
    let changed = json!({"priority": 100}).to_string();
    let path = format!("/ojs/v1/jobs/{waiting}");
    server.send("PATCH", &path, &[JSON], Some(changed.as_bytes())).expect(200);
    assert_ne!(stored(&server, "acme"), before + size);
    server.delete("/ojs/v1/queues/waiting?purge=true&confirm=true").expect(200);
    assert_eq!(stored(&server, "acme"), before);

    // Through the dead letter.
    let (first, second) = (dead_job(&server), dead_job(&server));
    let buried = stored(&server, "acme");
    assert!(buried > before + 2 * size);
    let change = json!({"override": {"args": ["a longer argument than before"]}});
    server.post(&format!("/ojs/v1/dead-letter/{first}/retry"), change).expect(200);
    assert!(stored(&server, "acme") > buried, "its errors are kept, its body is longer");
    ack(&server, &text(&take(&server, "dying")["id"]));
    server.delete(&format!("/ojs/v1/dead-letter/{second}")).expect(200);
    assert!(stored(&server, "acme") < buried);
    let done = json!({"confirm": true, "filter": {"queue": "dying", "state": "completed"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", done).expect(200);
    assert_eq!(stored(&server, "acme"), before);

    await_metric(&server, "ojs_tenant_stored_bytes", &[("tenant_id", "acme")], before as f64);
}

#[test]
fn schedules_count_while_they_exist() {
    let server = start(&[]);
    put_tenant(&server, "acme", json!({}));
    let acme = caller(&server, "acme");
    let template = json!({"type": "t", "args": ["x".repeat(500)], "queue": "q"});
    let cron = json!({"name": "yearly", "expression": "0 0 1 1 *", "job_template": template});
    acme.post("/ojs/v1/cron", cron.clone()).expect(201);
    let registered = stored(&server, "acme");
    assert!(registered > 500);
    acme.post("/ojs/v1/cron/yearly/trigger", json!({})).expect(201);
    assert!(stored(&server, "acme") > registered + 500, "the run and its place in the history");
    acme.post("/ojs/v1/cron", cron).expect(200);
    stored(&server, "acme");
    acme.delete("/ojs/v1/cron/yearly").expect(200);
    let run = stored(&server, "acme");
    ack(&server, &text(&take(&server, "q")["id"]));
    let done = json!({"confirm": true, "filter": {"queue": "q", "state": "completed"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", done).expect(200);
    assert!(run > 0 && stored(&server, "acme") == 0);
}

#[test]
fn counts_survive_a_stop_and_a_kill() {
    let mut server = start(&[]);
    enqueue_many(&server, &of("acme", "q"), 50);
    enqueue_many(&server, &of("beta", "q"), 7);
    for job in server.fetch("q", 20) {
        ack_with(&server, &text(&job["id"]), &json!("done"));
    }
    dead_job(&server);
    let tenants = ["acme", "beta"];
    let before = tenants.map(|tenant| stored(&server, tenant));
    server.kill();
    server.restart();
    assert_eq!(tenants.map(|tenant| shown(&server, tenant)), before);
    let done = json!({"confirm": true, "filter": {"queue": "q", "state": "completed"}});
    server.post("/ojs/v1/admin/jobs/bulk/delete", done).expect(200);
    let after = tenants.map(|tenant| stored(&server, tenant));
    assert!(after[0] < before[0]);
    server.terminate();
    server.restart();
    assert_eq!(tenants.map(|tenant| shown(&server, tenant)), after);
    assert_eq!(tenants.map(|tenant| recount(server.dir(), tenant)), after);
}

#[test]
fn a_tenant_that_is_deleted_and_comes_back_starts_at_what_it_has() {
    let server = start(&[]);
    let acme = fresh("acme");
    enqueue_many(&server, &of(&acme, "q"), 3);
    let size = stored(&server, &acme) / 3;
    let path = format!("/ojs/v1/admin/tenants/{acme}?purge=true&confirm=true");
    for kept in 0..3 {
        // Finished jobs stay until retention deletes them.
        server.delete(&path).expect(200);
        server.enqueue(of(&acme, "q"));
        assert_eq!(stored(&server, &acme), (kept + 1) * size);
        ack(&server, &text(&take(&server, "q")["id"]));
    }
}
