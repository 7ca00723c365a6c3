//! Requests with API keys: accepted, refused, revoked, expired.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::secured::{Secured, id_of, job, text_of};

#[test]
fn without_credentials_only_probes_and_the_manifest_are_answered() {
    let secured = Secured::start();
    for path in [
        "/health",
        "/ready",
        "/ojs/v1/health",
        "/v1/health",
        "/ojs/manifest",
        "/ojs/v1/openapi.json",
    ] {
        secured.server.get(path).expect(200);
    }
    for path in ["/ojs/v1/jobs", "/ojs/v1/queues", "/metrics", "/ojs/v1/admin/config", "/nowhere"] {
        let reply = secured.server.get(path);
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"rota\""), "{path}");
        reply.expect_error(401, "unauthorized");
    }
    let reply = secured.server.post("/ojs/v1/jobs", job("a", "q"));
    reply.expect_error(401, "unauthorized");
}

#[test]
fn a_key_is_accepted_as_bearer_and_as_x_api_key() {
    let secured = Secured::start();
    let operator = secured.operator().to_owned();
    secured.get(&operator, "/ojs/v1/queues").expect(200);
    let headers = [("X-API-Key", &*operator)];
    secured.server.send("GET", "/ojs/v1/queues", &headers, None).expect(200);
    let two = [("X-API-Key", "other"), ("Authorization", &*format!("Bearer {operator}"))];
    secured.server.send("GET", "/ojs/v1/queues", &two, None).expect_error(401, "unauthorized");
}

#[test]
fn wrong_keys_are_refused_alike_whether_their_id_exists_or_not() {
    let secured = Secured::start();
    let key = secured.key("acme", &["inspect"]);
    let (id, secret) = key.trim_start_matches("rota_").split_once('_').unwrap();
    let wrong_secret = format!("rota_{id}_{}", secret.chars().rev().collect::<String>());
    let wrong_id = format!("rota_{}_{secret}", id.chars().rev().collect::<String>());
    let replies = [wrong_secret, wrong_id, format!("{key}a"), "rota_".to_owned()].map(|wrong| {
        let reply = secured.get(&wrong, "/ojs/v1/queues");
        let challenge = reply.header("www-authenticate").unwrap().to_owned();
        let mut error = reply.expect_error(401, "unauthorized");
        error["request_id"] = json!(null);
        (challenge, error)
    });
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:#?}");
    assert!(replies[0].0.contains("invalid_token"), "{replies:?}");
    for text in ["", "abc", "eyJhbGciOiJub25lIn0.e30."] {
        secured.get(text, "/ojs/v1/queues").expect_error(401, "unauthorized");
    }
}

#[test]
fn the_tenant_of_a_key_wins_over_header_and_body() {
    let secured = Secured::start_with(&["--tenancy-source", "body"]);
    let key = secured.key("acme", &["enqueue", "inspect"]);
    let accepted = secured.post(&key, "/ojs/v1/jobs", job("a", "q")).expect(201);
    assert_eq!(accepted["job"]["meta"]["tenant_id"], "acme", "{accepted}");
    let with = |tenant| [("X-OJS-Tenant", tenant)];
    let send = |tenant| {
        let body = Some(job("a", "q"));
        secured.send_with(&key, &with(tenant), "POST", "/ojs/v1/jobs", body)
    };
    send("acme").expect(201);
    send("other").expect_error(400, "invalid_request");
    let mut of_other = job("a", "q");
    of_other["meta"] = json!({"tenant_id": "other"});
    secured.post(&key, "/ojs/v1/jobs", of_other).expect_error(400, "invalid_request");
    let other = secured.key("other", &["inspect"]);
    let path = format!("/ojs/v1/jobs/{}", accepted["job"]["id"].as_str().unwrap());
    secured.get(&key, &path).expect(200);
    secured.get(&other, &path).expect_error(404, "not_found");
}

#[test]
fn an_operator_acts_for_a_tenant_by_the_header() {
    let secured = Secured::start();
    let operator = secured.operator().to_owned();
    let send = |headers: &[(&str, &str)]| {
        let accepted =
            secured.send_with(&operator, headers, "POST", "/ojs/v1/jobs", Some(job("a", "q")));
        accepted.expect(201)["job"]["meta"]["tenant_id"].clone()
    };
    assert_eq!(send(&[("X-OJS-Tenant", "acme")]), "acme");
    assert_eq!(send(&[]), json!(null));
}

