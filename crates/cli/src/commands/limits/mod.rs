//! `rota limits`: the keys by which jobs are limited together.

mod list;
mod numbers;
mod pause;
mod show;

use clap::{Args, Subcommand};
use rota_client::{Kept, Limited, NewRateLimit, RateLimit, Setting};

use self::list::ListArgs;
use self::pause::Pause;
use crate::Failure;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

pub(crate) use numbers::Numbers;
pub(crate) use show::describe;

const EXAMPLES: &str = "\
Examples:
  rota limits                                  all keys, and how many jobs each holds back
  rota limits show stripe                      what is used of it, and when it opens
  rota limits set stripe --rate 50/1m --for 1h --reason 'they asked us to slow down'
  rota limits pause stripe --for 10m           start none of its jobs for a while

The key of a queue is queue:NAME, that of a job type is type:TYPE.";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota limits show stripe
  rota limits show stripe --tenant acme        its part of a key that is counted by tenant";

const SET_EXAMPLES: &str = "\
Examples:
  rota limits set stripe --concurrency 5 --rate 100/1m
  rota limits set stripe --rate 50/1m --for 1h --reason 'they asked us to slow down'
  rota limits set stripe --throttle 10/1s --tenant acme
  rota limits set type:email.send --rate none

What is set counts instead of what the jobs carry: for a time with --for, else until it is cleared.
What is not said stays as it is; `none` takes a limit away.";

const RESUME_EXAMPLES: &str = "\
Examples:
  rota limits resume stripe";

const CLEAR_EXAMPLES: &str = "\
Examples:
  rota limits clear stripe                     only what its jobs carry counts again

A pause ends too.";

/// Inspect, set and pause rate limits
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Limits {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    remote: Remote,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all keys that are in use or set
    List(ListArgs),

    /// Show all about a key
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[arg(value_name = "KEY")]
        key: String,
    },

    /// Set the limits of a key
    #[command(after_help = SET_EXAMPLES)]
    Set {
        #[arg(value_name = "KEY")]
        key: String,

        #[command(flatten)]
        numbers: Numbers,
    },

    /// Start no jobs of a key for a while
    Pause(Pause),

    /// Start jobs of keys again
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Keys),

    /// Forget what was set for keys
    #[command(after_help = CLEAR_EXAMPLES)]
    Clear(Keys),
}

#[derive(Debug, Args)]
struct Keys {
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,
}

impl Limits {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let tenant = self.remote.tenant.as_deref();
        let show = |limit: Kept<RateLimit>| match json {
            true => print_json(&limit),
            false => print(&describe(&limit)),
        };
        match self.action.unwrap_or(Action::List(ListArgs::default())) {
            Action::List(list) => list.print(&client, json).await,
            Action::Show { key } => show(client.rate_limit(Limited::Key(&key, tenant)).await?),
            Action::Set { key, numbers } => {
                let limit = numbers.required()?;
                show(client.set_rate_limit(Limited::Key(&key, tenant), &limit).await?)
            }
            Action::Pause(pause) => pause.run(&client, tenant, json).await,
            Action::Resume(Keys { keys }) => {
                let limit =
                    NewRateLimit { paused_until: Some(Setting::Unset), ..NewRateLimit::default() };
                let act = async |key: &str| {
                    client.set_rate_limit(Limited::Key(key, tenant), &limit).await
                };
                each(&keys, "resumed", "rate_limits", json, act).await
            }
            Action::Clear(Keys { keys }) => {
                let act =
                    async |key: &str| client.clear_rate_limit(Limited::Key(key, tenant)).await;
                each(&keys, "cleared", "rate_limits", json, act).await
            }
        }
    }
}
