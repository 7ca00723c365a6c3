//! The result of one check.

use serde::Serialize;

/// What one check found, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    Warning,
    Problem,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

impl Finding {
    pub fn ok(check: &'static str, what: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, what: what.into(), advice: None }
    }

    pub fn warning(
        check: &'static str,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { check, level: Level::Warning, what: what.into(), advice: Some(advice.into()) }
    }

    pub fn problem(
        check: &'static str,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { check, level: Level::Problem, what: what.into(), advice: Some(advice.into()) }
    }
}
