//! Filters that select jobs.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use rota_client::JobFilter;

use crate::commands::job_options::duration_ms;

#[derive(Debug, Default, Clone, PartialEq, Args)]
pub(crate) struct FilterArgs {
    /// Jobs of this queue
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,

    /// Jobs of this type; `email.*` matches a prefix
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,

    /// Jobs created since: a time, or how long ago, such as 2h
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    pub since: Option<String>,

    /// Jobs created before: a time, or how long ago
    #[arg(long, value_name = "TIME", value_parser = time_or_ago)]
    pub until: Option<String>,
}

#[derive(Debug, Default, Clone, PartialEq, Args)]
pub(crate) struct StateArgs {
    /// Jobs in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    pub state: Option<String>,
}

const STATES: [&str; 8] = [
    "pending",
    "scheduled",
    "available",
    "active",
    "retryable",
    "completed",
    "cancelled",
    "discarded",
];

impl FilterArgs {
    pub fn filter(&self, state: &StateArgs) -> JobFilter {
        JobFilter {
            queue: self.queue.clone(),
            state: state.state.clone(),
            kind: self.kind.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            oldest_first: false,
        }
    }
}

/// Returns a time unchanged, and a duration as the time that long ago.
pub(crate) fn time_or_ago(text: &str) -> Result<String, String> {
    if text.parse::<Timestamp>().is_ok() {
        return Ok(text.to_owned());
    }
    let expected = || "a time such as 2027-01-01T06:00:00Z, or how long ago, such as 2h".to_owned();
    let ms = duration_ms(text).map_err(|_| expected())?;
    let ago = SignedDuration::from_millis(i64::try_from(ms).map_err(|_| expected())?);
    let time = Timestamp::now().checked_sub(ago).map_err(|_| expected())?;
    Ok(time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_back_from_now() {
        let time: Timestamp = time_or_ago("2h").unwrap().parse().unwrap();
        let ago = Timestamp::now().as_second() - time.as_second();
        assert!((7_200..7_300).contains(&ago), "{ago}");
        assert_eq!(time_or_ago("2027-01-01T06:00:00Z").unwrap(), "2027-01-01T06:00:00Z");
        assert!(time_or_ago("yesterday").is_err());
    }
}
