//! What a client shows to a server and what it expects of it: a token, a certificate, authorities.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderValue;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use crate::Error;

/// Credentials for a server. Nothing of them is ever shown by `Debug` or in an error.
#[derive(Clone, Default)]
pub struct Credentials {
    token: Option<HeaderValue>,
    ca_file: Option<PathBuf>,
    certificate: Option<(PathBuf, PathBuf)>,
}

impl Credentials {
    /// No credentials, and the authorities of this system.
    pub fn new() -> Self {
        Self::default()
    }

    /// An API key or a JSON Web Token, which is sent with every request.
    pub fn token(mut self, token: &str) -> Result<Self, Error> {
        let is_token = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
        let mut value = value.ok().filter(|_| is_token(token.trim())).ok_or_else(|| {
            bad("the token is empty, or has characters that tokens cannot have".to_owned())
        })?;
        value.set_sensitive(true);
        self.token = Some(value);
        Ok(self)
    }

    /// A PEM file with the authorities that are trusted instead of those of this system.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// PEM files with the client's own certificate and its private key.
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.certificate = Some((certificate.into(), key.into()));
        self
    }

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.token.as_ref()
    }

    /// Settings of TLS for a server that does not speak it.
    pub(crate) fn without_tls() -> Result<ClientConfig, Error> {
        Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    }

    /// The settings of TLS. Reads the files.
    pub(crate) fn tls(&self) -> Result<ClientConfig, Error> {
        let builder = builder()?.with_root_certificates(self.roots()?);
        let Some((certificate, key)) = &self.certificate else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates(certificate)?;
        let private = PrivateKeyDer::from_pem_slice(&read(key)?)
            .map_err(|_| unusable(key, "it has no private key in PEM"))?;
        builder.with_client_auth_cert(chain, private).map_err(|cause| unusable(key, cause))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        match &self.ca_file {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|cause| unusable(path, cause))?;
                }
            }
            None => {
                // A system without any is one on which no server is trusted.
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
            }
        }
        Ok(roots)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("token", &self.token.is_some())
            .field("ca_file", &self.ca_file)
            .field("certificate", &self.certificate)
            .finish()
    }
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|cause| bad(format!("TLS cannot be used: {cause}")))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let bytes = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(unusable(path, "it has no certificate in PEM")),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |cause: io::Error| bad(format!("{} cannot be read: {cause}", path.display()));
    std::fs::read(path).map_err(failed)
}

fn unusable(path: &Path, reason: impl fmt::Display) -> Error {
    bad(format!("{} cannot be used: {reason}", path.display()))
}

fn bad(reason: String) -> Error {
    Error::BadCredentials { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_shown() {
        let credentials = Credentials::new().token("rota_secret").unwrap();
        assert_eq!(credentials.authorization().unwrap(), "Bearer rota_secret");
        assert!(!format!("{credentials:?}").contains("secret"));
        assert!(!format!("{:?}", credentials.authorization()).contains("secret"));
        for token in ["", " ", "rota secret", "rota\nsecret", "sécret"] {
            let error = Credentials::new().token(token).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let missing = Credentials::new().ca_file("/nowhere.pem").tls().unwrap_err().to_string();
        assert!(missing.contains("/nowhere.pem cannot be read"), "{missing}");
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let wrong = Credentials::new().ca_file(own).tls().unwrap_err().to_string();
        assert!(wrong.contains("it has no certificate in PEM"), "{wrong}");
    }
}
