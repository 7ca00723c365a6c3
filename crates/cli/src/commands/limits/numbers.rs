//! The numbers of a limit that an operator sets.

use clap::Args;
use rota_client::{NewRateLimit, Rate, Setting};

use crate::Failure;
use crate::commands::job_options::duration_ms;
use crate::commands::rate::iso8601;
use crate::commands::setting::{count, rate};

#[derive(Debug, Args)]
pub(crate) struct Numbers {
    /// So many jobs run at once; 0 holds all of them, none takes the number away
    #[arg(long, value_name = "N", value_parser = count)]
    concurrency: Option<Setting<u64>>,

    /// So many start in a time, such as 100/1m
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    rate: Option<Setting<Rate>>,

    /// The same, spread evenly over the time, such as 10/1s
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    throttle: Option<Setting<Rate>>,

    /// How long it replaces all other numbers of the key, such as 1h. Unless told it holds beside them,
    /// until it is cleared
    #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
    lasts: Option<String>,

    /// Why; shown with the limit
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Numbers {
    /// None if no option was given.
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
    match duration_ms(text)? {
        0 => Err("it must be longer than 0".to_owned()),
        _ => iso8601(text),
    }
}
