//! `rota serve`: runs the server.

use std::sync::Arc;

use clap::ArgMatches;
use rota_identity::KeyText;
use rota_model::Durability;
use rota_server::Server;
use rota_server::identity::FirstKey;
use rota_settings::{AuthMode, Settings};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Failure, given, logging};

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let settings = given::settings(matches)?;
    logging::start(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::error(format!("the runtime cannot be started: {e}")))?;
    runtime.block_on(serve(settings))
}

async fn serve(settings: Settings) -> Result<(), Failure> {
    // First of all, so that a signal during startup is not lost.
    let listen = |kind| signal(kind).map_err(|e| Failure::error(format!("signals: {e}")));
    let (mut terminate, mut interrupt) =
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let first_key = first_key(&settings)?;
    let opened = Server::open(settings.clone(), first_key, Arc::new(die)).await;
    let mut server = opened.map_err(|error| match error.is_settings_error() {
        true => Failure::usage(error.to_string()),
        false => Failure::error(error.to_string()),
    })?;
    let address = server.address().map_err(|e| Failure::error(e.to_string()))?;
    let scheme = if settings.is_encrypted() { "https" } else { "http" };
    greet(&settings, &format!("{scheme}://{address}"));
    if let Some(key) = server.take_made_key() {
        show_first_key(&key);
    }
    server
        .run(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "stopping: requests in hand are answered first");
        })
        .await;
    tracing::info!("stopped; everything is committed");
    Ok(())
}

/// The variable with the first operator key.
const BOOTSTRAP_KEY: &str = "ROTA_BOOTSTRAP_KEY";

fn first_key(settings: &Settings) -> Result<FirstKey, Failure> {
    let variable = std::env::var(BOOTSTRAP_KEY).ok();
    if variable.is_some() && !settings.auth.has(AuthMode::Keys) {
        let text = format!("{BOOTSTRAP_KEY} is set, but auth.modes does not have keys");
        return Err(Failure::usage(text));
    }
    FirstKey::given(settings.auth.bootstrap_key_file.as_deref(), variable.as_deref())
        .map_err(|error| Failure::usage(error.to_string()))
}

/// To standard error only: standard output and the log may be collected somewhere.
fn show_first_key(key: &KeyText) {
    eprintln!();
    eprintln!("The first operator key. It is shown this once and cannot be shown again:");
    eprintln!();
    eprintln!("  {}", key.reveal());
    eprintln!();
    eprintln!("Keep it in a safe place. `rota keys create` makes keys for tenants with it.");
}

fn greet(settings: &Settings, url: &str) {
    println!("rota {}", env!("CARGO_PKG_VERSION"));
    println!("  listening on  {url}");
    println!("  data in       {}", settings.data.display());
    if settings.durability == Durability::Os {
        println!("  durability    os: a power failure may lose the last moments; a crash does not");
    }
    println!();
    println!("Try:");
    println!("  curl {url}/ojs/v1/jobs -H 'Content-Type: application/json' \\");
    println!("    -d '{{\"type\": \"email.send\", \"args\": [\"you@example.com\"]}}'");
}

/// It is unknown whether the last change was written, or the data is damaged. Any further response
/// could be wrong, so there is none.
fn die(cause: &str) {
    tracing::error!(%cause, "the database failed; stopping at once, nothing more is answered");
    eprintln!("rota: the database failed: {cause}");
    eprintln!("rota: what was answered is safe; look at the cause, then start again");
    std::process::exit(70);
}
