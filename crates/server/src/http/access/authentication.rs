//! Checks the credentials of a request.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use rota_identity::token::TokenProblem;
use rota_identity::{ClientCertificate, Identity, identify_certificate};
use rota_settings::AuthMode;

use super::{App, Caller};
use crate::http::error::ApiError;
use crate::identity::{Credential, Denied, KeyProblem};

/// How often the end of a certificate is compared with the wall clock, which may be set.
const RECHECK: Duration = Duration::from_secs(10);

/// Who a request comes from, as its credentials prove.
pub(super) struct Authenticated {
    pub identity: Arc<Identity>,
    /// `None` for a certificate, which belongs to the connection.
    pub credential: Option<Credential>,
}

/// What the credentials of a request prove; `None` where none are asked for.
pub(super) async fn identity(
    headers: &HeaderMap,
    certificate: Option<&ClientCertificate>,
    path: &str,
    app: &App,
) -> Result<Option<Authenticated>, ApiError> {
    if !app.authenticator.is_required() || is_public(path) {
        return Ok(None);
    }
    match (app.authenticator.authenticate(headers, app.wall_clock()).await, certificate) {
        // A key or a token says more than the connection that it comes over.
        (Err(Denied::NoCredentials), Some(certificate))
            if app.settings.auth.has(AuthMode::Mtls) =>
        {
            // The handshake may have been a while ago.
            if certificate.expires <= app.wall_clock() {
                return Err(expired_certificate());
            }
            let identity = identify_certificate(certificate, &app.settings.certificates);
            let identity = Arc::new(identity.ok_or_else(unknown_certificate)?);
            Ok(Some(Authenticated { identity, credential: None }))
        }
        (authenticated, _) => {
            let (identity, credential) = authenticated?;
            Ok(Some(Authenticated { identity, credential: Some(credential) }))
        }
    }
}

/// Completes when the caller would no longer be let in, and says why. Never completes for callers without
/// credentials.
pub(super) async fn ended(caller: &Caller, app: &App) -> ApiError {
    if let Some(credential) = caller.credential() {
        return app.authenticator.ended(credential, app.clock()).await.into();
    }
    let Some(end) = caller.identity().and_then(|identity| identity.expires) else {
        return std::future::pending().await;
    };
    while app.wall_clock() < end {
        let ms = u64::try_from(end.0 - app.wall_clock().0).unwrap_or(0);
        tokio::time::sleep(Duration::from_millis(ms).min(RECHECK)).await;
    }
    expired_certificate()
}

fn expired_certificate() -> ApiError {
    let text = "The client's certificate has expired.";
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
        .hint("Connect again with a new certificate.")
        .header_text("www-authenticate", INVALID)
}

fn unknown_certificate() -> ApiError {
    let text = "The client's certificate belongs to nobody whom this server knows.";
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
        .hint("An operator has to add a rule for its names to certificates in the configuration.")
        .header_text("www-authenticate", INVALID)
}

/// Probes, the manifest and the OpenAPI document need no credentials: they tell nothing about anybody's jobs.
pub(in crate::http) fn is_public(path: &str) -> bool {
    matches!(
        path,
        "/health"
            | "/ready"
            | "/v1/health"
            | "/ojs/v1/health"
            | "/ojs/v1/openapi.json"
            | "/ojs/manifest"
    )
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        let (text, hint, challenge) = match denied {
            Denied::NoCredentials => (
                "The request has no credentials.",
                "Send the header Authorization: Bearer, followed by an API key or a token.",
                "Bearer realm=\"rota\"",
            ),
            Denied::NotBearer => (
                "The header Authorization does not have the form 'Bearer' and a key or token.",
                "Send the header Authorization: Bearer, followed by an API key or a token.",
                "Bearer realm=\"rota\", error=\"invalid_request\"",
            ),
            Denied::SeveralCredentials => (
                "The request has several credentials.",
                "Send one of them, in the header Authorization.",
                "Bearer realm=\"rota\", error=\"invalid_request\"",
            ),
            Denied::UnknownForm => (
                "The credentials are of no form that this server accepts.",
                "auth.modes in the server's configuration says what it accepts.",
                INVALID,
            ),
            Denied::Key(KeyProblem::Unknown) => (
                "There is no such API key.",
                "Check that the key is complete; an operator can create another with `rota keys create`.",
                INVALID,
            ),
            Denied::Key(KeyProblem::Expired) => (
                "The API key has expired.",
                "Ask for a new key, or for its successor if it was rotated.",
                INVALID,
            ),
            Denied::Token(problem) => return bad_token(problem),
            Denied::Key(KeyProblem::Revoked) => {
                ("The API key was revoked.", "Ask an operator for a new key.", INVALID)
            }
        };
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
            .hint(hint)
            .header_text("www-authenticate", challenge)
    }
}

fn bad_token(problem: TokenProblem) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", format!("The token {problem}."))
        .hint("Get a new token from its issuer; auth.jwt_... in the server's configuration says what is accepted.")
        .header_text("www-authenticate", INVALID)
}

const INVALID: &str = "Bearer realm=\"rota\", error=\"invalid_token\"";
