//! The claims of a token: who it is for, how long, and what it allows.

use std::sync::Arc;

use rota_model::{JobType, Millis, QueueName, TenantId};
use serde_json::{Map, Value};

use super::TokenProblem;
use crate::{Identity, Method, Permission, Permissions};

/// The most queues, or job types, in a token.
const MAX_NAMES: usize = 100;
const MAX_SUBJECT_CHARS: usize = 200;

/// What the claims of a token must be.
#[derive(Debug, Clone)]
pub struct TokenRules {
    pub issuer: String,
    pub audience: String,
    /// How far clocks may differ, in milliseconds.
    pub leeway_ms: i64,
    pub max_lifetime_ms: i64,
    pub tenant_claims: Vec<String>,
    pub scope_claims: Vec<String>,
    /// What an empty tenant means; `None` if it is refused.
    pub empty_tenant: Option<TenantId>,
}

impl TokenRules {
    /// Who the holder of a token with these claims is. The signature must have been checked.
    pub fn identity(
        &self,
        claims: &Map<String, Value>,
        now: Millis,
    ) -> Result<Identity, TokenProblem> {
        let expires = self.check_times(claims, now)?;
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return Err(TokenProblem::Issuer);
        }
        if !self.is_for_us(claims.get("aud")) {
            return Err(TokenProblem::Audience);
        }
        let permissions = self.permissions(claims)?;
        let tenant = self.tenant(claims)?;
        let permissions = match (&tenant, permissions.allow(Permission::Server)) {
            (None, false) => return Err(TokenProblem::NoTenant),
            (None, true) => permissions,
            // A token of a tenant is not an operator's.
            (Some(_), _) => permissions.iter().filter(|one| *one != Permission::Server).collect(),
        };
        if tenant.is_none() && ["queues", "job_types"].iter().any(|list| claims.contains_key(*list))
        {
            return Err(TokenProblem::Claim("queues"));
        }
        Ok(Identity {
            method: Method::Token,
            subject: subject(claims)?,
            tenant,
            permissions,
            queues: names(claims, "queues", |text| QueueName::parse(text).ok())?,
            job_types: names(claims, "job_types", |text| JobType::parse(text).ok())?,
            expires: Some(expires),
        })
    }

    /// Returns when the token is no longer accepted.
    fn check_times(
        &self,
        claims: &Map<String, Value>,
        now: Millis,
    ) -> Result<Millis, TokenProblem> {
        let expires = time(claims, "exp")?.ok_or(TokenProblem::Claim("exp"))?;
        let (begins, issued) = (time(claims, "nbf")?, time(claims, "iat")?);
        let end = expires.saturating_add_ms(self.leeway_ms);
        if end <= now {
            return Err(TokenProblem::Expired);
        }
        let latest = now.saturating_add_ms(self.leeway_ms);
        if begins.is_some_and(|at| at > latest) || issued.is_some_and(|at| at > latest) {
            return Err(TokenProblem::NotYetValid);
        }
        // Without the time of issue, at least what is left of it is known.
        let lifetime = expires.since(issued.unwrap_or(latest));
        if lifetime > self.max_lifetime_ms {
            return Err(TokenProblem::TooLong);
        }
        Ok(end)
    }

    fn is_for_us(&self, audience: Option<&Value>) -> bool {
        match audience {
            Some(Value::String(one)) => *one == self.audience,
            Some(Value::Array(several)) => {
                several.iter().any(|one| one.as_str() == Some(&self.audience))
            }
            _ => false,
        }
    }

    /// Scopes that mean nothing here are for other services.
    fn permissions(&self, claims: &Map<String, Value>) -> Result<Permissions, TokenProblem> {
        let mut permissions = Permissions::NONE;
        for claim in self.scope_claims.iter().filter_map(|name| claims.get(name)) {
            let names: Vec<&str> = match claim {
                Value::String(text) => text.split_whitespace().collect(),
                Value::Array(names) => {
                    let texts = names.iter().map(Value::as_str).collect::<Option<_>>();
                    texts.ok_or(TokenProblem::Claim("scope"))?
                }
                _ => return Err(TokenProblem::Claim("scope")),
            };
            let known = names.into_iter().filter_map(|name| Permissions::parse([name]).ok());
            permissions = known.fold(permissions, Permissions::with);
        }
        Ok(permissions)
    }

    fn tenant(&self, claims: &Map<String, Value>) -> Result<Option<TenantId>, TokenProblem> {
        let mut found: Option<TenantId> = None;
        for claim in self.tenant_claims.iter().filter_map(|name| claims.get(name)) {
            let text = claim.as_str().ok_or(TokenProblem::Tenant)?;
            let tenant = match (text, &self.empty_tenant) {
                ("", Some(default)) => default.clone(),
                ("", None) => return Err(TokenProblem::Tenant),
                // The default tenant's own name is not for tokens to use.
                (text, _) => parse_tenant(text).ok_or(TokenProblem::Tenant)?,
            };
            if found.as_ref().is_some_and(|first| *first != tenant) {
                return Err(TokenProblem::Tenant);
            }
            found = Some(tenant);
        }
        Ok(found)
    }
}

