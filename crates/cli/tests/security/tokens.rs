//! Requests with tokens.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use crate::secured::{job, operator_key};
use crate::support::{JSON, Server, command};
use crate::token_maker::{
    NAMES, SECRET, WithTokens, claims, ec, ed, good, key_set, rsa, sign, stranger, write,
};

#[test]
fn tokens_of_all_four_algorithms_are_accepted() {
    let with = WithTokens::start();
    let all = claims(json!({}));
    for token in [
        sign(Algorithm::HS256, None, &EncodingKey::from_secret(SECRET), &all),
        sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &all),
        sign(Algorithm::RS256, None, &rsa(), &all),
        sign(Algorithm::ES256, None, &ec(), &all),
        sign(Algorithm::EdDSA, Some("any"), &ed(), &all),
    ] {
        with.get(&token, "/ojs/v1/queues").expect(200);
        // Again, as it is remembered now.
        with.get(&token, "/ojs/v1/queues").expect(200);
        with.get(&token, "/ojs/v1/admin/keys").expect_error(403, "forbidden");
    }
    // API keys are accepted as well.
    with.get(operator_key().reveal(), "/ojs/v1/admin/keys").expect(200);
}

#[test]
fn the_tenant_scopes_and_lists_of_a_token_apply() {
    let with = WithTokens::start();
    let send = |changes: Value, body: Value| {
        let token = sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
        let headers = [("Authorization", &*format!("Bearer {token}")), JSON];
        with.server.send("POST", "/ojs/v1/jobs", &headers, Some(body.to_string().as_bytes()))
    };
    let accepted = send(json!({"queues": ["mail"]}), job("a", "mail")).expect(201);
    assert_eq!(accepted["job"]["meta"]["tenant_id"], "acme");
    send(json!({"queues": ["mail"]}), job("a", "sms")).expect_error(403, "forbidden");
    send(json!({"job_types": ["b"]}), job("a", "mail")).expect_error(403, "forbidden");
    send(json!({"scope": "inspect"}), job("a", "mail")).expect_error(403, "forbidden");
    send(json!({"scope": null, "scopes": ["enqueue"]}), job("a", "mail")).expect(201);
    let mut of_other = job("a", "mail");
    of_other["meta"] = json!({"tenant_id": "other"});
    send(json!({}), of_other).expect_error(400, "invalid_request");
}

#[test]
fn a_token_without_a_tenant_is_refused_unless_it_is_an_operators() {
    let with = WithTokens::start();
    let token = |changes| sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
    with.refuses(&token(json!({"tenantId": null})), "names no tenant");
    with.refuses(&token(json!({"tenantId": ""})), "not a valid tenant");
    with.refuses(&token(json!({"tenantId": "a/b"})), "not a valid tenant");
    let operator = token(json!({"tenantId": null, "scope": "server"}));
    with.get(&operator, "/ojs/v1/admin/config").expect(200);
    // A tenant's token does not become an operator's by its scope.
    let tenants = token(json!({"scope": "server inspect"}));
    with.get(&tenants, "/ojs/v1/admin/config").expect_error(403, "forbidden");
}

#[test]
fn an_empty_tenant_is_the_default_tenant_where_that_is_set() {
    let with = WithTokens::start_with(&["--auth-jwt-empty-tenant-is-default", "true"]);
    let token = sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(json!({"tenantId": ""})));
    with.get(&token, "/ojs/v1/queues").expect(200);
}

#[test]
fn a_remembered_token_is_refused_when_it_has_expired() {
    let with = WithTokens::start_with(&["--auth-jwt-leeway", "0s"]);
    let expiry = crate::token_maker::now() + 2;
    let token = sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(json!({"exp": expiry})));
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let reply = with.get(&token, "/ojs/v1/queues");
        if reply.status == 401 {
            assert!(reply.text.contains("has expired"), "{}", reply.text);
            break;
        }
        assert!(Instant::now() < until, "the token is still accepted");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Serves a key set over HTTP and counts how often it was asked for. 503 if there is none.
fn serve_keys(set: Arc<Mutex<Option<String>>>) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]);
            *count.lock().unwrap() += 1;
            let (status, body) = match set.lock().unwrap().clone() {
                Some(set) => ("200 OK", set),
                None => ("503 Service Unavailable", String::new()),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    (url, asked)
}

#[test]
fn an_unknown_key_id_has_the_key_set_read_again_but_not_at_every_request() {
    let first = key_set("one", Algorithm::RS256, &rsa()).to_string();
    let set = Arc::new(Mutex::new(Some(first)));
    let (url, asked) = serve_keys(set.clone());
    let mut flags = vec!["--auth-modes", "jwt", "--auth-jwt-jwks", &url];
    flags.extend(NAMES);
    let server = Server::start_with(&flags);
    let get = |token: &str| {
        let authorization = format!("Bearer {token}");
        server.send("GET", "/ojs/v1/queues", &[("Authorization", &authorization)], None).status
    };
    let old = sign(Algorithm::RS256, Some("one"), &rsa(), &claims(json!({})));
    let new = sign(Algorithm::ES256, Some("two"), &ec(), &claims(json!({})));
    assert_eq!(get(&old), 200);
    // The set was read a moment ago, at the start.
    for _ in 0..20 {
        assert_eq!(get(&new), 401);
    }
    assert_eq!(*asked.lock().unwrap(), 1);
    // While the URL is down, the last good set is kept.
    let begun = Instant::now();
    *set.lock().unwrap() = None;
    while *asked.lock().unwrap() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the set is not read again");
        assert_eq!(get(&new), 401);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(get(&old), 200);
    // The new set has another key, and the old key is gone with it.
    *set.lock().unwrap() = Some(key_set("two", Algorithm::ES256, &ec()).to_string());
    while get(&new) != 200 {
        assert!(begun.elapsed() < Duration::from_secs(90), "the new key is not accepted");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(get(&old), 401);
    assert!(*asked.lock().unwrap() as u64 <= 3 + begun.elapsed().as_secs() / 10, "too often");
}

#[test]
fn bad_key_files_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let public = include_bytes!("keys/rsa.pub.pem");
    let private = include_bytes!("keys/rsa.pem");
    let file = |name, text: &[u8]| write(directory.path(), name, text).display().to_string();
    let secrets = r#"{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}"#;
    for (flag, path, says) in [
        ("--auth-jwt-secret-file", file("a", public), "must never be the secret"),
        ("--auth-jwt-secret-file", file("b", b"short"), "fewer than 32 bytes"),
        ("--auth-jwt-key-file", file("c", private), "private key"),
        ("--auth-jwt-key-file", file("d", b"none"), "no public key in PEM"),
        ("--auth-jwt-jwks", file("e", b"{}"), "not a JSON Web Key Set"),
        ("--auth-jwt-jwks", file("f", secrets.as_bytes()), "no key for"),
        ("--auth-jwt-jwks", "/nowhere/jwks.json".to_owned(), "cannot be read"),
    ] {
        let data = directory.path().join("data").display().to_string();
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--auth-modes", "jwt", flag];
        arguments.extend([&*path, "--data", &data]);
        arguments.extend(NAMES);
        let output = command(&arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says), "{says}: {errors}");
    }
}

#[test]
fn a_stranger_is_refused_although_everything_else_is_right() {
    let with = WithTokens::start();
    with.get(&good(), "/ojs/v1/queues").expect(200);
    let token = sign(Algorithm::RS256, Some("rsa-1"), &stranger(), &claims(json!({})));
    with.refuses(&token, "wrong signature");
    assert!(with.directory().join("jwks.json").exists());
}
