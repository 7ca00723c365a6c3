//! `rota federate`: runs a gateway in front of the servers of many regions.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use rota_client::federation::Settings as Federation;
use rota_gateway::{Gateway, GatewayError};
use rota_settings::{LogFormat, Settings};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Failure, logging};

const EXAMPLES: &str = "\
Examples:
  rota federate --config regions.toml          on 127.0.0.1:8090
  rota federate --config regions.toml --listen 0.0.0.0:8090 \\
    --tls-certificate gateway.pem --tls-key gateway-key.pem

The file names the regions:
  local_region = \"eu-west-1\"
  [[regions]]
  id = \"eu-west-1\"
  url = \"https://jobs.eu.example.com\"
  [[regions]]
  id = \"us-east-1\"
  url = \"https://jobs.us.example.com\"

When the file changes, the gateway takes it over. docs/federation.md has all of its settings.
`rota regions --url http://127.0.0.1:8090` shows how the regions are doing.";

/// Run a gateway in front of the servers of many regions
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Federate {
    /// The file that describes the regions: TOML, or JSON if its name ends with .json
    #[arg(long, value_name = "FILE", env = "ROTA_REGIONS")]
    config: PathBuf,

    /// The address to listen on; before the file's and 127.0.0.1:8090
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// The certificate chain of the gateway, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,

    /// Let other machines connect without encryption
    #[arg(long)]
    insecure: bool,

    /// Write log lines as JSON
    #[arg(long)]
    log_json: bool,
}

impl Federate {
    pub fn run(self) -> Result<(), Failure> {
        let federation = Federation::read(&self.config).map_err(usage)?;
        let settings = self.settings(&federation)?;
        logging::start(&settings)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
        runtime.block_on(serve(federation, settings, self.config))
    }

    fn settings(&self, federation: &Federation) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        settings.listen =
            self.listen.or(federation.gateway.listen).unwrap_or_else(Gateway::usual_address);
        settings.tls.certificate.clone_from(&self.tls_certificate);
        settings.tls.key.clone_from(&self.tls_key);
        if self.log_json {
            settings.log.format = LogFormat::Json;
        }
        let exposed = !settings.listen.ip().is_loopback() && self.tls_certificate.is_none();
        if exposed && !self.insecure {
            let text = format!(
                "other machines can reach {} and would send their credentials in the clear",
                settings.listen
            );
            return Err(Failure::usage(text).hint(
                "Give --tls-certificate and --tls-key, listen on 127.0.0.1 behind a proxy, or accept it with --insecure.",
            ));
        }
        Ok(settings)
    }
}

async fn serve(federation: Federation, settings: Settings, path: PathBuf) -> Result<(), Failure> {
    // First of all, so that a signal during startup is not lost.
    let listen = |kind| signal(kind).map_err(|e| Failure::error(format!("signals: {e}")));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let scheme = if settings.is_encrypted() { "https" } else { "http" };
    let regions: Vec<String> = federation.regions.iter().map(|region| region.id.clone()).collect();
    let local = federation.local_region.clone();
    let opened = Gateway::open(federation, settings).await;
    let gateway = opened.map_err(|error| match error {
        GatewayError::Listen { .. } => Failure::error(error.to_string()),
        GatewayError::Settings(_) | GatewayError::Tls(_) => usage(error),
    })?;
    let address = gateway.address().map_err(|e| Failure::error(e.to_string()))?;
    println!("rota {} gateway", env!("CARGO_PKG_VERSION"));
    println!("  listening on  {scheme}://{address}");
    println!("  regions       {}; the local one is {local}", regions.join(", "));
    let _following = gateway.client().follow_file(path);
    gateway
        .run(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "stopping: requests in hand are answered first");
        })
        .await;
    Ok(())
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::usage(error.to_string())
        .hint("`rota federate --help` shows a file; docs/federation.md explains it.")
}
