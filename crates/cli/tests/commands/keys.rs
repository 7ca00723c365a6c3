use serde_json::json;

use crate::fake::scripted;
use crate::looks_like;
use crate::run::{rota, rota_at};
use crate::support::{Server, command};

const KEY: &str = r#"{
    "id": "abcdefghijkmnpqr", "name": "orders", "tenant_id": "acme", "scopes": ["enqueue", "inspect"],
    "queues": ["mail", "sms"], "job_types": ["email.send"], "state": "active",
    "created_at": "2001-02-03T04:05:06.000Z", "expires_at": null, "revoked_at": null, "last_used_at": null,
    "rotated_from": null, "successor": "stuvwxyzabcdefgh"
}"#;

#[test]
fn keys_are_listed() {
    let operator = r#"{"id": "zzzzzzzzzzzzzzzz", "name": "deploy", "tenant_id": null, "scopes": ["server"],
        "queues": null, "job_types": null, "state": "revoked"}"#;
    let server = scripted(&[(200, &format!(r#"{{"items": [{KEY}, {operator}]}}"#))]);
    looks_like!("list", rota_at(&server.url, &["keys"]).printed());
    assert_eq!(server.asked(), ["GET /ojs/v1/admin/keys?per_page=100"]);
    let list = rota_at(&server.url, &["keys", "list", "--json"]).json();
    assert_eq!(list["keys"][1]["state"], "revoked");
}

#[test]
fn a_key_is_created_with_every_option() {
    let created = KEY.replacen('{', "{\"key\": \"rota_abcdefghijkmnpqr_secret\",", 1);
    let server = scripted(&[(201, &created)]);
    #[rustfmt::skip]
    let arguments = [
        "keys", "create", "--name", "orders", "--scopes", "enqueue,inspect", "--role", "worker",
        "--queues", "mail,sms", "--types", "email.send", "--expires", "90d", "--json",
    ];
    let shown = rota_at(&server.url, &arguments).json();
    assert_eq!(shown["key"], "rota_abcdefghijkmnpqr_secret");
    let ran = rota_at(&server.url, &["keys", "create", "--name", "x", "--role", "producer"]);
    assert_eq!((ran.code, &*ran.stderr), (0, "this is the only time that the key is shown\n"));
    assert!(ran.stdout.ends_with("\nrota_abcdefghijkmnpqr_secret\n"), "{}", ran.stdout);
    let body = concat!(
        r#"{"name":"orders","scopes":["enqueue","inspect"],"role":"worker","#,
        r#""queues":["mail","sms"],"job_types":["email.send"],"expires_at":"+P90D"}"#
    );
    let expected = [
        format!("POST /ojs/v1/admin/keys {body}"),
        r#"POST /ojs/v1/admin/keys {"name":"x","role":"producer"}"#.to_owned(),
    ];
    assert_eq!(server.asked(), expected);
}

#[test]
fn a_key_lives_and_ends_on_a_real_server() {
    let server = Server::start();
    let made = rota(
        &server,
        &["keys", "create", "--name", "a b", "--role", "worker", "--tenant", "acme", "--json"],
    );
    let made = made.json();
    let id = made["id"].as_str().unwrap();
    assert_eq!((&made["tenant_id"], &made["scopes"]), (&json!("acme"), &json!(["dequeue"])));
    let text = rota(&server, &["keys", "show", id]).printed();
    assert!(text.contains("name       a b\n") && text.contains("last used  never\n"), "{text}");
    // A whole key is taken for its id, and its secret is not sent.
    let whole = made["key"].as_str().unwrap();
    assert_eq!(rota(&server, &["keys", "show", whole, "--json"]).json()["id"], id);
    let rotated = rota(&server, &["keys", "rotate", id, "--overlap", "1h", "--json"]).json();
    assert_eq!(rotated["previous"]["successor"], rotated["id"]);
    assert_eq!(rota(&server, &["keys", "revoke", id]).printed(), format!("{id} revoked\n"));
    assert_eq!(rota(&server, &["keys", "show", id, "--json"]).json()["state"], "revoked");
    assert_eq!(rota(&server, &["keys", "delete", id]).printed(), format!("{id} deleted\n"));
    assert_eq!(rota(&server, &["keys", "show", id]).code, 4);
    let other = rota(&server, &["keys", "list", "--tenant", "other", "--json"]).json();
    assert_eq!(other["keys"], json!([]));
}

#[test]
fn what_is_not_an_id_is_refused_and_not_repeated() {
    let ran = rota_at("http://127.0.0.1:9", &["keys", "revoke", "rota_abc_def"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("not the id of a key"), "{}", ran.stderr);
    let ran =
        rota_at("http://127.0.0.1:9", &["keys", "create", "--name", "x", "--expires", "soon"]);
    assert!(ran.stderr.contains("90d"), "{}", ran.stderr);
}

#[test]
fn a_first_key_is_made_without_a_server() {
    let make = || {
        let output = command(&["keys", "generate", "--json"]).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let (one, other) = (make(), make());
    let text = |key: &serde_json::Value| key["key"].as_str().unwrap().to_owned();
    assert!(rota_identity::KeyText::parse(&text(&one)).is_ok());
    assert_ne!(text(&one), text(&other));
}
