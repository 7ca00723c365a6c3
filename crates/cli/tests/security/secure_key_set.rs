//! A key set that is read over https.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use jsonwebtoken::Algorithm;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::Authority;
use crate::support::{Server, command};
use crate::token_maker::{NAMES, good, key_set, rsa};

/// Serves a key set with a certificate of this authority.
fn serve_keys(authority: &Authority) -> String {
    let pair = authority.server("keys");
    let chain = vec![CertificateDer::from_pem_file(&pair.certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/jwks.json", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut stream = StreamOwned::new(connection, tcp.unwrap());
            if stream.read(&mut [0; 4096]).is_err() {
                // It does not trust this server.
                continue;
            }
            let set = key_set("rsa-1", Algorithm::RS256, &rsa()).to_string();
            let length = set.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{set}"
            );
            let _ = stream.write_all(answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    url
}

fn status(url: &str, more: &[&str]) -> u16 {
    let mut flags = vec!["--auth-modes", "jwt", "--auth-jwt-jwks", url];
    flags.extend(NAMES);
    flags.extend(more);
    let server = Server::start_with(&flags);
    let authorization = format!("Bearer {}", good());
    server.send("GET", "/ojs/v1/queues", &[("Authorization", &authorization)], None).status
}

#[test]
fn a_key_set_is_read_over_https_from_a_server_of_a_known_authority() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let url = serve_keys(&authority);
    let file = |authority: &Authority| authority.file().to_str().unwrap().to_owned();
    assert_eq!(status(&url, &["--auth-jwt-jwks-ca", &file(&authority)]), 200);
    assert_eq!(status(&url, &["--auth-jwt-jwks-ca", &file(&stranger)]), 401);
    assert_eq!(status(&url, &[]), 401, "the system does not know the authority");
}

#[test]
fn authorities_are_for_key_sets_with_an_https_url() {
    let authority = Authority::new();
    let file = authority.file();
    let data = authority.dir().join("data");
    for jwks in ["http://127.0.0.1:9/jwks.json", "jwks.json"] {
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--auth-modes", "jwt"];
        arguments.extend(["--auth-jwt-jwks", jwks, "--auth-jwt-jwks-ca", file.to_str().unwrap()]);
        arguments.extend(["--data", data.to_str().unwrap()]);
        arguments.extend(NAMES);
        let output = command(&arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("auth.jwt_jwks_ca"), "{errors}");
    }
}
