//! Typed parameters from paths and query strings.

use axum::extract::{FromRequestParts, Query, RawPathParams};
use axum::http::Uri;
use axum::http::request::Parts;
use rota_model::{CronName, JobId, Millis, QueueName, TenantId, WorkerId, nearest};

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
    /// A name that came in another way than in the path.
    pub fn given(name: &str) -> Self {
        Self(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A malformed id is answered with `not_found`, since no job has it.
    pub fn job(&self) -> Result<JobId, ApiError> {
        JobId::parse(&self.0).map_err(|_| ApiError::not_found("job", &self.0))
    }

    pub fn queue(&self) -> Result<QueueName, ApiError> {
        QueueName::parse(&self.0).map_err(|error| {
            ApiError::invalid_request(format!("The queue's name {error}.")).detail("field", "queue")
        })
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

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl Params {
    pub fn parse(query: &str) -> Result<Self, ApiError> {
        let uri = Uri::builder().path_and_query(format!("/?{query}")).build();
        let pairs = uri.ok().and_then(|uri| Query::<Vec<_>>::try_from_uri(&uri).ok());
        let pairs = pairs.ok_or_else(|| {
            let error = ApiError::invalid_request("The query string cannot be parsed.");
            error.detail("query", query)
        });
        pairs.map(|Query(pairs)| Self(pairs))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// The value of a parameter, even an empty one.
    pub fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// An error if there is a parameter that is not in `known`, or one that is given twice.
    pub fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        for (i, (key, _)) in self.0.iter().enumerate() {
            if !known.contains(&&**key) {
                return Err(unknown_param(key, known));
            }
            if self.0[..i].iter().any(|(earlier, _)| earlier == key) {
                return Err(ApiError::invalid_request(format!("'{key}' is given twice."))
                    .detail("field", key.as_str())
                    .hint("Give it once; lists are separated by commas."));
            }
        }
        Ok(())
    }

    /// The value of a parameter that has several names, and the name that was used. Different values
    /// are an error.
    pub fn one_of<'n>(&self, names: &[&'n str]) -> Result<Option<(&'n str, &str)>, ApiError> {
        let mut given = names.iter().filter_map(|name| Some((*name, self.get(name)?)));
        let Some((name, value)) = given.next() else { return Ok(None) };
        match given.find(|(_, other)| *other != value) {
            None => Ok(Some((name, value))),
            Some((other, _)) => Err(ApiError::invalid_request(format!(
                "'{name}' and '{other}' mean the same, but their values differ."
            ))
            .detail("field", other)
            .hint(format!("Give '{name}' only."))),
        }
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

    /// The length of a page: `per_page` or `limit`.
    pub fn page_size(&self, default: u64, max: u64) -> Result<u64, ApiError> {
        match self.one_of(&["per_page", "limit"])? {
            Some((name, _)) => self.number(name, 1, max, default),
            None => Ok(default),
        }
    }

    /// How many entries come before the page: by `page`, or by `offset`.
    pub fn skipped(&self, page_size: u64) -> Result<u64, ApiError> {
        if self.get("page").is_some() && self.get("offset").is_some() {
            let text = "'page' and 'offset' cannot be used together.";
            return Err(ApiError::invalid_request(text).detail("field", "offset"));
        }
        let page = self.number("page", 1, u64::MAX, 1)?;
        let offset = self.number("offset", 0, u64::MAX, 0)?;
        Ok((page - 1).saturating_mul(page_size).saturating_add(offset))
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

    /// A comma-separated list.
    pub fn list(&self, name: &str) -> Vec<String> {
        let parts = self.get(name).unwrap_or_default().split(',');
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
        let Some((name, text)) = self.one_of(&["tenant", "tenant_id"])? else { return Ok(None) };
        let parsed = TenantId::parse(text).map(Some);
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

fn unknown_param(name: &str, known: &[&str]) -> ApiError {
    let nearest = nearest(name, known.iter().copied());
    let hint = match (known, nearest) {
        ([], _) => "It has no parameters.".to_owned(),
        (_, None) => format!("Its parameters are: {}.", known.join(", ")),
        (_, Some(nearest)) => {
            format!("Did you mean '{nearest}'? Its parameters are: {}.", known.join(", "))
        }
    };
    let text = format!("'{}' is not a parameter of this request.", excerpt(name));
    let error = ApiError::invalid_request(text).hint(hint).detail("field", name);
    let error = error.detail("known", serde_json::json!(known));
    match nearest {
        Some(nearest) => error.detail("nearest", nearest),
        None => error,
    }
}
