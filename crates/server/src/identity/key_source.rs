//! Reads a JSON Web Key Set from a file or a URL.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rota_settings::JwksSource;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::token_keys::{TokenKeys, TokenKeysError};

const MAX_BYTES: usize = 1 << 20;
/// For the whole of it: connecting, the request and the body.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum KeySourceError {
    #[error("cannot be read: {0}")]
    File(#[from] std::io::Error),
    #[error("{0}")]
    Keys(#[from] TokenKeysError),
    #[error("cannot be read: {0}")]
    Http(String),
}

/// Reads the keys of the set. `authorities` is the file with those that an https server is certified by;
/// `None` for those of the system.
pub(super) async fn read(
    source: &JwksSource,
    authorities: Option<&Path>,
) -> Result<TokenKeys, KeySourceError> {
    match source {
        JwksSource::File(path) => Ok(TokenKeys::from_jwks(&read_file(path)?, true)?),
        JwksSource::Url(url) => {
            let text = tokio::time::timeout(TIMEOUT, fetch(url, authorities))
                .await
                .map_err(|_| KeySourceError::Http("it took longer than 5 s".to_owned()))??;
            Ok(TokenKeys::from_jwks(&text, false)?)
        }
    }
}

/// Reads a file of bounded size.
pub(super) fn read_file(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BYTES {
        return Err(Error::new(ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Redirects are not followed: they could lead anywhere.
async fn fetch(url: &str, authorities: Option<&Path>) -> Result<String, KeySourceError> {
    let failed = |cause: &dyn std::fmt::Display| KeySourceError::Http(cause.to_string());
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let builder = hyper_rustls::HttpsConnectorBuilder::new();
    let builder = match authorities {
        None => builder.with_provider_and_native_roots(provider).map_err(|error| failed(&error))?,
        Some(path) => builder.with_tls_config(
            rustls::ClientConfig::builder_with_provider(Arc::new(provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| failed(&error))?
                .with_root_certificates(roots(path)?)
                .with_no_client_auth(),
        ),
    };
    let connector = builder.https_or_http().enable_http1().build();
    let client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let uri = url.parse().map_err(|error| failed(&error))?;
    let response = client.get(uri).await.map_err(|error| failed(&error))?;
    if response.status() != hyper::StatusCode::OK {
        return Err(failed(&format!("the response is {}", response.status())));
    }
    let body = Limited::new(response.into_body(), MAX_BYTES).collect().await;
    let bytes = body.map_err(|error| failed(&error))?.to_bytes();
    String::from_utf8(bytes.to_vec()).map_err(|_| failed(&"it is not UTF-8"))
}

/// The authorities in a file. It is read each time, so it can be replaced.
fn roots(path: &Path) -> Result<RootCertStore, KeySourceError> {
    let unusable = |cause: &dyn std::fmt::Display| {
        KeySourceError::Http(format!("auth.jwt_jwks_ca ({}): {cause}", path.display()))
    };
    let text = read_file(path).map_err(|error| unusable(&error))?;
    let mut roots = RootCertStore::empty();
    for authority in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let authority = authority.map_err(|error| unusable(&error))?;
        roots.add(authority).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"it has no certificate in PEM"));
    }
    Ok(roots)
}
