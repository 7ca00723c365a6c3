//! Limits on requests: per scope and subject, changed online, and no business of other callers.

use serde_json::json;

use crate::secured::Secured;
use crate::support::wire::Wire;
use crate::support::{Reply, Server};

const TENANT: (&str, &str) = ("X-OJS-Tenant", "acme");

/// How many of 20 requests are served.
fn served(send: impl Fn() -> Reply) -> usize {
    (0..20).filter(|_| send().status != 429).count()
}

fn get(server: &Server, tenant: &str) -> Reply {
    server.send("GET", "/ojs/v1/queues", &[("X-OJS-Tenant", tenant)], None)
}

#[test]
fn a_request_over_the_limit_is_told_when_to_come_again() {
    // One more per hour or so: none comes back during the test.
    let server = Server::start_with(&["--request-limits-default", "1/3"]);
    assert_eq!(served(|| get(&server, "acme")), 3);
    let refused = get(&server, "acme");
    let retry: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&retry), "{retry}");
    assert_eq!(refused.header("x-ratelimit-limit"), Some("1"));
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));
    let reset: u64 = refused.header("x-ratelimit-reset").unwrap().parse().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!((now..=now + 61).contains(&reset), "{reset} at {now}");
    let error = refused.expect_error(429, "rate_limited");
    assert_eq!(error["details"]["limit"], "request_limits.inspect");
    assert_eq!(
        (&error["details"]["per_minute"], &error["details"]["burst"]),
        (&json!(1), &json!(3))
    );
    assert_eq!(error["retryable"], true);
}

#[test]
fn limits_are_off_by_default_and_scopes_and_tenants_are_counted_apart() {
    let server = Server::start();
    assert_eq!(served(|| get(&server, "acme")), 20);
    let server =
        Server::start_with(&["--request-limits-inspect", "1/2", "--request-limits-enqueue", "1/5"]);
    assert_eq!(served(|| get(&server, "acme")), 2);
    assert_eq!(served(|| get(&server, "other")), 2);
    let body = json!({"type": "a.b", "args": []}).to_string();
    let headers = [crate::support::JSON, TENANT];
    let enqueue = || server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes()));
    assert_eq!(served(enqueue), 5);
    let fetch = json!({"queues": ["default"]}).to_string();
    let fetch = || server.send("POST", "/ojs/v1/workers/fetch", &headers, Some(fetch.as_bytes()));
    assert_eq!(served(fetch), 20, "a scope without a limit has none");
}

#[test]
fn operators_and_probes_are_exempt() {
    let server = Server::start_with(&["--request-limits-default", "1/1"]);
    assert_eq!(served(|| server.get("/ojs/v1/queues")), 20);
    for probe in ["/health", "/ready", "/ojs/v1/health", "/ojs/manifest"] {
        assert_eq!(served(|| server.send("GET", probe, &[TENANT], None)), 20, "{probe}");
    }
}

#[test]
fn a_tenants_own_limit_applies_at_once_and_after_a_restart() {
    let mut server = Server::start_with(&["--request-limits-default", "1/2"]);
    let set = |server: &Server, limits: serde_json::Value| {
        let body = json!({"request_limits": limits});
        server.put("/ojs/v1/admin/tenants/acme/limits", body).expect(200)
    };
    assert_eq!(served(|| get(&server, "acme")), 2);
    let tenant = set(&server, json!({"inspect": "off"}));
    assert_eq!(tenant["request_limits"], json!({"inspect": "off"}));
    assert_eq!(served(|| get(&server, "acme")), 20);
    assert_eq!(served(|| get(&server, "other")), 2);
    server.kill();
    server.restart();
    assert_eq!(served(|| get(&server, "acme")), 20, "it is stored");
    set(&server, json!({"inspect": null, "default": "1/4"}));
    assert_eq!(served(|| get(&server, "acme")), 4);
    set(&server, json!({"default": "1/1"}));
    assert_eq!(served(|| get(&server, "acme")), 0, "a smaller limit does not begin anew");
    server.delete("/ojs/v1/admin/tenants/acme").expect(200);
    server.put("/ojs/v1/admin/tenants/acme/limits", json!({"request_limits": null})).expect(200);
    for bad in [json!("5"), json!({"inspect": 5}), json!({"inspect": "0"}), json!({"fetch": "5"})] {
        let body = json!({"request_limits": &bad});
        let reply = server.put("/ojs/v1/admin/tenants/acme/limits", body);
        assert!(matches!(reply.status, 400 | 422), "{bad}: {}", reply.text);
        assert!(reply.text.contains("request_limits"), "{bad}: {}", reply.text);
    }
}

#[test]
fn the_file_can_limit_a_tenant() {
    let tenants = r#"{"acme": {"request_limits": {"inspect": "1/3"}}}"#;
    let server = Server::start_in_env(&[], &[("ROTA_TENANTS", tenants)]);
    assert_eq!(served(|| get(&server, "acme")), 3);
    assert_eq!(served(|| get(&server, "other")), 20);
}

#[test]
fn each_key_has_its_own_limit_or_all_keys_of_a_tenant_share_one() {
    for (per, of_second) in [("subject", 4), ("tenant", 0)] {
        let flags = ["--request-limits-default", "1/4", "--request-limits-per", per];
        let secured = Secured::start_with(&flags);
        let [first, second] = ["a", "b"].map(|_| secured.key("acme", &["inspect"]));
        assert_eq!(served(|| secured.get(&first, "/ojs/v1/queues")), 4, "{per}");
        assert_eq!(served(|| secured.get(&second, "/ojs/v1/queues")), of_second, "{per}");
        let operator = secured.operator();
        assert_eq!(served(|| secured.get(operator, "/ojs/v1/queues")), 20, "{per}");
        let as_tenant = || secured.send_with(operator, &[TENANT], "GET", "/ojs/v1/queues", None);
        assert_eq!(served(as_tenant), 20, "an operator that acts for a tenant");
    }
}

#[test]
fn a_long_body_over_the_limit_is_not_read() {
    let server = Server::start_with(&["--request-limits-enqueue", "1/1"]);
    let body = json!({"type": "a.b", "args": ["x".repeat(200_000)]}).to_string();
    let headers = [crate::support::JSON, TENANT];
    server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes())).expect(201);
    let head = "POST /ojs/v1/jobs HTTP/1.1\r\nHost: r\r\nX-OJS-Tenant: acme\r\n\
                Content-Type: application/json\r\nContent-Length: 200000\r\n\r\n";
    // The answer comes though no byte of the body is sent.
    let mut wire = Wire::open(server.address()).unwrap();
    wire.send(head.as_bytes()).unwrap();
    let answer = wire.answer().unwrap();
    assert_eq!(answer.status, 429);
    let closes = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    };
    assert!(answer.headers.iter().any(closes), "{:?}", answer.headers);
}

#[test]
fn allowed_and_refused_requests_are_counted_by_tenant() {
    let server = Server::start_with(&["--request-limits-default", "1/3"]);
    assert_eq!(served(|| get(&server, "acme")), 3);
    let metrics = server.get("/metrics").text;
    let has = |line: &str| assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    has("rota_limited_requests_allowed_total{tenant_id=\"acme\"} 3");
    has("rota_limited_requests_refused_total{tenant_id=\"acme\"} 17");
}
