//! The server that a command talks to.

use std::path::PathBuf;

use clap::Args;
use rota_client::{Client, Credentials, Retries};

use crate::{Failure, credentials_file};

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

    #[command(flatten)]
    pub access: Access,

    /// Print JSON for scripts, errors too
    #[arg(long, global = true, help_heading = "Server and output")]
    pub json: bool,
}

/// What the server is shown, and what it has to show.
#[derive(Args)]
pub(crate) struct Access {
    /// An API key or token; better in ROTA_TOKEN or the credentials file, where others do not see it
    #[arg(
        long,
        global = true,
        env = "ROTA_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        help_heading = "Server and output"
    )]
    token: Option<String>,

    /// PEM file with the authority of the server's certificate
    #[arg(
        long,
        global = true,
        env = "ROTA_CA_FILE",
        value_name = "FILE",
        help_heading = "Server and output"
    )]
    ca_file: Option<PathBuf>,

    /// PEM file with your own certificate
    #[arg(
        long,
        global = true,
        env = "ROTA_CLIENT_CERT",
        value_name = "FILE",
        help_heading = "Server and output"
    )]
    client_cert: Option<PathBuf>,

    /// PEM file with the key of your own certificate
    #[arg(
        long,
        global = true,
        env = "ROTA_CLIENT_KEY",
        value_name = "FILE",
        help_heading = "Server and output"
    )]
    client_key: Option<PathBuf>,

    /// File with credentials by URL; default: ~/.config/rota/credentials.toml
    #[arg(
        long,
        global = true,
        env = "ROTA_CREDENTIALS",
        value_name = "FILE",
        help_heading = "Server and output"
    )]
    credentials: Option<PathBuf>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

impl Remote {
    pub fn client(&self) -> Result<Client, Failure> {
        let client = self.access.client(&self.url)?;
        Ok(match &self.tenant {
            Some(id) => client.with_tenant(id)?,
            None => client,
        })
    }
}

impl Access {
    /// A client for the server at this URL. What is not given here is taken from the credentials file.
    pub fn client(&self, url: &str) -> Result<Client, Failure> {
        let entry = credentials_file::entry(self.credentials.as_deref(), url)?;
        let mut credentials = Credentials::new();
        if let Some(token) = self.token.as_ref().or(entry.token.as_ref()) {
            credentials = credentials.token(token)?;
        }
        if let Some(path) = self.ca_file.as_ref().or(entry.ca_file.as_ref()) {
            credentials = credentials.ca_file(path);
        }
        let certificate = self.client_cert.as_ref().or(entry.client_cert.as_ref());
        let key = self.client_key.as_ref().or(entry.client_key.as_ref());
        credentials = match (certificate, key) {
            (Some(certificate), Some(key)) => credentials.certificate(certificate, key),
            (None, None) => credentials,
            (Some(_), None) => return Err(incomplete("--client-cert needs --client-key")),
            (None, Some(_)) => return Err(incomplete("--client-key needs --client-cert")),
        };
        // Whoever typed a command repeats it; a script sees its exit code.
        Ok(Client::builder().credentials(credentials).retries(Retries::none()).build(url)?)
    }
}

fn incomplete(message: &str) -> Failure {
    Failure::usage(message)
        .hint("They can also come from ROTA_CLIENT_CERT, ROTA_CLIENT_KEY or the credentials file.")
}

/// Runs a command that talks to a server.
pub(crate) fn wait_for(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(command)
}
