//! Where requests are sent, and with what: TLS, credentials, or neither.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::transport::Transport;
use crate::BenchError;

/// How long to wait for a response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server, as it is asked. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Target {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
    /// Lines at the end of the head of every request.
    headers: Arc<str>,
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self { address, tls: None, headers: "".into() }
    }
}

impl Target {
    /// Connections are encrypted.
    pub fn with_tls(self, config: Arc<ClientConfig>) -> Self {
        Self { tls: Some(config), ..self }
    }

    /// All requests carry this API key or token.
    pub fn with_credential(self, credential: &str) -> Self {
        Self { headers: format!("authorization: Bearer {credential}\r\n").into(), ..self }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn headers(&self) -> &Arc<str> {
        &self.headers
    }

    /// Connects, and completes the TLS handshake. Neither is part of what is measured.
    pub fn connect(&self, patience: Duration) -> Result<Transport<TcpStream>, BenchError> {
        let mut stream = connect(self.address, patience)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let Some(config) = &self.tls else { return Ok(Transport::Plain(stream)) };
        let name = ServerName::IpAddress(self.address.ip().into());
        let failed = |error: &dyn std::fmt::Display| {
            BenchError::wrong(format!("the TLS handshake failed: {error}"))
        };
        let mut session =
            ClientConnection::new(config.clone(), name).map_err(|error| failed(&error))?;
        while session.is_handshaking() {
            session.complete_io(&mut stream).map_err(|error| failed(&error))?;
        }
        Ok(Transport::encrypted(session, stream))
    }
}

fn connect(address: SocketAddr, patience: Duration) -> Result<TcpStream, BenchError> {
    TcpStream::connect_timeout(&address, patience).map_err(|error| match error.kind() {
        // An error of this process, such as too many open files, is not the server's.
        io::ErrorKind::AddrNotAvailable => BenchError::Io(error),
        _ if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => BenchError::Io(error),
        _ => BenchError::Away(address, error),
    })
}
