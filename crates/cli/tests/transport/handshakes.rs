//! Versions of TLS, choice of the protocol, and clients that do not speak TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::ProtocolVersion;
use rustls::version::{TLS12, TLS13};
use serde_json::json;

use crate::authority::Authority;
use crate::secure::{Options, SecureWire, connect, start};
use crate::support::command;
use crate::wire::Wire;

#[test]
fn both_versions_are_spoken_and_the_newer_is_preferred() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let (old, new) = (ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3);
    for (versions, expected) in
        [(vec![&TLS12], old), (vec![&TLS13], new), (vec![&TLS12, &TLS13], new)]
    {
        let options = Options { versions, ..Options::default() };
        let mut wire = connect(&server, &authority, &options).unwrap();
        assert_eq!(wire.carrier().conn.protocol_version(), Some(expected));
        let job = json!({"type": "a", "args": [1]});
        // The connection serves more than one request.
        for _ in 0..2 {
            assert_eq!(wire.post("/ojs/v1/jobs", &job).unwrap().status, 201);
        }
    }
}

#[test]
fn the_client_chooses_the_protocol() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let chosen = |protocols: &[&'static [u8]]| {
        let options = Options { protocols: protocols.to_vec(), ..Options::default() };
        let wire = connect(&server, &authority, &options)?;
        Ok::<_, std::io::Error>(wire.carrier().conn.alpn_protocol().map(<[u8]>::to_vec))
    };
    assert_eq!(chosen(&[b"h2", b"http/1.1"]).unwrap().as_deref(), Some(&b"h2"[..]));
    assert_eq!(chosen(&[b"http/1.1"]).unwrap().as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(chosen(&[]).unwrap(), None);
    let error = chosen(&[b"spdy/3"]).unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
}

#[test]
fn requests_that_are_not_http_are_refused_in_words_over_tls_too() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let mut wire = connect(&server, &authority, &Options::default()).unwrap();
    wire.send(b"GET / HTTP/1.1\r\nbroken header\r\n\r\n").unwrap();
    let answer = wire.answer().unwrap();
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["code"], "invalid_request", "{}", answer.text());
}

#[test]
fn plain_http_is_told_to_use_tls() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let mut wire = Wire::open(server.address()).unwrap();
    let answer = wire.get("/health").unwrap();
    assert_eq!(answer.status, 400);
    let error = answer.json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("speaks TLS"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("https://"), "{error}");
    assert_eq!(error["request_id"].as_str(), answer.header("x-request-id"));
    assert_eq!(wire.rest().unwrap(), b"");
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let authority = Authority::new();
    let (one, other) = (authority.server("one"), authority.server("other"));
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (certificate, key) = (text(&one.certificate), text(&one.key));
    let dir = tempfile::TempDir::new().unwrap();
    let start = |certificate: &str, key: &str, more: &[&str]| {
        let ended = command(&["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir.path().join("data"))
            .args(["--tls-certificate", certificate, "--tls-key", key])
            .args(more)
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(2), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    };
    assert!(
        start("/nowhere.pem", &key, &[]).contains("tls.certificate = /nowhere.pem cannot be read")
    );
    assert!(start(&key, &key, &[]).contains("it has no certificate in PEM"));
    assert!(start(&certificate, &certificate, &[]).contains("it has no private key in PEM"));
    let mixed = start(&certificate, &text(&other.key), &[]);
    assert!(mixed.contains("tls.key = ") && mixed.contains("cannot be used"), "{mixed}");
    let clients = ["--tls-client-auth", "required", "--tls-client-ca", &key];
    assert!(start(&certificate, &key, &clients).contains("tls.client_ca = "));
}

/// The value of a metric.
fn metric(wire: &mut SecureWire, name: &str) -> u64 {
    let page = wire.get("/metrics").unwrap().text();
    let line = page.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn failed_handshakes_are_counted_audited_and_bounded() {
    let authority = Authority::new();
    let flags = ["--tls-max-failed-handshakes-per-address", "3", "--audit-interval", "1s"];
    let server = start(&authority, &flags);
    let mut wire = connect(&server, &authority, &Options::default()).unwrap();
    // Who only looks whether the port is open has not failed.
    drop(TcpStream::connect(server.address()).unwrap());
    assert_eq!(metric(&mut wire, "rota_tls_handshakes_failed_total"), 0);
    let until = Instant::now() + Duration::from_secs(60);
    while metric(&mut wire, "rota_tls_handshakes_refused_total") == 0 {
        assert!(Instant::now() < until, "there is no bound");
        for _ in 0..10 {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            // A record of a handshake that is none. It may be closed before that is written.
            let _ = stream.write_all(&[22, 3, 1, 0, 5, 1, 2, 3, 4, 5]);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    }
    let failed = metric(&mut wire, "rota_tls_handshakes_failed_total");
    assert!(failed >= 3, "{failed}");
    let path = "/ojs/v1/admin/audit?action=auth.login_failure";
    let entry = loop {
        assert!(Instant::now() < until, "there is no entry");
        let log = wire.get(path).unwrap().json();
        if let Some(entry) = log["items"].as_array().and_then(|items| items.first()) {
            break entry.clone();
        }
    };
    let text = entry.to_string();
    assert!(text.contains("handshake") && text.contains("127.0.0.1"), "{text}");
    // Others of the address get in as soon as the second is over.
    while connect(&server, &authority, &Options::default()).is_err() {
        assert!(Instant::now() < until, "the address is locked out");
    }
}
