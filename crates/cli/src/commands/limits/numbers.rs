//! Options for the numbers of a rate limit.

use clap::Args;
use rota_client::{NewRateLimit, Rate, Setting};

use crate::Failure;
use crate::commands::job_options::longer_than_0;
use crate::commands::rate::iso8601;
use crate::commands::setting::{count, rate};

#[derive(Debug, Args)]
pub(crate) struct Numbers {
    /// Maximum active jobs; 0 stops the key, none removes the limit
    #[arg(long, value_name = "N", value_parser = count)]
    concurrency: Option<Setting<u64>>,

    /// Maximum starts in a period, such as 100/1m
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    rate: Option<Setting<Rate>>,

    /// The same, evenly spaced, such as 10/1s
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    throttle: Option<Setting<Rate>>,

    /// How long this overrides all other numbers of the key, such as 1h. Without it, the numbers are
    /// declared: they replace those of the jobs until cleared
    #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
    lasts: Option<String>,

    /// The reason, shown with the limit
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Numbers {
    /// Returns `None` if no option was given.
    pub fn given(self) -> Result<Option<NewRateLimit>, Failure> {
        let nothing = [
            self.concurrency.is_none(),
            self.rate.is_none(),
            self.throttle.is_none(),
            self.lasts.is_none(),
            self.reason.is_none(),
        ];
        if nothing == [true; 5] { Ok(None) } else { self.required().map(Some) }
    }

    pub fn required(self) -> Result<NewRateLimit, Failure> {
        if self.concurrency.is_none() && self.rate.is_none() && self.throttle.is_none() {
            return Err(Failure::usage("no limit is given")
                .hint("Say --concurrency N, --rate N/TIME or --throttle N/TIME."));
        }
        Ok(NewRateLimit {
            concurrency: self.concurrency,
            rate: self.rate,
            throttle: self.throttle,
            expires_in: self.lasts,
            paused_until: None,
            reason: self.reason,
        })
    }
}

fn some_time(text: &str) -> Result<String, String> {
    longer_than_0(text)?;
    iso8601(text)
}
