//! How the settings of authentication depend on each other.

use std::net::IpAddr;

use crate::choices::AuthMode;
use crate::declared::{Auth, Settings};
use crate::error::Problem;
use crate::kind::JwksSource;
use crate::resolve::Reader;

impl Auth {
    #[must_use]
    pub fn has(&self, mode: AuthMode) -> bool {
        self.modes.contains(&mode)
    }

    /// Whether the key set of tokens is read over https.
    fn has_secure_key_set(&self) -> bool {
        matches!(&self.jwt_jwks, Some(JwksSource::Url(url)) if url.starts_with("https:"))
    }

    /// Whether keys of tokens come from another machine without encryption.
    fn has_exposed_key_set(&self) -> bool {
        let Some(JwksSource::Url(url)) = &self.jwt_jwks else { return false };
        let Some(rest) = url.strip_prefix("http://") else { return false };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let host = match authority.strip_prefix('[') {
            Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        let is_here = host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback());
        !is_here
    }

    /// Whether callers have to prove who they are.
    #[must_use]
    pub fn is_required(&self) -> bool {
        !self.has(AuthMode::None)
    }
}

impl Settings {
    /// The first pair of settings of authentication that do not go together.
    pub(crate) fn auth_contradiction(&self, reader: &Reader) -> Option<Problem> {
        let auth = &self.auth;
        let jwt_needs = |key: &str, advice| self.conflict(reader, "auth.modes", key, advice);
        if auth.has(AuthMode::None) && auth.modes.len() > 1 {
            let advice = "leave none out: with it, nobody has to prove anything";
            return self.conflict(reader, "auth.modes", "auth.modes", advice);
        }
        if !auth.has(AuthMode::Keys) && auth.bootstrap_key_file.is_some() {
            let advice = "add keys to auth.modes";
            return jwt_needs("auth.bootstrap_key_file", advice);
        }
        if auth.jwt_jwks_ca.is_some() && !auth.has_secure_key_set() {
            let advice = "auth.jwt_jwks_ca is for a key set with an https URL";
            return self.conflict(reader, "auth.jwt_jwks", "auth.jwt_jwks_ca", advice);
        }
        if auth.has_exposed_key_set() && !self.insecure {
            let advice =
                "whoever is between here and there could hand out keys: use https, or a file";
            return self.conflict(reader, "insecure", "auth.jwt_jwks", advice);
        }
        let has_keys = auth.jwt_secret_file.is_some()
            || auth.jwt_key_file.is_some()
            || auth.jwt_jwks.is_some();
        match auth.has(AuthMode::Jwt) {
            false if has_keys => jwt_needs(self.given_jwt_key(), "add jwt to auth.modes"),
            false => None,
            true if !has_keys => {
                let advice = "give the keys of tokens with auth.jwt_jwks, auth.jwt_key_file or \
                              auth.jwt_secret_file";
                jwt_needs("auth.jwt_jwks", advice)
            }
            true if auth.jwt_issuer.is_none() => {
                jwt_needs("auth.jwt_issuer", "set the issuer whose tokens are accepted")
            }
            true if auth.jwt_audience.is_none() => {
                jwt_needs("auth.jwt_audience", "set the audience that tokens for this server have")
            }
            true => None,
        }
    }

    fn given_jwt_key(&self) -> &'static str {
        match (&self.auth.jwt_jwks, &self.auth.jwt_key_file) {
            (Some(_), _) => "auth.jwt_jwks",
            (None, Some(_)) => "auth.jwt_key_file",
            (None, None) => "auth.jwt_secret_file",
        }
    }

    fn conflict(
        &self,
        reader: &Reader,
        one: &str,
        other: &str,
        advice: &'static str,
    ) -> Option<Problem> {
        let (one, other) = (reader.chosen(one)?.clone(), reader.chosen(other)?.clone());
        Some(Problem::Contradiction { one, other, advice })
    }
}
