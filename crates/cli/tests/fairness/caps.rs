//! What all tenants share: a tenant at its cap is told so, others are not touched by it, and there
//! is room again when something is given back.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::api::{assert_has, bound, caller, of, put_tenant, retry_after, start};
use crate::shorthand::{eventually, text};
use crate::support::Server;
use crate::watch::await_metric;

const REGISTER: &str = "/ojs/v1/workers/register";
const DEREGISTER: &str = "/ojs/v1/workers/deregister";
const CRON: &str = "/ojs/v1/cron";
const STREAM: &str = "/ojs/v1/events/stream";

/// A request on a connection of its own, whose answer is not waited for.
struct Pending(BufReader<TcpStream>);

impl Pending {
    fn send(server: &Server, head: &str, headers: &str, body: &Value) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: rota\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    fn status(&mut self) -> u16 {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

fn fetch_and_wait(server: &Server, tenant: &str) -> Pending {
    let ask = json!({"queues": ["q"], "wait_ms": 30_000});
    let header = format!("X-OJS-Tenant: {tenant}\r\n");
    Pending::send(server, "POST /ojs/v1/workers/fetch", &header, &ask)
}

fn open_stream(server: &Server, tenant: &str) -> Pending {
    let header = format!("X-OJS-Tenant: {tenant}\r\n");
    Pending::send(server, &format!("GET {STREAM}"), &header, &Value::Null)
}

fn until(mut so: impl FnMut() -> bool) {
    eventually("what the test waits for", || so().then_some(()));
}

/// A tenant's cap, as the answer names it.
fn assert_cap(error: &Value, tenant: &str, limit: &str, current: u64) {
    let expected =
        json!({"tenant_id": tenant, "limit": limit, "current": current, "maximum": current});
    assert_has(error, expected);
    assert!(text(&error["hint"]).contains(&format!("limits.{limit}")), "{error}");
}

#[test]
fn workers_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_WORKERS_PER_TENANT", "2")]);
    let acme = caller(&server, "acme");
    for name in ["a1", "a2", "a2"] {
        acme.post(REGISTER, json!({"worker_id": name})).expect(200);
    }
    let reply = acme.post(REGISTER, json!({"worker_id": "a3"}));
    assert!(retry_after(&reply) > 0);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_cap(&error, "acme", "workers_per_tenant", 2);
    caller(&server, "beta").post(REGISTER, json!({"worker_id": "b1"})).expect(200);
    acme.post(DEREGISTER, json!({"worker_id": "a1"})).expect(200);
    acme.post(REGISTER, json!({"worker_id": "a3"})).expect(200);
}

#[test]
fn invented_tenants_leave_workers_to_those_that_are_configured() {
    let server = start(&[("ROTA_LIMITS_WORKERS", "20")]);
    put_tenant(&server, "known", json!({"fairness_weight": 2}));
    let register = |tenant: &str| {
        caller(&server, tenant).post(REGISTER, json!({"worker_id": format!("of-{tenant}")}))
    };
    for number in 0..19 {
        register(&format!("t{number}")).expect(200);
    }
    let error = register("t19").expect_error(422, "invalid_request");
    // How many there are of all tenants is for operators.
    assert_eq!(error["details"], json!({"tenant_id": "t19", "own": 0}), "{error}");
    register("known").expect(200);
    let error =
        server.post(REGISTER, json!({"worker_id": "w"})).expect_error(422, "invalid_request");
    assert!(text(&error["hint"]).contains("limits.workers"), "{error}");
    caller(&server, "t0").post(DEREGISTER, json!({"worker_id": "of-t0"})).expect(200);
    server.post(REGISTER, json!({"worker_id": "w"})).expect(200);
}

fn hourly(name: &str) -> Value {
    json!({"name": name, "expression": "@hourly", "job_template": {"type": "t", "args": []}})
}

#[test]
fn schedules_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_CRONS_PER_TENANT", "2")]);
    let acme = caller(&server, "acme");
    for name in ["one", "two"] {
        acme.post(CRON, hourly(name)).expect(201);
    }
    acme.post(CRON, hourly("two")).expect(200);
    let reply = acme.post(CRON, hourly("three"));
    assert_eq!(reply.header("Retry-After"), None, "nothing changes by waiting");
    let error = reply.expect_error(422, "TENANT_LIMIT_EXCEEDED");
    assert_cap(&error, "acme", "crons_per_tenant", 2);
    caller(&server, "beta").post(CRON, hourly("three")).expect(201);
    acme.delete("/ojs/v1/cron/one").expect(200);
    acme.post(CRON, hourly("three")).expect(201);
}

