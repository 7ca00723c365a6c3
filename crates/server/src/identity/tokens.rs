//! Verifies tokens, remembers those that were verified, and keeps their keys up to date.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rota_identity::Identity;
use rota_identity::token::{Refresh, RefreshDecision, TokenParts, TokenProblem, TokenRules};
use rota_model::Millis;
use rota_settings::{AuthMode, JwksSource, Settings};
use tokio::sync::watch;

use super::key_source::{self, KeySourceError, read_file};
use super::token_keys::{TokenKeys, TokenKeysError};
use super::verified_tokens::VerifiedTokens;

/// How often it is checked whether the key set is due to be read again.
const TICK: Duration = Duration::from_secs(1);

/// Checks tokens by the settings `auth.jwt_*`.
pub struct TokenVerifier {
    rules: TokenRules,
    keys: RwLock<Arc<TokenKeys>>,
    /// Keys that do not change while the server runs.
    fixed: TokenKeys,
    source: Option<JwksSource>,
    /// The authorities of an https source.
    authorities: Option<PathBuf>,
    refresh: Mutex<Refresh>,
    /// Counts the reads of the key set that have ended.
    reads: watch::Sender<u64>,
    verified: Mutex<VerifiedTokens>,
    started: Instant,
}

/// Why the keys of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenSetupError {
    #[error("{}: {setting} {cause}", path.display())]
    Keys { setting: &'static str, path: PathBuf, cause: TokenKeysError },
    #[error("{}: {setting} cannot be read: {cause}", path.display())]
    File { setting: &'static str, path: PathBuf, cause: std::io::Error },
    #[error("auth.jwt_jwks {0}")]
    KeySet(KeySourceError),
}

impl TokenVerifier {
    /// Reads the keys. A URL that does not answer is tried again later; a bad file is an error.
    pub async fn from_settings(settings: &Settings) -> Result<Option<Arc<Self>>, TokenSetupError> {
        let auth = &settings.auth;
        if !auth.has(AuthMode::Jwt) {
            return Ok(None);
        }
        let mut fixed = TokenKeys::default();
        if let Some(path) = &auth.jwt_secret_file {
            let parse = |text: &str| TokenKeys::from_secret(text.as_bytes());
            fixed.extend(keys_in("auth.jwt_secret_file", path, parse)?);
        }
        if let Some(path) = &auth.jwt_key_file {
            fixed.extend(keys_in("auth.jwt_key_file", path, TokenKeys::from_pem)?);
        }
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let rules = TokenRules {
            issuer: auth.jwt_issuer.clone().unwrap_or_default(),
            audience: auth.jwt_audience.clone().unwrap_or_default(),
            leeway_ms: ms(auth.jwt_leeway),
            max_lifetime_ms: ms(auth.jwt_max_lifetime),
            tenant_claims: auth.jwt_tenant_claims.clone(),
            scope_claims: auth.jwt_scope_claims.clone(),
            empty_tenant: auth
                .jwt_empty_tenant_is_default
                .then(|| settings.tenancy.default.clone()),
        };
        let verifier = Arc::new(Self {
            rules,
            keys: RwLock::new(Arc::new(fixed.clone())),
            fixed,
            source: auth.jwt_jwks.clone(),
            authorities: auth.jwt_jwks_ca.clone(),
            refresh: Mutex::new(Refresh::new(ms(auth.jwt_jwks_refresh) as u64)),
            reads: watch::Sender::new(0),
            verified: Mutex::new(VerifiedTokens::default()),
            started: Instant::now(),
        });
        if lock(&verifier.refresh).is_due(0) {
            let outcome = verifier.read().await;
            if let (Err(cause), Some(JwksSource::File(_))) = (outcome, &verifier.source) {
                return Err(TokenSetupError::KeySet(cause));
            }
        }
        Ok(Some(verifier))
    }

    /// Who the holder of a token is.
    pub async fn verify(
        self: &Arc<Self>,
        token: &str,
        now: Millis,
    ) -> Result<Arc<Identity>, TokenProblem> {
        let digest = VerifiedTokens::digest(token);
        if let Some(identity) = lock(&self.verified).get(&digest, now) {
            return Ok(identity);
        }
        let parts = TokenParts::split(token)?;
        let mut keys = self.keys();
        let mut checked = keys.verify(&parts);
        if checked == Err(TokenProblem::UnknownKey) && self.read_for_unknown_key().await {
            keys = self.keys();
            checked = keys.verify(&parts);
        }
        checked?;
        let identity = Arc::new(self.rules.identity(&parts.payload()?, now)?);
        let mut verified = lock(&self.verified);
        // The keys may have changed meanwhile, and this one may be gone.
        if Arc::ptr_eq(&keys, &self.keys()) {
            verified.insert(digest, identity.clone());
        }
        Ok(identity)
    }

    /// Changes whenever the key set was read, so that the key of a token may be gone.
    pub fn reads(&self) -> watch::Receiver<u64> {
        self.reads.subscribe()
    }

    /// Reads the key set again now and then. Never ends.
    pub async fn keep_keys_fresh(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            let is_due = lock(&self.refresh).is_due(self.uptime_ms());
            if is_due {
                let _ = self.read().await;
            }
        }
    }

    /// Has the key set read for a token with an unknown key. Returns whether it may have new keys.
    async fn read_for_unknown_key(self: &Arc<Self>) -> bool {
        if self.source.is_none() {
            return false;
        }
        let mut reads = self.reads.subscribe();
        let decision = lock(&self.refresh).unknown_key(self.uptime_ms());
        match decision {
            RefreshDecision::TooSoon => return false,
            RefreshDecision::Join => {}
            RefreshDecision::Start => {
                // As a task of its own: others wait for it, whatever becomes of this request.
                let verifier = self.clone();
                tokio::spawn(async move { verifier.read().await.is_ok() });
            }
        }
        reads.changed().await.is_ok()
    }

    /// Reads the key set. The last good one is kept if that fails.
    async fn read(&self) -> Result<(), KeySourceError> {
        let Some(source) = &self.source else { return Ok(()) };
        let outcome = key_source::read(source, self.authorities.as_deref()).await;
        let outcome = match outcome {
            Ok(mut keys) => {
                if keys.is_empty() {
                    tracing::warn!(
                        "the key set of tokens is empty; tokens signed with its keys are refused"
                    );
                }
                keys.extend(self.fixed.clone());
                let mut verified = lock(&self.verified);
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
                // Tokens that were signed with a key that is gone must not be accepted any longer.
                verified.clear();
                Ok(())
            }
            Err(cause) => {
                tracing::warn!(%cause, "the key set of tokens could not be read; the last good one is kept");
                Err(cause)
            }
        };
        lock(&self.refresh).ended();
        self.reads.send_modify(|reads| *reads += 1);
        outcome
    }

    fn keys(&self) -> Arc<TokenKeys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn uptime_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }
}

fn keys_in(
    setting: &'static str,
    path: &Path,
    parse: impl Fn(&str) -> Result<TokenKeys, TokenKeysError>,
) -> Result<TokenKeys, TokenSetupError> {
    let text = read_file(path).map_err(|cause| TokenSetupError::File {
        setting,
        path: path.to_owned(),
        cause,
    })?;
    parse(&text).map_err(|cause| TokenSetupError::Keys { setting, path: path.to_owned(), cause })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
