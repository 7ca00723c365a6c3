//! New certificates without a restart.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::authority::Authority;
use crate::secure::{Options, connect, shown, start};
use crate::support::Server;

/// Until a new connection is shown another certificate than `old`.
fn wait_for_another(server: &Server, authority: &Authority, old: &[u8]) -> Vec<u8> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let wire = connect(server, authority, &Options::default()).unwrap();
        let new = shown(&wire);
        if new != old {
            return new;
        }
        assert!(Instant::now() < until, "the old certificate is still in use");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_changed_certificate_is_used_and_open_connections_stay() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let mut open = connect(&server, &authority, &Options::default()).unwrap();
    let first = shown(&open);
    assert_eq!(open.get("/health").unwrap().status, 200);
    // The same files, with another key and certificate.
    authority.server("server");
    let second = wait_for_another(&server, &authority, &first);
    assert_eq!(open.get("/health").unwrap().status, 200, "it was there before");
    authority.server("server");
    server.signal("HUP");
    wait_for_another(&server, &authority, &second);
    assert_eq!(open.get("/health").unwrap().status, 200);
}

#[test]
fn a_broken_file_changes_nothing() {
    let authority = Authority::new();
    let server = start(&authority, &[]);
    let first = shown(&connect(&server, &authority, &Options::default()).unwrap());
    let file = authority.dir().join("server.pem");
    for broken in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        fs::write(&file, broken).unwrap();
        server.signal("HUP");
        // Longer than it takes to look at the file once more.
        thread::sleep(Duration::from_millis(2500));
        let wire = connect(&server, &authority, &Options::default()).unwrap();
        assert_eq!(shown(&wire), first);
    }
    // It goes on looking.
    authority.server("server");
    wait_for_another(&server, &authority, &first);
}

#[test]
fn a_new_authority_of_clients_is_used_too() {
    let authority = Authority::new();
    let (old, new) = (Authority::new(), Authority::new());
    let known = authority.dir().join("clients.pem");
    fs::copy(old.file(), &known).unwrap();
    let flags = ["--tls-client-auth", "required", "--tls-client-ca", known.to_str().unwrap()];
    let server = start(&authority, &flags);
    let client = new.client("new", "new.example");
    let is_served = || {
        let options = Options { pair: Some(client.clone()), ..Options::default() };
        let wire = connect(&server, &authority, &options);
        wire.and_then(|mut wire| wire.get("/health")).is_ok_and(|answer| answer.status == 200)
    };
    assert!(!is_served());
    fs::copy(new.file(), &known).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !is_served() {
        assert!(Instant::now() < until, "the new authority is not known");
        thread::sleep(Duration::from_millis(50));
    }
}
