//! `rota serve`: runs the server.

use std::sync::Arc;

use clap::ArgMatches;
use rota_model::Durability;
use rota_server::Server;
use rota_settings::Settings;
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
    let server =
        Server::open(settings.clone(), Arc::new(die)).await.map_err(|error| {
            match error.is_settings_error() {
                true => Failure::usage(error.to_string()),
                false => Failure::error(error.to_string()),
            }
        })?;
    let address = server.address().map_err(|e| Failure::error(e.to_string()))?;
    greet(&settings, &address.to_string());
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

fn greet(settings: &Settings, address: &str) {
    println!("rota {}", env!("CARGO_PKG_VERSION"));
    println!("  listening on  http://{address}");
    println!("  data in       {}", settings.data.display());
    if settings.durability == Durability::Os {
        println!("  durability    os: a power failure may lose the last moments; a crash does not");
    }
    println!();
    println!("Try:");
    println!("  curl http://{address}/ojs/v1/jobs -H 'Content-Type: application/json' \\");
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
