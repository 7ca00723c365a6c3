//! Cron expressions.

use std::fmt;

use super::calendar::Calendar;
use super::error::CronError;
use crate::duration;

const MAX_LENGTH: usize = 256;

/// Schedules are evaluated at most once a second.
const MIN_INTERVAL_MS: i64 = 1_000;

/// A valid cron expression.
///
/// Five fields (minute, hour, day of month, month, day of week), or six with seconds first; or one
/// of the aliases such as `@daily`; or `@every 1h30m`. When both day fields are restricted, a day
/// matches if either of them does (Vixie cron's rule); see `days.rs` for what counts as restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    source: Box<str>,
    pub(super) rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Calendar(Box<Calendar>),
    Every { interval_ms: i64 },
}

impl Expression {
    /// Parses an expression; surrounding blanks are ignored.
    pub fn parse(text: &str) -> Result<Expression, CronError> {
        if text.len() > MAX_LENGTH {
            return Err(CronError::TooLong { max: MAX_LENGTH });
        }
        let source = text.trim();
        let rule = if source.starts_with('@') {
            parse_special(source)?
        } else {
            Rule::Calendar(Box::new(Calendar::parse(source)?))
        };
        Ok(Expression { source: source.into(), rule })
    }

    /// The expression as it was given, without surrounding blanks.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether this is an `@every` expression, whose occurrences count from an anchor.
    pub fn is_interval(&self) -> bool {
        matches!(self.rule, Rule::Every { .. })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.source)
    }
}

fn parse_special(source: &str) -> Result<Rule, CronError> {
    let fields = match source {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return parse_every(source),
    };
    Ok(Rule::Calendar(Box::new(Calendar::parse(fields)?)))
}

fn parse_every(source: &str) -> Result<Rule, CronError> {
    let interval = match source.strip_prefix("@every") {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => rest.trim(),
        _ => return Err(CronError::UnknownAlias(source.to_owned())),
    };
    let interval_ms = duration::parse_human(interval).map_err(CronError::InvalidInterval)?;
    if interval_ms < MIN_INTERVAL_MS {
        return Err(CronError::IntervalTooShort(interval.to_owned()));
    }
    Ok(Rule::Every { interval_ms })
}