#[test]
fn a_revoked_key_is_refused_with_the_next_request_and_after_a_crash() {
    let mut secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "scopes": ["inspect"]}));
    let (key, id) = (text_of(&created), id_of(&created));
    // Many times, so that a table that lags behind is noticed.
    for round in 0..50 {
        let created =
            secured.create(json!({"name": "b", "tenant_id": "acme", "scopes": ["inspect"]}));
        let path = format!("/ojs/v1/admin/keys/{}", id_of(&created));
        secured.get(&text_of(&created), "/ojs/v1/queues").expect(200);
        secured.send(secured.operator(), "POST", &format!("{path}/revoke"), None).expect(200);
        let reply = secured.get(&text_of(&created), "/ojs/v1/queues");
        let error = reply.expect_error(401, "unauthorized");
        assert!(error["message"].as_str().unwrap().contains("revoked"), "{round}: {error}");
        secured.send(secured.operator(), "DELETE", &path, None).expect(200);
    }
    secured.get(&key, "/ojs/v1/queues").expect(200);
    let path = format!("/ojs/v1/admin/keys/{id}/revoke");
    let revoked = secured.send(secured.operator(), "POST", &path, None).expect(200);
    assert_eq!(revoked["state"], "revoked");
    secured.server.kill();
    secured.server.restart();
    secured.get(&key, "/ojs/v1/queues").expect_error(401, "unauthorized");
    // Revoking it again changes nothing.
    let again = secured.send(secured.operator(), "POST", &path, None).expect(200);
    assert_eq!(again["revoked_at"], revoked["revoked_at"]);
}

#[test]
fn a_key_is_revoked_even_if_the_client_leaves_before_the_answer() {
    let secured = Secured::start();
    let created = secured.create(json!({"name": "a", "tenant_id": "acme", "scopes": ["inspect"]}));
    let key = text_of(&created);
    let request = format!(
        "POST /ojs/v1/admin/keys/{}/revoke HTTP/1.1\r\nHost: rota\r\nAuthorization: Bearer {}\r\n\
         Content-Length: 0\r\n\r\n",
        id_of(&created),
        secured.operator(),
    );
    let mut connection = TcpStream::connect(secured.server.address()).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    drop(connection);
    let until = Instant::now() + Duration::from_secs(60);
    while secured.get(&key, "/ojs/v1/queues").status != 401 {
        assert!(Instant::now() < until, "the key is still accepted");
    }
}

#[test]
fn a_key_does_what_its_scopes_allow() {
    let secured = Secured::start();
    let [producer, worker] = ["producer", "worker"].map(|role| {
        text_of(&secured.create(json!({"name": role, "tenant_id": "acme", "role": role})))
    });
    let fetch = json!({"queues": ["q"], "count": 1});
    secured.post(&producer, "/ojs/v1/jobs", job("a", "q")).expect(201);
    let error = secured.post(&producer, "/ojs/v1/workers/fetch", fetch.clone());
    assert_eq!(error.expect_error(403, "forbidden")["details"]["required_scope"], "dequeue");
    let error = secured.post(&worker, "/ojs/v1/jobs", job("a", "q"));
    assert_eq!(error.expect_error(403, "forbidden")["details"]["required_scope"], "enqueue");
    let fetched = secured.post(&worker, "/ojs/v1/workers/fetch", fetch).expect(200);
    assert_eq!(fetched["jobs"].as_array().unwrap().len(), 1);
    secured.get(&worker, "/ojs/v1/queues").expect_error(403, "forbidden");
    secured.get(&producer, "/metrics").expect_error(403, "forbidden");
}

#[test]
fn an_expired_key_is_refused() {
    let secured = Secured::start();
    let about = json!({
        "name": "short", "tenant_id": "acme", "scopes": ["inspect"], "expires_at": "+PT0.5S"
    });
    let created = secured.create(about);
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = secured.get(&text_of(&created), "/ojs/v1/queues");
        if reply.status == 401 {
            assert!(reply.text.contains("has expired"), "{}", reply.text);
            break;
        }
        assert!(Instant::now() < until, "the key is still accepted");
    }
    let path = format!("/ojs/v1/admin/keys/{}", id_of(&created));
    assert_eq!(secured.get(secured.operator(), &path).expect(200)["state"], "expired");
}
