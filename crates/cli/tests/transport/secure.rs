//! A server that speaks TLS, and connections to it.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};

use crate::authority::{Authority, Pair};
use crate::support::Server;
use crate::wire::Wire;

pub type SecureWire = Wire<StreamOwned<ClientConnection, TcpStream>>;

/// How a test connects.
#[derive(Clone)]
pub struct Options {
    pub versions: Vec<&'static SupportedProtocolVersion>,
    pub protocols: Vec<&'static [u8]>,
    pub pair: Option<Pair>,
}

impl Default for Options {
    fn default() -> Self {
        Self { versions: vec![&TLS12, &TLS13], protocols: Vec::new(), pair: None }
    }
}

/// A server with a certificate of this authority.
pub fn start(authority: &Authority, flags: &[&str]) -> Server {
    let pair = authority.server("server");
    let (certificate, key) = (pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap());
    let tls = ["--tls-certificate", certificate, "--tls-key", key];
    Server::start_with(&[&tls[..], flags].concat())
}

pub fn config(authority: &Authority, options: &Options) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.file()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&options.versions)
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match &options.pair {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let chain = vec![CertificateDer::from_pem_file(&pair.certificate).unwrap()];
            let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = options.protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// Connects and completes the handshake.
pub fn connect(
    server: &Server,
    authority: &Authority,
    options: &Options,
) -> io::Result<SecureWire> {
    let patience = Some(Duration::from_secs(60));
    let mut tcp = TcpStream::connect(server.address())?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(patience)?;
    tcp.set_write_timeout(patience)?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(config(authority, options), name).unwrap();
    while connection.is_handshaking() {
        connection.complete_io(&mut tcp)?;
    }
    Ok(Wire::over(StreamOwned::new(connection, tcp)))
}

/// The certificate that the server showed.
pub fn shown(wire: &SecureWire) -> Vec<u8> {
    wire.carrier().conn.peer_certificates().unwrap()[0].to_vec()
}
