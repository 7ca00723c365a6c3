//! The files with certificates and keys, and the configuration that is made of them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rota_settings::{ClientAuth, Tls};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

use super::super::protocol::Protocol;

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{setting} = {} cannot be read: {cause}", path.display())]
    Read { setting: &'static str, path: PathBuf, cause: io::Error },
    #[error("{setting} = {} cannot be used: {reason}", path.display())]
    Unusable { setting: &'static str, path: PathBuf, reason: String },
}

/// The files by setting.
#[derive(Debug)]
pub(super) struct Files {
    certificate: File,
    key: File,
    clients: Option<Clients>,
}

/// How clients' certificates are checked.
#[derive(Debug)]
struct Clients {
    authorities: File,
    revoked: Option<File>,
    required: bool,
}

#[derive(Debug)]
struct File {
    setting: &'static str,
    path: PathBuf,
}

/// The bytes of all files, to see whether one has changed.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authorities: Vec<u8>,
    revoked: Vec<u8>,
}

impl Files {
    /// `None` if the server does not speak TLS.
    pub fn of(tls: &Tls) -> Option<Self> {
        let file = |setting, path: &Option<PathBuf>| Some(File { setting, path: path.clone()? });
        let clients = match tls.client_auth {
            ClientAuth::Off => None,
            auth => file("tls.client_ca", &tls.client_ca).map(|authorities| Clients {
                authorities,
                revoked: file("tls.client_crl", &tls.client_crl),
                required: auth == ClientAuth::Required,
            }),
        };
        Some(Self {
            certificate: file("tls.certificate", &tls.certificate)?,
            key: file("tls.key", &tls.key)?,
            clients,
        })
    }

    pub fn read(&self) -> Result<Contents, TlsError> {
        let clients = self.clients.as_ref();
        let read = |file: Option<&File>| file.map_or(Ok(Vec::new()), File::read);
        Ok(Contents {
            certificate: self.certificate.read()?,
            key: self.key.read()?,
            authorities: read(clients.map(|clients| &clients.authorities))?,
            revoked: read(clients.and_then(|clients| clients.revoked.as_ref()))?,
        })
    }

    /// Makes a configuration of what was read. Fails if the key does not belong to the certificate.
    pub fn configure(&self, contents: &Contents) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let chain: Vec<CertificateDer<'static>> =
            self.certificate.parse_all(&contents.certificate, "certificate")?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|cause| {
            self.key.unusable(format!("it has no private key in PEM ({cause})"))
        })?;
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|cause| self.certificate.unusable(cause))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                builder.with_client_cert_verifier(clients.verifier(contents, provider)?)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|cause| self.key.unusable(format!("with tls.certificate: {cause}")))?;
        config.alpn_protocols = Protocol::NAMES.map(<[u8]>::to_vec).to_vec();
        Ok(Arc::new(config))
    }
}

impl Clients {
    fn verifier(
        &self,
        contents: &Contents,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let mut roots = RootCertStore::empty();
        let authorities: Vec<CertificateDer<'static>> =
            self.authorities.parse_all(&contents.authorities, "certificate")?;
        for authority in authorities {
            roots.add(authority).map_err(|cause| self.authorities.unusable(cause))?;
        }
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        if let Some(revoked) = &self.revoked {
            let lists: Vec<CertificateRevocationListDer<'static>> =
                revoked.parse_all(&contents.revoked, "revocation list")?;
            // A list of one authority says nothing about the others.
            builder = builder.with_crls(lists).allow_unknown_revocation_status();
        }
        if !self.required {
            builder = builder.allow_unauthenticated();
        }
        let file = self.revoked.as_ref().unwrap_or(&self.authorities);
        builder.build().map_err(|cause| file.unusable(cause))
    }
}

impl File {
    fn read(&self) -> Result<Vec<u8>, TlsError> {
        let failed =
            |cause| TlsError::Read { setting: self.setting, path: self.path.clone(), cause };
        std::fs::read(&self.path).map_err(failed)
    }

    /// All sections of one kind, of which there must be at least one.
    fn parse_all<T: PemObject>(&self, bytes: &[u8], kind: &str) -> Result<Vec<T>, TlsError> {
        let sections: Result<Vec<T>, _> = T::pem_slice_iter(bytes).collect();
        match sections {
            Ok(sections) if sections.is_empty() => {
                Err(self.unusable(format!("it has no {kind} in PEM")))
            }
            Ok(sections) => Ok(sections),
            Err(cause) => Err(self.unusable(format!("it is not valid PEM ({cause})"))),
        }
    }

    fn unusable(&self, reason: impl ToString) -> TlsError {
        let reason = reason.to_string();
        TlsError::Unusable { setting: self.setting, path: self.path.clone(), reason }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl std::fmt::Display for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.certificate.path().display().fmt(f)
    }
}
