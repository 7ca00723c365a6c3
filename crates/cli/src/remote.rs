//! The server that a command talks to.

use clap::Args;
use rota_client::Client;

use crate::Failure;

/// Options of every command that talks to a server.
#[derive(Debug, Args)]
pub(crate) struct Remote {
    /// The server's address
    #[arg(
        long,
        global = true,
        env = "ROTA_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        help_heading = "Server and output"
    )]
    pub url: String,

    /// Act as this tenant, and see only its jobs
    #[arg(
        long,
        global = true,
        env = "ROTA_TENANT",
        value_name = "ID",
        help_heading = "Server and output"
    )]
    pub tenant: Option<String>,

    /// Print JSON for scripts, errors too
    #[arg(long, global = true, help_heading = "Server and output")]
    pub json: bool,
}

impl Remote {
    pub fn client(&self) -> Result<Client, Failure> {
        let client = Client::new(&self.url)?;
        Ok(match &self.tenant {
            Some(id) => client.with_tenant(id)?,
            None => client,
        })
    }
}

/// Runs a command that talks to a server.
pub(crate) fn wait_for(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(command)
}