#[test]
fn the_bytes_of_schedules_and_workers_of_a_tenant_are_capped() {
    let server = start(&[
        ("ROTA_LIMITS_CRON_BYTES_PER_TENANT", "8KiB"),
        ("ROTA_LIMITS_WORKER_BYTES_PER_TENANT", "8KiB"),
    ]);
    let acme = caller(&server, "acme");
    let large = |name: &str| {
        let template = json!({"type": "t", "args": ["x".repeat(2_000)]});
        json!({"name": name, "expression": "@hourly", "job_template": template})
    };
    acme.post(CRON, large("one")).expect(201);
    let error = acme.post(CRON, large("two")).expect_error(422, "TENANT_LIMIT_EXCEEDED");
    assert_has(&error, json!({"limit": "cron_bytes_per_tenant", "maximum": 8_192}));
    acme.post(CRON, hourly("two")).expect(201);
    let about = |name: &str| json!({"worker_id": name, "metadata": {"note": "x".repeat(5_000)}});
    acme.post(REGISTER, about("a1")).expect(200);
    let error = acme.post(REGISTER, about("a2")).expect_error(422, "TENANT_LIMIT_EXCEEDED");
    assert_has(&error, json!({"limit": "worker_bytes_per_tenant", "maximum": 8_192}));
    let beta = caller(&server, "beta");
    beta.post(CRON, large("one")).expect(201);
    beta.post(REGISTER, about("b1")).expect(200);
}

#[test]
fn schedules_count_towards_max_bytes() {
    let server = start(&[]);
    put_tenant(&server, "acme", json!({"max_bytes": 10_000}));
    let acme = caller(&server, "acme");
    let with_args = |name: &str, bytes: usize| {
        let template = json!({"type": "t", "args": ["x".repeat(bytes)]});
        json!({"name": name, "expression": "@hourly", "job_template": template})
    };
    acme.post(CRON, with_args("one", 2_000)).expect(201);
    let reply = acme.post(CRON, with_args("two", 2_000));
    assert!(retry_after(&reply) > 0);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_has(&error, json!({"tenant_id": "acme", "limit": "max_bytes", "maximum": 10_000}));
    acme.post(CRON, with_args("two", 10_000)).expect_error(422, "TENANT_LIMIT_EXCEEDED");
    acme.delete("/ojs/v1/cron/one").expect(200);
    acme.post(CRON, with_args("two", 2_000)).expect(201);
}

#[test]
fn unfinished_runs_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_CRON_RUNS_PER_TENANT", "2")]);
    let often = |tenant: &str| {
        let cron = json!({"name": "often", "expression": "@every 1s", "overlap_policy": "enqueue",
            "job_template": {"type": "t", "args": [], "queue": "q"}});
        caller(&server, tenant).post(CRON, cron).expect(201);
    };
    let seen = |tenant: &str, kind: &str| {
        let events = caller(&server, tenant).get("/ojs/v1/events?limit=1000").expect(200);
        let is = |event: &&Value| event["type"] == kind;
        events["events"].as_array().unwrap().iter().filter(is).cloned().collect::<Vec<_>>()
    };
    often("acme");
    until(|| seen("acme", "cron.skipped").len() > 1);
    assert_eq!(seen("acme", "cron.skipped")[0]["data"]["reason"], "too_many_runs");
    assert_eq!(seen("acme", "cron.triggered").len(), 2);
    often("beta");
    until(|| seen("beta", "cron.triggered").len() == 2);
    // A run that ends makes room for the next.
    let run = caller(&server, "acme").fetch("q", 9);
    assert_eq!(run.len(), 1);
    crate::shorthand::ack(&server, &text(&run[0]["id"]));
    until(|| seen("acme", "cron.triggered").len() == 3);
}

#[test]
fn limits_that_a_tenant_declares_are_capped_and_go_with_it() {
    let mut server = start(&[("ROTA_LIMITS_RATE_LIMITS_PER_TENANT", "2")]);
    let declare = |server: &Server, tenant: &str, key: &str| {
        let key = format!("/ojs/v1/rate-limits/{key}");
        caller(server, tenant).put(&key, json!({"concurrency": 3}))
    };
    for key in ["one", "two", "two"] {
        declare(&server, "acme", key).expect(200);
    }
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        let error = declare(&server, "acme", "three").expect_error(422, "TENANT_LIMIT_EXCEEDED");
        assert_cap(&error, "acme", "rate_limits_per_tenant", 2);
        assert!(text(&error["hint"]).contains("DELETE /ojs/v1/rate-limits/{key}"), "{error}");
    }
    declare(&server, "beta", "three").expect(200);
    caller(&server, "acme").delete("/ojs/v1/rate-limits/one").expect(200);
    declare(&server, "acme", "three").expect(200);
    server.delete("/ojs/v1/admin/tenants/acme").expect(200);
    for key in ["two", "three"] {
        caller(&server, "acme").get(&format!("/ojs/v1/rate-limits/{key}")).expect(404);
    }
    caller(&server, "beta").get("/ojs/v1/rate-limits/three").expect(200);
    declare(&server, "acme", "four").expect(200);
}

