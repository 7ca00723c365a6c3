//! `rota limits`: rate limit keys, by which jobs are limited together.

mod lifted;
mod list;
mod numbers;
mod pause;
mod show;

use clap::{Args, Subcommand};
use rota_client::{Limited, NewRateLimit, RateLimit, Setting, WithJson};

use self::list::ListArgs;
use self::pause::Pause;
use crate::Failure;
use crate::commands::named;
use crate::output::{each, print, print_json};
use crate::remote::Remote;

pub(crate) use lifted::set;
pub(crate) use numbers::Numbers;
pub(crate) use show::describe;

const EXAMPLES: &str = "\
Examples:
  rota limits                                  all keys, and how many jobs each holds back
  rota limits show stripe                      what is used of it, and when it opens
  rota limits set stripe --rate 50/1m          declare a limit, instead of what its jobs carry
  rota limits pause stripe --for 10m           start none of its jobs for a while

The key of a queue is queue:NAME, that of a job type is type:TYPE.";

const SHOW_EXAMPLES: &str = "\
Examples:
  rota limits show stripe
  rota limits show stripe --tenant acme        its part of a key that is counted by tenant";

const SET_EXAMPLES: &str = "\
Examples:
  rota limits set stripe --concurrency 5 --rate 100/1m
  rota limits set stripe --rate 50/1m --concurrency 5 --for 1h --reason 'they asked us'
  rota limits set stripe --throttle 10/1s --tenant acme
  rota limits set type:email.send --rate none

Without --for, the numbers are a declaration. It lasts until `rota limits clear` and replaces all
numbers that jobs carry. Limits that are not named stay as declared; `none` removes a declared limit.
A limit that is not declared does not apply, even if jobs carry one.

With --for, the numbers are an override. While it lasts, it replaces all numbers of the key, both
those of jobs and those declared: a limit that is not named, or is `none`, is lifted for that time.
Only limits named by an earlier override that still lasts are kept. So name every limit that should
apply.";

const RESUME_EXAMPLES: &str = "\
Examples:
  rota limits resume stripe";

const CLEAR_EXAMPLES: &str = "\
Examples:
  rota limits clear stripe                     only its jobs' own numbers apply again

Ends the declaration, override and pause.";

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
    /// List all keys that are in use or configured
    List(ListArgs),

    /// Show a key in detail
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// The limit's key, such as stripe, queue:email or type:email.send
        #[arg(value_name = "KEY", value_parser = named)]
        key: String,
    },

    /// Set a key's limits: permanently, or for a time with --for
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// The limit's key, such as stripe, queue:email or type:email.send
        #[arg(value_name = "KEY", value_parser = named)]
        key: String,

        #[command(flatten)]
        numbers: Numbers,
    },

    /// Pause a key: none of its jobs start
    Pause(Pause),

    /// Resume paused keys
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Keys),

    /// Remove the declaration, override and pause of keys
    #[command(after_help = CLEAR_EXAMPLES)]
    Clear(Keys),
}

#[derive(Debug, Args)]
struct Keys {
    /// The limits' keys, such as stripe, queue:email or type:email.send
    #[arg(value_name = "KEY", value_parser = named, required = true)]
    keys: Vec<String>,
}

impl Limits {
    pub async fn run(self) -> Result<(), Failure> {
        let (client, json) = (self.remote.client()?, self.remote.json);
        let tenant = self.remote.tenant.as_deref();
        let show = |limit: WithJson<RateLimit>| match json {
            true => print_json(&limit),
            false => print(&describe(&limit)),
        };
        match self.action.unwrap_or(Action::List(ListArgs::default())) {
            Action::List(list) => list.print(&client, json).await,
            Action::Show { key } => show(client.rate_limit(Limited::Key(&key, tenant)).await?),
            Action::Set { key, numbers } => {
                let limit = numbers.required()?;
                show(set(&client, Limited::Key(&key, tenant), &limit, json).await?)
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
