//! Finds out who sends a request, from its credentials.

use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use rota_identity::token::TokenProblem;
use rota_identity::{Identity, KEY_PREFIX, KeyText};
use rota_model::Millis;
use rota_settings::{Auth, AuthMode};

use super::{KeyProblem, KeyTable, TokenVerifier};

const API_KEY: &str = "x-api-key";

/// Checks credentials by the modes that are switched on.
pub struct Authenticator {
    is_required: bool,
    keys: Option<Arc<KeyTable>>,
    tokens: Option<Arc<TokenVerifier>>,
}

/// Why a request is not accepted. Nothing in it repeats the credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    NoCredentials,
    /// The header is not `Authorization: Bearer ...`.
    NotBearer,
    /// There are several credentials, of which one might be somebody else's.
    SeveralCredentials,
    /// Nothing that this server accepts has this form.
    UnknownForm,
    Key(KeyProblem),
    Token(TokenProblem),
}

impl Authenticator {
    #[must_use]
    pub fn new(auth: &Auth, keys: Arc<KeyTable>, tokens: Option<Arc<TokenVerifier>>) -> Self {
        let keys = auth.has(AuthMode::Keys).then_some(keys);
        Self { is_required: auth.is_required(), keys, tokens }
    }

    /// Whether requests need credentials.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// The identity that the headers prove.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        now: Millis,
    ) -> Result<Arc<Identity>, Denied> {
        let credential = credential(headers)?.ok_or(Denied::NoCredentials)?;
        match (&self.keys, &self.tokens) {
            (Some(keys), _) if credential.starts_with(KEY_PREFIX) => {
                let text = KeyText::parse(credential).map_err(|_| unknown_key())?;
                keys.check(&text, now).map_err(Denied::Key)
            }
            (_, Some(tokens)) if credential.contains('.') => {
                tokens.verify(credential, now).await.map_err(Denied::Token)
            }
            _ => Err(Denied::UnknownForm),
        }
    }
}

fn unknown_key() -> Denied {
    Denied::Key(KeyProblem::Unknown)
}

/// The one credential in the headers.
fn credential(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    let authorization = headers.get_all(AUTHORIZATION).iter().map(bearer);
    let api_key = headers.get_all(API_KEY).iter().map(text);
    let mut all = authorization.chain(api_key);
    let Some(first) = all.next().transpose()? else { return Ok(None) };
    for other in all {
        if other? != first {
            return Err(Denied::SeveralCredentials);
        }
    }
    Ok(Some(first))
}

fn bearer(value: &HeaderValue) -> Result<&str, Denied> {
    let (scheme, credential) = text(value)?.split_once(' ').ok_or(Denied::NotBearer)?;
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(credential.trim_matches(' ')),
        false => Err(Denied::NotBearer),
    }
}

fn text(value: &HeaderValue) -> Result<&str, Denied> {
    value.to_str().map_err(|_| Denied::UnknownForm)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_credential_is_a_bearer_token_or_an_api_key() {
        for pairs in [
            &[("authorization", "Bearer abc")][..],
            &[("authorization", "bearer  abc ")],
            &[("x-api-key", "abc")],
            &[("x-api-key", "abc"), ("authorization", "Bearer abc")],
        ] {
            assert_eq!(credential(&headers(pairs)), Ok(Some("abc")), "{pairs:?}");
        }
        assert_eq!(credential(&headers(&[])), Ok(None));
    }

    #[test]
    fn other_schemes_and_different_credentials_are_refused() {
        for (pairs, denied) in [
            (&[("authorization", "Basic abc")][..], Denied::NotBearer),
            (&[("authorization", "abc")], Denied::NotBearer),
            (&[("authorization", "Bearer a"), ("x-api-key", "b")], Denied::SeveralCredentials),
            (&[("authorization", "Bearer a"), ("authorization", "Bearer b")], {
                Denied::SeveralCredentials
            }),
            (&[("authorization", "Bearer a"), ("authorization", "Basic b")], Denied::NotBearer),
        ] {
            assert_eq!(credential(&headers(pairs)), Err(denied), "{pairs:?}");
        }
    }
}
