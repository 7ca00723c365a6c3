//! Certificates that clients show: which are accepted, and when one is needed.

use rcgen::DnType;
use serde_json::json;

use crate::authority::{Authority, Pair};
use crate::secure::{Options, connect, start};
use crate::support::Server;

fn server(authority: &Authority, clients: &Authority, auth: &str, more: &[&str]) -> Server {
    let ca = clients.file();
    let flags = ["--tls-client-auth", auth, "--tls-client-ca", ca.to_str().unwrap()];
    start(authority, &[&flags[..], more].concat())
}

/// With TLS 1.3 a client learns of a refusal only when it reads, so there is a request as well.
fn served(server: &Server, authority: &Authority, pair: Option<&Pair>) -> Result<u16, String> {
    let options = Options { pair: pair.cloned(), ..Options::default() };
    let answer = connect(server, authority, &options).and_then(|mut wire| wire.get("/health"));
    answer.map(|answer| answer.status).map_err(|error| error.to_string())
}

#[test]
fn a_required_certificate_must_be_of_a_known_authority() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = server(&authority, &clients, "required", &[]);
    let good = clients.client("worker", "worker.example");
    assert_eq!(served(&server, &authority, Some(&good)), Ok(200));
    let none = served(&server, &authority, None).unwrap_err();
    assert!(none.contains("CertificateRequired"), "{none}");
    let unknown = strangers.client("worker", "worker.example");
    let unknown = served(&server, &authority, Some(&unknown)).unwrap_err();
    assert!(unknown.contains("UnknownCA") || unknown.contains("DecryptError"), "{unknown}");
    let expired = served(&server, &authority, Some(&clients.expired("old"))).unwrap_err();
    assert!(expired.contains("CertificateExpired"), "{expired}");
}

#[test]
fn an_optional_certificate_may_be_missing_but_not_unknown() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let server = server(&authority, &clients, "optional", &[]);
    assert_eq!(served(&server, &authority, None), Ok(200));
    let good = clients.client("worker", "worker.example");
    assert_eq!(served(&server, &authority, Some(&good)), Ok(200));
    let unknown = strangers.client("worker", "worker.example");
    assert!(served(&server, &authority, Some(&unknown)).is_err());
}

#[test]
fn a_certificate_is_a_credential_of_its_tenant() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let rules = json!({
        "acme-producers": {"san": "uri:spiffe://acme/producer", "tenant": "acme",
            "scopes": ["enqueue"], "queues": ["mail"]},
        "operators": {"subject": "O=rcgen,CN=ops", "scopes": "server"},
    });
    let (ca, rules) = (clients.file(), rules.to_string());
    let pair = authority.server("server");
    let flags = ["--tls-client-auth", "optional", "--tls-client-ca", ca.to_str().unwrap()];
    let own = ["--tls-certificate", pair.certificate.to_str().unwrap(), "--tls-key"];
    let own = [&own[..], &[pair.key.to_str().unwrap(), "--auth-modes", "mtls"]].concat();
    let server =
        Server::start_in_env(&[&flags[..], &own].concat(), &[("ROTA_CERTIFICATES", &rules)]);
    let connect_as = |pair: Option<Pair>| {
        connect(&server, &authority, &Options { pair, ..Options::default() }).unwrap()
    };
    let job = |queue| json!({"type": "a", "args": [], "queue": queue});
    let mut producer = connect_as(Some(clients.client("p", "spiffe://acme/producer")));
    let made = producer.post("/ojs/v1/jobs", &job("mail")).unwrap();
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(made.json()["job"]["meta"]["tenant_id"], "acme", "{}", made.text());
    assert_eq!(producer.post("/ojs/v1/jobs", &job("sms")).unwrap().status, 403, "other queue");
    let fetch = json!({"queues": ["mail"]});
    assert_eq!(producer.post("/ojs/v1/workers/fetch", &fetch).unwrap().status, 403);
    let operator = clients.issue("ops", &[], |params| {
        params.distinguished_name.push(DnType::OrganizationName, "rcgen");
    });
    let mut operator = connect_as(Some(operator));
    let config = operator.get("/ojs/v1/admin/config").unwrap();
    assert_eq!(config.status, 200, "{}", config.text());
    let mut stranger = connect_as(Some(clients.client("s", "spiffe://acme/stranger")));
    let refused = stranger.get("/ojs/v1/jobs").unwrap();
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").is_some());
    assert!(refused.text().contains("certificate"), "{}", refused.text());
    assert_eq!(connect_as(None).get("/ojs/v1/jobs").unwrap().status, 401);
    assert_eq!(connect_as(None).get("/health").unwrap().status, 200);
}

#[test]
fn a_revoked_certificate_is_refused() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let list = clients.revoke(&["bad"]);
    let more = ["--tls-client-crl", list.to_str().unwrap()];
    let server = server(&authority, &clients, "required", &more);
    let (good, bad) =
        (clients.client("good", "good.example"), clients.client("bad", "bad.example"));
    assert_eq!(served(&server, &authority, Some(&good)), Ok(200));
    let revoked = served(&server, &authority, Some(&bad)).unwrap_err();
    assert!(revoked.contains("CertificateRevoked"), "{revoked}");
}
