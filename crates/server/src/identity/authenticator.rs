//! Finds out who sends a request, from its credentials.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use rota_identity::token::TokenProblem;
use rota_identity::{Identity, KEY_PREFIX, KeyText};
use rota_model::Millis;
use rota_settings::{Auth, AuthMode};
use tokio::sync::watch;

use super::credential::Credential;
use super::{KeyProblem, KeyTable, TokenVerifier};
use crate::runtime::Clock;

const API_KEY: &str = "x-api-key";
/// How often a credential that is watched is checked anyway: the wall clock may be set.
const RECHECK: Duration = Duration::from_secs(10);

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

    /// The identity that the headers prove, and the credential that proves it.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        now: Millis,
    ) -> Result<(Arc<Identity>, Credential), Denied> {
        let (text, credential) = credential(headers)?.ok_or(Denied::NoCredentials)?;
        Ok((self.identity(text, now).await?, credential))
    }

    async fn identity(&self, credential: &str, now: Millis) -> Result<Arc<Identity>, Denied> {
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

    /// Completes when a credential is no longer accepted, and says why.
    pub async fn ended(&self, credential: &Credential, clock: &Clock) -> Denied {
        // Before the first check, so that no change is missed.
        let mut revoked = self.keys.as_ref().map(|keys| keys.ends());
        let mut keys_read = self.tokens.as_ref().map(|tokens| tokens.reads());
        loop {
            let now = clock.now().wall_clock();
            let end = match self.end_of(credential.text(), now).await {
                Ok(end) => end,
                Err(denied) => return denied,
            };
            let left = end.map_or(RECHECK, |end| {
                let ms = u64::try_from(end.0.saturating_sub(now.0)).unwrap_or(0);
                Duration::from_millis(ms).min(RECHECK)
            });
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                () = changed(&mut revoked) => {}
                () = changed(&mut keys_read) => {}
            }
        }
    }

    /// When a credential ends that is accepted now.
    async fn end_of(&self, credential: &str, now: Millis) -> Result<Option<Millis>, Denied> {
        if let Some(keys) = self.keys.as_ref().filter(|_| credential.starts_with(KEY_PREFIX)) {
            let text = KeyText::parse(credential).map_err(|_| unknown_key())?;
            return keys.end_of(&text, now).map_err(Denied::Key);
        }
        self.identity(credential, now).await.map(|identity| identity.expires)
    }
}

/// Completes with the next change; never without a source of changes.
async fn changed(changes: &mut Option<watch::Receiver<u64>>) {
    let is_alive = match changes {
        Some(changes) => changes.changed().await.is_ok(),
        None => false,
    };
    if !is_alive {
        std::future::pending().await
    }
}

fn unknown_key() -> Denied {
    Denied::Key(KeyProblem::Unknown)
}

/// The one credential in the headers.
fn credential(headers: &HeaderMap) -> Result<Option<(&str, Credential)>, Denied> {
    let authorization = headers.get_all(AUTHORIZATION).iter().map(|value| (bearer(value), value));
    let api_key = headers.get_all(API_KEY).iter().map(|value| (text(value), value));
    let mut all = authorization.chain(api_key);
    let Some((first, header)) = all.next() else { return Ok(None) };
    let first = first?;
    for (other, _) in all {
        if other? != first {
            return Err(Denied::SeveralCredentials);
        }
    }
    Ok(Some((first, Credential::new(header))))
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
            let headers = headers(pairs);
            let (text, credential) = credential(&headers).unwrap().unwrap();
            assert_eq!((text, credential.text()), ("abc", "abc"), "{pairs:?}");
            assert!(!format!("{credential:?}").contains("abc"), "it is not logged");
        }
        assert!(credential(&headers(&[])).unwrap().is_none());
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
            assert_eq!(credential(&headers(pairs)).err(), Some(denied), "{pairs:?}");
        }
    }
}