#[test]
fn event_streams_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_EVENT_STREAMS_PER_TENANT", "2")]);
    let open = |tenant: &str| {
        let mut stream = open_stream(&server, tenant);
        let status = stream.status();
        (stream, status)
    };
    let streams = [open("acme"), open("acme")];
    assert_eq!(streams.each_ref().map(|(_, status)| *status), [200, 200]);
    let reply = caller(&server, "acme").get(STREAM);
    assert!(retry_after(&reply) > 0);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_cap(&error, "acme", "event_streams_per_tenant", 2);
    assert_eq!(open("beta").1, 200);
    drop(streams);
    until(|| open("acme").1 == 200);
}

#[test]
fn waiting_fetches_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_WAITING_FETCHES_PER_TENANT", "2")]);
    let acme = caller(&server, "acme");
    let waiting = [fetch_and_wait(&server, "acme"), fetch_and_wait(&server, "acme")];
    await_metric(&server, "ojs_workers_waiting", &[], 2.0);
    let ask = json!({"queues": ["q"], "wait_ms": 30_000});
    let reply = acme.post("/ojs/v1/workers/fetch", ask.clone());
    assert!(retry_after(&reply) > 0);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_cap(&error, "acme", "waiting_fetches_per_tenant", 2);
    // Without waiting it is answered, and another tenant may wait.
    assert!(acme.fetch("q", 1).is_empty());
    let others = fetch_and_wait(&server, "beta");
    await_metric(&server, "ojs_workers_waiting", &[], 3.0);
    drop(waiting);
    await_metric(&server, "ojs_workers_waiting", &[], 1.0);
    let mut again = fetch_and_wait(&server, "acme");
    await_metric(&server, "ojs_workers_waiting", &[], 2.0);
    acme.enqueue(of("acme", "q"));
    assert_eq!(again.status(), 200);
    drop(others);
}

#[test]
fn waiting_enqueues_of_a_tenant_are_capped() {
    let server = start(&[("ROTA_LIMITS_WAITING_ENQUEUES_PER_TENANT", "1")]);
    bound(&server, "q", json!({"max_depth": 1, "strategy": "block"}));
    server.enqueue(of("other", "q"));
    let enqueue = |tenant: &str| {
        let headers = format!("OJS-Block-Timeout: 50\r\nX-OJS-Tenant: {tenant}\r\n");
        Pending::send(&server, "POST /ojs/v1/jobs", &headers, &of(tenant, "q"))
    };
    // Of two, one waits and the other is refused, whichever comes first.
    let mut both = [enqueue("acme"), enqueue("acme")];
    let refused = std::thread::scope(|scope| {
        let (sender, statuses) = std::sync::mpsc::channel();
        for pending in &mut both {
            let sender = sender.clone();
            scope.spawn(move || sender.send(pending.status()).unwrap());
        }
        let first = statuses.recv().unwrap();
        // Another tenant waits as well, and all are answered when there is room.
        let mut beta = enqueue("beta");
        let served = || server.fetch("q", 1).len() == 1;
        until(served);
        assert_eq!(statuses.recv().unwrap(), 201);
        until(served);
        assert_eq!(beta.status(), 201);
        first
    });
    assert_eq!(refused, 429);
}

#[test]
fn invented_tenants_are_refused_when_there_are_too_many() {
    let server = start(&[("ROTA_LIMITS_TENANTS", "20")]);
    let send = |tenant: &str| server.post("/ojs/v1/jobs", of(tenant, "q"));
    let accepted = (0..30).take_while(|n| send(&format!("t{n}")).status == 201).count();
    assert!((15..20).contains(&accepted), "{accepted}");
    let reply = send("new");
    assert_eq!(retry_after(&reply), 60);
    let error = reply.expect_error(422, "invalid_request");
    assert_has(&error["details"], json!({"tenant_id": "new", "limit": 20}));
    assert!(text(&error["message"]).contains("limits.tenants"), "{error}");
    send("t0").expect(201);
    put_tenant(&server, "new", json!({"fairness_weight": 2}));
    send("new").expect(201);
}
