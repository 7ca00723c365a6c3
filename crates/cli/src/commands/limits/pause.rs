//! `rota limits pause`: pauses a key.

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use rota_client::{Client, Limited, NewRateLimit, Setting};

use crate::Failure;
use crate::commands::job_options::longer_than_0;
use crate::commands::named;
use crate::output::{moment, print_json, print_line};

const EXAMPLES: &str = "\
Examples:
  rota limits pause stripe --for 10m
  rota limits pause stripe --until 2027-01-01T06:00:00Z --reason 'their maintenance'

Jobs of the key wait, and lose no attempt by it. The pause ends by itself, or with
`rota limits resume`.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Pause {
    /// The limit's key, such as stripe, queue:email or type:email.send
    #[arg(value_name = "KEY", value_parser = named)]
    key: String,

    /// How long to pause, such as 10m
    #[arg(long = "for", value_name = "DURATION", value_parser = from_now,
          required_unless_present = "until", conflicts_with = "until")]
    lasts: Option<Timestamp>,

    /// When the pause ends, such as 2027-01-01T06:00:00Z
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,

    /// The reason, shown with the limit
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Pause {
    pub async fn run(
        self,
        client: &Client,
        tenant: Option<&str>,
        json: bool,
    ) -> Result<(), Failure> {
        if let Some(past) = self.until.filter(|time| *time <= Timestamp::now()) {
            return Err(Failure::usage(format!("{past} has passed, so nothing would be paused"))
                .hint("Say a time to come, or how long with --for."));
        }
        let until = self.lasts.or(self.until).map(|time| Setting::To(time.to_string()));
        let limit =
            NewRateLimit { paused_until: until, reason: self.reason, ..NewRateLimit::default() };
        let paused = client.set_rate_limit(Limited::Key(&self.key, tenant), &limit).await?;
        // The server may have shortened the pause.
        match paused.paused_until.as_deref() {
            None => {
                Err(Failure::error("nothing is paused: by the server's clock that time has passed")
                    .hint("Set the clocks of both machines by the network."))
            }
            Some(_) if json => print_json(&paused),
            Some(until) => print_line(&format!("{} paused until {}", self.key, moment(until))),
        }
    }
}

fn from_now(text: &str) -> Result<Timestamp, String> {
    let too_long = || "it is too long".to_owned();
    let ms = i64::try_from(longer_than_0(text)?).map_err(|_| too_long())?;
    let end = Timestamp::now().checked_add(SignedDuration::from_millis(ms));
    // Clocks of two machines do not agree more finely than this.
    let ms = end.map_err(|_| too_long())?.as_millisecond();
    Timestamp::from_millisecond(ms).map_err(|_| too_long())
}