fn parse_tenant(text: &str) -> Option<TenantId> {
    TenantId::parse(text).ok().filter(|tenant| *tenant != TenantId::default_tenant())
}

/// A time in seconds. Texts are refused: a parser that skips them would take the token for one without
/// an end.
fn time(claims: &Map<String, Value>, name: &'static str) -> Result<Option<Millis>, TokenProblem> {
    /// The year 9999, in seconds.
    const LATEST: f64 = 253_402_300_799.0;
    match claims.get(name) {
        None => Ok(None),
        Some(Value::Number(seconds)) => match seconds.as_f64() {
            Some(seconds) if (0.0..=LATEST).contains(&seconds) => {
                Ok(Some(Millis((seconds * 1000.0) as i64)))
            }
            _ => Err(TokenProblem::Claim(name)),
        },
        Some(_) => Err(TokenProblem::Claim(name)),
    }
}

fn subject(claims: &Map<String, Value>) -> Result<Arc<str>, TokenProblem> {
    let wrong = TokenProblem::Claim("sub");
    match claims.get("sub") {
        None => Ok("token".into()),
        Some(Value::String(text)) => {
            let is_short = text.chars().count() <= MAX_SUBJECT_CHARS && !text.is_empty();
            let is_plain = !text.chars().any(char::is_control);
            if is_short && is_plain { Ok(text.as_str().into()) } else { Err(wrong) }
        }
        Some(_) => Err(wrong),
    }
}

