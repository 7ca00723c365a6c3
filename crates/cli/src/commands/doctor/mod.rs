//! `rota doctor`: reports problems and what to do about them.

mod contents;
mod data;
mod finding;
mod log;
mod repair;
mod report;
mod safety;
mod server;
mod work;

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use rota_client::{Client, Error};
use rota_settings::Settings;
use rota_store_sqlite::check::Depth;

use crate::Failure;
use crate::local::{Local, is_chosen};
use crate::remote::Access;
use finding::Finding;
use report::Report;

const EXAMPLES: &str = "\
Examples:
  rota doctor                                   the data directory and the server here
  rota doctor --data /var/lib/rota              another directory, in use or not
  rota doctor --url http://10.0.0.7:8080 --json another server, for scripts
  rota doctor --quick                           does not compare every index with its table
  rota doctor --repair --data /var/lib/rota     rebuild what is damaged; asks first

Exit code 0: nothing, or only warnings. 1: problems. 3: no answer from the server at --url.";

/// Find problems with the data or the server, and say what to do
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Check the file less thoroughly, which is faster
    #[arg(long)]
    quick: bool,

    /// The server's address, if it differs from the configured listen address
    #[arg(long, env = "ROTA_URL", value_name = "URL")]
    url: Option<String>,

    #[command(flatten)]
    repair: repair::RepairArgs,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    local: Local,
}

impl Doctor {
    pub async fn run(self) -> Result<(), Failure> {
        let settings = self.local.settings()?;
        if self.repair.is_asked_for() {
            return self.repair.run(&settings, self.local.json);
        }
        let client = self.access.client(&self.url.clone().unwrap_or_else(|| url_of(&settings)))?;
        let mut report = Report::default();
        self.look_at_data(&settings, &mut report);
        let silence = self.look_at_server(&client, &settings, &mut report).await;
        if report.is_empty() {
            return Err(nothing_to_check(&settings, &client));
        }
        report.print(self.local.json)?;
        match (silence, report.problems()) {
            (Some(error), _) => Err(error.into()),
            (None, 0) => Ok(()),
            (None, 1) => Err(Failure::error("there is a problem")),
            (None, several) => Err(Failure::error(format!("there are {several} problems"))),
        }
    }

    fn look_at_data(&self, settings: &Settings, report: &mut Report) {
        if settings.data.exists() || is_chosen(settings) {
            let depth = if self.quick { Depth::Quick } else { Depth::Full };
            let title = format!("Data directory {}", settings.data.display());
            report.add("data", title, data::look(settings, depth));
        }
    }

    /// Why the server does not respond; only an error if `--url` asked for it.
    async fn look_at_server(
        &self,
        client: &Client,
        settings: &Settings,
        report: &mut Report,
    ) -> Option<Error> {
        let title = format!("Server {}", client.url());
        match server::look(client, &settings.data).await {
            Ok(findings) => report.add("server", title, findings),
            Err(error) if self.url.is_none() => {
                if data::is_in_use(&settings.data) {
                    report.add("server", title, vec![elsewhere(&error)]);
                }
            }
            Err(error) => {
                report.add("server", title, vec![silent(&error)]);
                return Some(error);
            }
        }
        None
    }
}

fn silent(error: &Error) -> Finding {
    let advice = error.hint().unwrap_or_else(|| "Look at its log.".to_owned());
    Finding::problem("answers", format!("{error}."), advice)
}

fn elsewhere(error: &Error) -> Finding {
    let what = format!("A server uses this directory, but not here: {error}.");
    Finding::warning("answers", what, "Say where it listens with --url, or give its --config.")
}

fn nothing_to_check(settings: &Settings, client: &Client) -> Failure {
    let dir = settings.data.display();
    Failure::error(format!(
        "there is nothing to check: no directory {dir}, and no server at {}",
        client.url()
    ))
    .hint("Say where the data is with --data, or where the server is with --url.")
}

/// A server that listens on all addresses is reached through loopback.
fn url_of(settings: &Settings) -> String {
    let mut address = settings.listen;
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let scheme = if settings.is_encrypted() { "https" } else { "http" };
    format!("{scheme}://{address}")
}
