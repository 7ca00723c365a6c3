//! TLS: the server's certificates, which can be replaced while it runs, and those of its clients.

mod client;
mod files;
mod reload;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rota_identity::ClientCertificate;
use rota_settings::Settings;
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub use files::TlsError;
use files::{Contents, Files};

/// The certificates in use, and the bounds of handshakes.
pub struct Certificates {
    files: Files,
    current: Mutex<Current>,
    handshakes: Semaphore,
    handshake_timeout: Duration,
}

/// What was read last, and what was made of it.
struct Current {
    contents: Contents,
    config: Arc<ServerConfig>,
}

impl Certificates {
    /// Reads the files; `None` if the server does not speak TLS.
    pub fn load(settings: &Settings) -> Result<Option<Arc<Self>>, TlsError> {
        let Some(files) = Files::of(&settings.tls) else { return Ok(None) };
        let contents = files.read()?;
        let config = files.configure(&contents)?;
        Ok(Some(Arc::new(Self {
            files,
            current: Mutex::new(Current { contents, config }),
            handshakes: Semaphore::new(settings.tls.max_handshakes),
            handshake_timeout: settings.tls.handshake_timeout,
        })))
    }

    pub(super) fn handshake_timeout(&self) -> Duration {
        self.handshake_timeout
    }

    /// Performs a handshake when it is its turn, first among those of its address, then among all.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        of_address: Option<&Arc<Semaphore>>,
    ) -> Result<(TlsStream<TcpStream>, Option<Arc<ClientCertificate>>), String> {
        // The semaphores are never closed.
        let _of_address = match of_address {
            Some(semaphore) => semaphore.acquire().await.ok(),
            None => None,
        };
        let _of_all = self.handshakes.acquire().await.ok();
        let acceptor = TlsAcceptor::from(self.config());
        let stream = acceptor.accept(stream).await.map_err(|error| error.to_string())?;
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let certificate = chain.first().map(|certificate| client::read(certificate)).transpose()?;
        Ok((stream, certificate.map(Arc::new)))
    }

    fn config(&self) -> Arc<ServerConfig> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).config.clone()
    }
}
