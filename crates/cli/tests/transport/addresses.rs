//! Which addresses the server listens on, and whom it believes about clients' addresses.

use std::process::Stdio;

use crate::support::{Server, command, process};
use crate::wire::{Wire, request};

#[test]
fn without_credentials_it_does_not_listen_to_others() {
    let dir = tempfile::TempDir::new().unwrap();
    let ended = command(&["serve", "--listen", "0.0.0.0:0", "--data"])
        .arg(dir.path().join("data"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let text = String::from_utf8(ended.stderr).unwrap();
    for part in ["listen = \"0.0.0.0:0\"", "127.0.0.1", "--insecure"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!dir.path().join("data").exists(), "nothing was begun");
}

#[test]
fn insecure_is_a_flag_without_a_value() {
    let dir = tempfile::TempDir::new().unwrap();
    let data = dir.path().join("data");
    let arguments =
        ["serve", "--insecure", "--listen", "0.0.0.0:0", "--data", data.to_str().unwrap()];
    let mut server = process::Process::spawn(&mut command(&arguments));
    assert!(server.address().unwrap().ip().is_unspecified());
    assert_eq!(server.terminate().code, Some(0));
}

/// The log names the client of every request.
fn client_in_log(flags: &[&str], header: &str) -> String {
    let dir = tempfile::TempDir::new().unwrap();
    let flags = [&["--log-level", "debug"], flags].concat();
    let mut server = process::Process::serve(&dir.path().join("data"), &flags);
    let mut wire = server.connect();
    wire.write(&request("GET", "/ojs/v1/jobs", &[header], b"")).unwrap();
    assert_eq!(wire.answer().unwrap().status, 200);
    let ended = server.terminate();
    let line = ended.stderr.lines().find(|line| line.contains("answered")).unwrap().to_owned();
    let (_, client) = line.split_once("client=").expect("the log names the client");
    client.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn only_a_trusted_proxy_is_believed() {
    let header = "X-Forwarded-For: 192.0.2.1, 198.51.100.7";
    assert_eq!(client_in_log(&[], header), "127.0.0.1");
    let others = ["--http-behind-proxy", "--http-trusted-proxies", "10.0.0.1"];
    assert_eq!(client_in_log(&others, header), "127.0.0.1");
    let trusted = ["--http-behind-proxy", "--http-trusted-proxies", "10.0.0.1,127.0.0.0/8"];
    assert_eq!(client_in_log(&trusted, header), "198.51.100.7");
}

/// An address of this machine that is not a loopback address, if there is one.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent: this only asks for the way.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

#[test]
fn clients_that_do_not_come_through_the_proxy_get_probes_only() {
    let Some(own) = own_address() else {
        eprintln!("this machine has no address besides its loopback addresses");
        return;
    };
    let flags = ["--insecure", "--http-behind-proxy", "--http-trusted-proxies", "192.0.2.99"];
    let server = Server::start_listening(&format!("{own}:0"), &flags);
    let mut wire = Wire::open(server.address()).unwrap();
    assert_eq!(wire.get("/health").unwrap().status, 200);
    let refused = wire.get("/ojs/v1/jobs").unwrap();
    assert_eq!(refused.status, 403);
    assert!(refused.text().contains("through its proxy"), "{}", refused.text());
}
