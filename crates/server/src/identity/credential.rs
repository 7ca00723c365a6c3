//! A credential that was accepted, kept so that it can be checked again while its request is held.

use axum::http::HeaderValue;

/// The header with a key or a token. It shares the memory of the request's head, and is never shown.
#[derive(Clone)]
pub struct Credential(HeaderValue);

impl Credential {
    pub(super) fn new(header: &HeaderValue) -> Self {
        Self(header.clone())
    }

    /// The key or token, without the scheme before it.
    pub(super) fn text(&self) -> &str {
        let text = self.0.to_str().unwrap_or_default();
        text.split_once(' ').map_or(text, |(_, credential)| credential.trim_matches(' '))
    }
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential")
    }
}
