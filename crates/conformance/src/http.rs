//! A minimal HTTP client for the cases.

use std::time::Duration;

use serde_json::Value;
use ureq::{
    Agent,
    http::{self, HeaderMap, Method},
};

/// Longer than any wait that a server may answer with.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(70);
/// A connection that rested longer is not used again: the server may be closing it by then.
const CONNECTION_REST: Duration = Duration::from_secs(1);
const MEDIA_TYPE: &str = "application/openjobspec+json";

#[derive(Debug, Clone)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// The body as JSON; null when there is none or it is something else.
    pub json: Value,
}

#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    base: String,
}

impl Client {
    pub fn new(base: &str) -> Client {
        Client::with_timeout(base, REQUEST_TIMEOUT)
    }

    pub fn with_timeout(base: &str, timeout: Duration) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_age(CONNECTION_REST)
            .timeout_global(Some(timeout))
            .build();
        Client { agent: config.into(), base: base.trim_end_matches('/').into() }
    }

    pub fn send(&self, request: &Request) -> Result<Response, String> {
        let mut builder = http::Request::builder()
            .method(&request.method)
            .uri(format!("{}{}", self.base, request.path));
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        let mut answer = match request.carried() {
            Some(body) => {
                if !request
                    .headers
                    .iter()
                    .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
                {
                    builder = builder.header("Content-Type", MEDIA_TYPE);
                }
                self.agent.run(builder.body(body).map_err(explain)?)
            }
            None => self.agent.run(builder.body(()).map_err(explain)?),
        }
        .map_err(explain)?;
        let text = answer.body_mut().read_to_string().map_err(explain)?;
        Ok(Response {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            json: serde_json::from_str(&text).unwrap_or_default(),
            text,
        })
    }
}

impl Request {
    pub fn get(path: &str) -> Request {
        Request { method: Method::GET, path: path.into(), headers: Vec::new(), body: None }
    }

    /// Methods that carry a body get an empty one, so that its length is told.
    fn carried(&self) -> Option<String> {
        let carries = [Method::POST, Method::PUT, Method::PATCH].contains(&self.method);
        self.body.clone().or_else(|| carries.then(String::new))
    }
}

impl Response {
    /// All values of a header, joined as HTTP joins them.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<_> = self
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    #[cfg(test)]
    pub fn of_json(status: u16, json: Value) -> Response {
        Response { status, headers: HeaderMap::new(), text: json.to_string(), json }
    }
}

fn explain(error: impl std::fmt::Display) -> String {
    error.to_string()
}
