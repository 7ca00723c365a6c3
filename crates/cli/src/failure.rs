//! Failures of a command: the message and the exit code.

use rota_client::{Error, Refusal};
use serde_json::{Map, Value, json};

use crate::hints::in_commands;
use crate::output::{paragraph, plural};

/// A failure here or in the server.
const FAILED: u8 = 1;
/// A mistake in the command.
const USAGE: u8 = 2;
/// No server, or not a job server.
const UNREACHABLE: u8 = 3;
/// No such job, queue, worker or schedule.
const MISSING: u8 = 4;
/// The server rejected the request.
const REFUSED: u8 = 5;

/// How the server's hint begins if it knows none but its documentation of requests.
const FOR_PROGRAMS: &str = "See docs/http.md";
/// How the server's hints refer to the time to wait.
const WAIT: &str = "after the time in Retry-After";

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    pub code: u8,
    /// For programs, in addition to the message.
    details: Map<String, Value>,
}

impl Failure {
    /// A general failure.
    pub fn error(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, code: FAILED, details: Map::new() }
    }

    /// A mistake in the command.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, ..Self::error(message) }
    }

    /// No server, or not a job server.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self { code: UNREACHABLE, ..Self::error(message) }
    }

    /// List filters were given together with a subcommand other than the list.
    pub fn misplaced_filters(example: &str) -> Self {
        Self::usage("filters stand behind the subcommand").hint(format!("Such as: {example}"))
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Several failures; keeps their exit code if they all share one.
    pub fn several(message: String, failures: &[(String, Self)]) -> Self {
        let lines: Vec<String> = failures
            .iter()
            .map(|(name, failure)| format!("  {name}: {}", failure.message))
            .collect();
        let each = failures.iter().map(|(name, failure)| {
            let mut shown = failure.json()["error"].take();
            shown["id"] = json!(name);
            shown
        });
        let first = failures.first().map_or(FAILED, |(_, failure)| failure.code);
        let same = failures.iter().all(|(_, failure)| failure.code == first);
        let mut several = Self::error(format!("{message}\n{}", lines.join("\n")))
            .detail("failures", each.collect::<Vec<_>>());
        several.code = if same { first } else { FAILED };
        several
    }

    /// Prints to standard error, for people or for programs.
    pub fn say(&self, as_json: bool) {
        use std::io::{IsTerminal, Write};
        let mut text = match as_json {
            true => self.json().to_string(),
            false => format!("rota: {}", self.message),
        };
        if let (false, Some(hint)) = (as_json, &self.hint) {
            text.push('\n');
            text.push_str(hint);
        }
        if !as_json && std::io::stderr().is_terminal() {
            text = text.lines().map(paragraph).collect::<Vec<_>>().join("\n");
        }
        // Nothing can be done if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    fn json(&self) -> Value {
        let mut error = json!({
            "message": self.message, "hint": self.hint, "exit_code": self.code,
        });
        if let Value::Object(members) = &mut error {
            members.extend(self.details.clone());
        }
        json!({"error": error})
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::BadUrl { .. }
            | Error::BadTenant { .. }
            | Error::BadJob { .. }
            | Error::BadCredentials { .. } => USAGE,
            Error::Unreachable { .. }
            | Error::Tls { .. }
            | Error::Interrupted { .. }
            | Error::Timeout { .. }
            | Error::NotOjs { .. } => UNREACHABLE,
            Error::Refused(refusal) => return refused(refusal),
        };
        let hint = match &error {
            Error::Unreachable { .. } => {
                Some("Start one with `rota serve`, or say where it is with --url or ROTA_URL.".into())
            }
            Error::NotOjs { .. } => Some(
                "Check host, port and path in --url or ROTA_URL: they must be those of a job server."
                    .into(),
            ),
            Error::Tls { .. } => Some(
                "Check --url, the authority in --ca-file or ROTA_CA_FILE, and the certificate in --client-cert \
                 or ROTA_CLIENT_CERT."
                    .into(),
            ),
            _ => error.hint(),
        };
        Self { message: error.to_string(), hint, code, details: Map::new() }
    }
}

fn refused(refusal: &Refusal) -> Failure {
    let no_path = refusal.details.get("resource_type").is_some_and(|what| what == "path");
    let code = match refusal.status {
        404 if no_path => UNREACHABLE,
        404 => MISSING,
        400..=499 => REFUSED,
        _ => FAILED,
    };
    let hint = refusal.hint.as_deref().filter(|hint| !hint.starts_with(FOR_PROGRAMS));
    let hint = in_our_words(refusal).or_else(|| hint.map(in_commands));
    let hint = match refusal.retry_after {
        Some(seconds) => Some(with_the_time(hint, seconds)),
        None => hint,
    };
    let failure =
        Failure { message: in_commands(&refusal.message), hint, code, details: Map::new() };
    let failure = failure
        .detail("code", refusal.code.clone())
        .detail("status", refusal.status)
        .detail("details", refusal.details.clone());
    match refusal.retry_after {
        Some(seconds) => failure.detail("retry_after", seconds),
        None => failure,
    }
}

/// Names the time to wait, if the server's hint refers to a header.
fn with_the_time(hint: Option<String>, seconds: u64) -> String {
    let time = plural(seconds, "second", "seconds");
    match hint {
        Some(hint) if hint.contains(WAIT) => hint.replace(WAIT, &format!("after {time}")),
        Some(hint) => format!("{hint} Try again after {time}."),
        None => format!("Try again after {time}."),
    }
}

/// Rewrites the server's hint for the command line, which has no headers.
fn in_our_words(refusal: &Refusal) -> Option<String> {
    let header = refusal.details.get("field").is_some_and(|field| field == "X-OJS-Tenant");
    let path = refusal.details.get("resource_type").is_some_and(|what| what == "path");
    let hint = match &*refusal.code {
        _ if path => {
            "The server does not know this request. Check --url, and whether the server is as new as \
             this command: `rota health` shows its version."
        }
        "forbidden" => "Leave --tenant and ROTA_TENANT out to act as the operator.",
        _ if header => "Say for which tenant with --tenant ID or ROTA_TENANT.",
        _ => return None,
    };
    Some(hint.to_owned())
}