fn names<T>(
    claims: &Map<String, Value>,
    claim: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<Arc<[T]>>, TokenProblem> {
    match claims.get(claim) {
        None => Ok(None),
        Some(Value::Array(list)) if list.len() <= MAX_NAMES => {
            let names = list.iter().map(|name| parse(name.as_str()?)).collect::<Option<Arc<[T]>>>();
            names.map(Some).ok_or(TokenProblem::Claim(claim))
        }
        Some(_) => Err(TokenProblem::Claim(claim)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Millis = Millis(1_770_000_000_000);
    const SECONDS: i64 = 1_770_000_000;

    fn rules() -> TokenRules {
        TokenRules {
            issuer: "https://id".into(),
            audience: "rota".into(),
            leeway_ms: 30_000,
            max_lifetime_ms: 3_600_000,
            tenant_claims: vec!["tenantId".into(), "tenant_id".into()],
            scope_claims: vec!["scope".into(), "scopes".into()],
            empty_tenant: None,
        }
    }

    /// The outcome for good claims with these changes; null removes a claim.
    fn with(changes: Value) -> Result<Identity, TokenProblem> {
        let claims = json!({
            "iss": "https://id", "aud": "rota", "sub": "svc-orders", "exp": SECONDS + 600,
            "iat": SECONDS - 60, "tenantId": "acme", "scope": "enqueue openid",
        });
        let mut claims = claims.as_object().unwrap().clone();
        for (name, value) in changes.as_object().unwrap() {
            if value.is_null() {
                claims.remove(name);
            } else {
                claims.insert(name.clone(), value.clone());
            }
        }
        rules().identity(&claims, NOW)
    }

    #[test]
    fn claims_say_who_it_is_and_what_is_allowed() {
        let identity = with(json!({"queues": ["mail"], "job_types": ["email.send"]})).unwrap();
        assert_eq!((&*identity.subject, identity.tenant.as_deref()), ("svc-orders", Some("acme")));
        assert_eq!(identity.permissions.to_string(), "enqueue");
        assert_eq!(identity.queues.unwrap()[0].to_string(), "mail");
        assert_eq!(identity.expires, Some(Millis(NOW.0 + 630_000)));
        let listed = with(json!({"scope": null, "scopes": ["inspect", "x"], "aud": ["a", "rota"]}));
        assert_eq!(listed.unwrap().permissions.to_string(), "inspect");
    }

    #[test]
    fn times_are_checked_with_leeway() {
        let at = |changes| with(changes).map(|_| ());
        assert_eq!(at(json!({"exp": SECONDS - 29})), Ok(()));
        assert_eq!(at(json!({"exp": SECONDS - 30})), Err(TokenProblem::Expired));
        assert_eq!(at(json!({"nbf": SECONDS + 30})), Ok(()));
        assert_eq!(at(json!({"nbf": SECONDS + 31})), Err(TokenProblem::NotYetValid));
        assert_eq!(at(json!({"iat": SECONDS + 31})), Err(TokenProblem::NotYetValid));
        assert_eq!(at(json!({"iat": SECONDS, "exp": SECONDS + 3_600})), Ok(()));
        assert_eq!(at(json!({"iat": SECONDS, "exp": SECONDS + 3_601})), Err(TokenProblem::TooLong));
        assert_eq!(at(json!({"iat": null, "exp": SECONDS + 3_631})), Err(TokenProblem::TooLong));
        assert_eq!(at(json!({"exp": SECONDS as f64 + 0.5})), Ok(()));
    }

    #[test]
    fn times_of_a_wrong_type_are_refused() {
        for claim in ["exp", "nbf", "iat"] {
            for value in [
                json!((SECONDS + 60).to_string()),
                json!("2999-01-01T00:00:00Z"),
                json!(true),
                json!([SECONDS]),
                json!(-1),
                json!(1e300),
            ] {
                let problem = with(json!({claim: value})).unwrap_err();
                assert!(matches!(problem, TokenProblem::Claim(name) if name == claim), "{value}");
            }
        }
        assert_eq!(with(json!({"exp": null})).unwrap_err(), TokenProblem::Claim("exp"));
    }

    #[test]
    fn issuer_and_audience_must_be_there_and_right() {
        for value in [json!(null), json!("https://other"), json!(["https://id"]), json!(1)] {
            assert_eq!(with(json!({"iss": value})).unwrap_err(), TokenProblem::Issuer);
        }
        for value in [json!(null), json!("other"), json!(["other"]), json!({"rota": 1})] {
            assert_eq!(with(json!({"aud": value})).unwrap_err(), TokenProblem::Audience);
        }
    }

    #[test]
    fn a_token_has_one_valid_tenant_or_is_an_operators() {
        let tenant =
            |changes| with(changes).map(|identity| identity.tenant.map(|id| id.to_string()));
        assert_eq!(tenant(json!({"tenantId": null})), Err(TokenProblem::NoTenant));
        assert_eq!(tenant(json!({"tenantId": null, "scope": "server"})), Ok(None));
        assert_eq!(tenant(json!({"tenantId": null, "tenant_id": "b"})), Ok(Some("b".into())));
        assert_eq!(tenant(json!({"tenant_id": "acme"})), Ok(Some("acme".into())));
        for value in
            [json!("other"), json!(""), json!("a/b"), json!("a b"), json!(7), json!("_default")]
        {
            assert_eq!(tenant(json!({"tenant_id": value})), Err(TokenProblem::Tenant), "{value}");
        }
        // A tenant's token does not become an operator's by its scope.
        let identity = with(json!({"scope": "server inspect"})).unwrap();
        assert_eq!(identity.permissions.to_string(), "inspect");
    }

    #[test]
    fn an_empty_tenant_is_the_default_only_where_that_is_set() {
        let claims = json!({
            "iss": "https://id", "aud": "rota", "exp": SECONDS + 60, "tenantId": "", "scope": "enqueue",
        });
        let claims = claims.as_object().unwrap();
        assert_eq!(rules().identity(claims, NOW).unwrap_err(), TokenProblem::Tenant);
        let lenient = TokenRules { empty_tenant: Some(TenantId::default_tenant()), ..rules() };
        let identity = lenient.identity(claims, NOW).unwrap();
        assert_eq!(identity.tenant, Some(TenantId::default_tenant()));
    }

    #[test]
    fn lists_and_subjects_of_a_wrong_type_are_refused() {
        for changes in [
            json!({"queues": "mail"}),
            json!({"queues": ["a b"]}),
            json!({"queues": vec!["q"; 101]}),
            json!({"job_types": [1]}),
            json!({"tenantId": null, "scope": "server", "queues": ["mail"]}),
            json!({"scope": 1}),
            json!({"scope": [1]}),
            json!({"sub": 1}),
            json!({"sub": "a\nb"}),
        ] {
            assert!(matches!(with(changes.clone()), Err(TokenProblem::Claim(_))), "{changes}");
        }
    }
}
