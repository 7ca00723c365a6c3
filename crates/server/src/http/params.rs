//! Typed parameters from paths and query strings.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use rota_model::{CronName, JobId, Millis, QueueName, TenantId, WorkerId};

use super::error::{ApiError, excerpt};

/// The `{...}` of a path, decoded. No route has more than one.
pub(super) struct PathName(String);

impl<S: Send + Sync> FromRequestParts<S> for PathName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let name = params.ok().and_then(|p| p.iter().next().map(|(_, value)| value.to_owned()));
        name.map(Self).ok_or_else(|| ApiError::not_found("resource", parts.uri.path()))
    }
}

impl PathName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A malformed id is answered with `not_found`, since no job has it.
    pub fn job(&self) -> Result<JobId, ApiError> {
        JobId::parse(&self.0).map_err(|_| ApiError::not_found("job", &self.0))
    }

    pub fn queue(&self) -> Result<QueueName, ApiError> {
        QueueName::parse(&self.0)
            .map_err(|error| ApiError::invalid_request(format!("The queue's name {error}.")))
    }

    pub fn cron(&self) -> Result<CronName, ApiError> {
        CronName::parse(&self.0).map_err(|_| ApiError::not_found("cron job", &self.0))
    }

    pub fn worker(&self) -> Result<WorkerId, ApiError> {
        WorkerId::parse(&self.0).map_err(|_| ApiError::not_found("worker", &self.0))
    }
}

/// The parameters of the query string.
pub(super) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::<Vec<(String, String)>>::from_request_parts(parts, state);
        match query.await {
            Ok(query) => Ok(Self(query.0)),
            Err(error) => Err(ApiError::invalid_request(format!(
                "The query string cannot be parsed: {error}."
            ))),
        }
    }
}

impl Params {
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// Refuses parameters that are not in `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        let unknown = self.0.iter().map(|(key, _)| key).find(|key| !known.contains(&&***key));
        unknown.map_or(Ok(()), |key| {
            let hint = match known {
                [] => "It has no parameters.".to_owned(),
                _ => format!("Its parameters are: {}.", known.join(", ")),
            };
            Err(ApiError::invalid_request(format!("'{key}' is not a parameter of this request."))
                .detail("field", key.as_str())
                .hint(hint))
        })
    }

    /// The cursor to continue from. Refused together with `page` or `offset`: both would apply, and skip
    /// entries.
    pub fn cursor(&self) -> Result<Option<&str>, ApiError> {
        let Some(cursor) = self.get("cursor") else { return Ok(None) };
        let other = ["page", "offset"].into_iter().find(|name| self.get(name).is_some());
        other.map_or(Ok(Some(cursor)), |name| {
            let text = format!("'cursor' and '{name}' cannot be used together.");
            Err(ApiError::invalid_request(text).detail("field", name))
        })
    }

    /// `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(ApiError::invalid_request(format!(
                "'{name}' is '{}'; it must be true or false.",
                excerpt(other)
            ))
            .detail("field", name)),
        }
    }

    /// A comma-separated list, also when the parameter is repeated.
    pub fn list(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(key, _)| key == name);
        let parts = values.flat_map(|(_, value)| value.split(','));
        parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// A whole number of at least `min`. Values above `max` are reduced to `max`.
    pub fn number(&self, name: &str, min: u64, max: u64, default: u64) -> Result<u64, ApiError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            // A number too large for u64.
            Err(_) if digits => Ok(max),
            Ok(value) if value >= min => Ok(value.min(max)),
            _ => Err(ApiError::invalid_request(format!(
                "'{name}' is '{}'; it must be a whole number of at least {min}.",
                excerpt(text)
            ))
            .detail("field", name)),
        }
    }

    /// The tenant in `tenant` or `tenant_id`.
    pub fn tenant(&self) -> Result<Option<TenantId>, ApiError> {
        let Some(name) = ["tenant", "tenant_id"].into_iter().find(|name| self.get(name).is_some())
        else {
            return Ok(None);
        };
        let parsed = self.get(name).map(TenantId::parse).transpose();
        parsed
            .map_err(|e| ApiError::invalid_request(format!("'{name}' {e}.")).detail("field", name))
    }

    pub fn time(&self, name: &str) -> Result<Option<Millis>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        // A plus in a query string decodes to a space, but a time zone such as +02:00 is meant.
        let text = text.replace(' ', "+");
        Millis::parse_rfc3339(&text)
            .map(Some)
            .map_err(|e| ApiError::invalid_request(format!("'{name}' {e}.")).detail("field", name))
    }
}
