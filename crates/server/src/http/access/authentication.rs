//! Checks the credentials of a request.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use rota_identity::token::TokenProblem;
use rota_identity::{ClientCertificate, Identity, identify_certificate};
use rota_settings::AuthMode;

use super::App;
use crate::http::error::ApiError;
use crate::identity::{Denied, KeyProblem};

/// What the credentials of a request prove; `None` where none are asked for.
pub(super) async fn identity(
    headers: &HeaderMap,
    certificate: Option<&ClientCertificate>,
    path: &str,
    app: &App,
) -> Result<Option<Arc<Identity>>, ApiError> {
    if !app.authenticator.is_required() || is_public(path) {
        return Ok(None);
    }
    match (app.authenticator.authenticate(headers, app.now()).await, certificate) {
        // A key or a token says more than the connection that it comes over.
        (Err(Denied::NoCredentials), Some(certificate))
            if app.settings.auth.has(AuthMode::Mtls) =>
        {
            let identity = identify_certificate(certificate, &app.settings.certificates);
            Ok(Some(Arc::new(identity.ok_or_else(unknown_certificate)?)))
        }
        (authenticated, _) => Ok(Some(authenticated?)),
    }
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
