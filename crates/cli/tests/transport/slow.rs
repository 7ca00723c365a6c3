//! Clients that take their time, over TLS and HTTP/2.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::authority::Authority;
use crate::http2::{PREFACE, frame};
use crate::secure::{Options, SecureWire, connect, start};
use crate::support::Server;

const FLAGS: [&str; 4] = ["--http-header-timeout", "300ms", "--tls-handshake-timeout", "300ms"];
/// Far longer than the timeouts, so that only a server that has none fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the server ends the connection.
fn assert_closed(stream: &mut TcpStream, what: &str) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) => panic!("{what}: the server still listens: {error}"),
        }
    }
}

/// Waits until the server ends the connection, and gives what came before.
fn rest(wire: &mut SecureWire) -> Vec<u8> {
    let (mut all, mut bytes) = (Vec::new(), [0; 1024]);
    loop {
        match wire.read(&mut bytes) {
            Ok(0) => return all,
            Ok(count) => all.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return all,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("the server still listens: {error}"),
        }
    }
}

#[test]
fn handshakes_that_do_not_go_on_are_cut_off() {
    let authority = Authority::new();
    let server = start(&authority, &FLAGS);
    // The beginning of a long first message.
    for sent in [&b""[..], &[22], &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(sent).unwrap();
        assert_closed(&mut stream, &format!("{} bytes of a handshake", sent.len()));
    }
    let mut wire = connect(&server, &authority, &Options::default()).unwrap();
    assert_eq!(wire.get("/health").unwrap().status, 200);
}

#[test]
fn heads_that_do_not_end_are_cut_off_over_tls() {
    let authority = Authority::new();
    let server = start(&authority, &FLAGS);
    for sent in [&b""[..], b"GET /health HTTP/1.1\r\nHost: ro"] {
        let mut wire = connect(&server, &authority, &Options::default()).unwrap();
        // On a slow machine, the server may have closed the connection already.
        let _ = wire.send(sent);
        assert_eq!(rest(&mut wire), b"", "{sent:?}");
    }
    // Also after a request.
    let mut wire = connect(&server, &authority, &Options::default()).unwrap();
    assert_eq!(wire.get("/health").unwrap().status, 200);
    wire.send(b"GET /hea").unwrap();
    assert_eq!(rest(&mut wire), b"");
}

#[test]
fn http2_connections_without_a_request_are_closed() {
    let server = Server::start_with(&FLAGS);
    let settings = frame(4, 0, 0, b"");
    // A head of which only the beginning comes: a HEADERS frame without END_HEADERS.
    let half_a_head = frame(1, 0, 1, &[0x82]);
    for (what, sent) in [
        ("half a preface", PREFACE[..10].to_vec()),
        ("a preface", PREFACE.to_vec()),
        ("settings", [PREFACE, &settings].concat()),
        ("half a head", [PREFACE, &settings, &half_a_head].concat()),
    ] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(&sent).unwrap();
        assert_closed(&mut stream, what);
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn http2_over_tls_is_closed_when_idle() {
    let authority = Authority::new();
    let server = start(&authority, &FLAGS);
    let options = Options { protocols: vec![b"h2"], ..Options::default() };
    let mut wire = connect(&server, &authority, &options).unwrap();
    // On a slow machine, the server may have closed the connection already.
    let _ = wire.send(&[PREFACE, &frame(4, 0, 0, b"")].concat());
    // What comes before is its settings and its farewell.
    rest(&mut wire);
}
