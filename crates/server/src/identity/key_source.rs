//! Reads a JSON Web Key Set from a file or a URL.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rota_settings::JwksSource;

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

/// Reads the keys of the set.
pub(super) async fn read(source: &JwksSource) -> Result<TokenKeys, KeySourceError> {
    match source {
        JwksSource::File(path) => Ok(TokenKeys::from_jwks(&read_file(path)?, true)?),
        JwksSource::Url(url) => {
            let text = tokio::time::timeout(TIMEOUT, fetch(url))
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
async fn fetch(url: &str) -> Result<String, KeySourceError> {
    let failed = |cause: &dyn std::fmt::Display| KeySourceError::Http(cause.to_string());
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
        .map_err(|error| failed(&error))?
        .https_or_http()
        .enable_http1()
        .build();
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
