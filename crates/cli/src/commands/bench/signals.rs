//! Signals that end a benchmark.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;

/// Set by SIGINT and SIGTERM, so that the measurement stops and cleans up its servers and
/// their data.
pub(super) fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let failed = |error: std::io::Error| Failure::error(format!("signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (mut terminate, mut interrupt) = {
        let _inside = runtime.enter();
        let listen = |kind| signal(kind).map_err(failed);
        (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?)
    };
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = stop.clone();
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        theirs.store(true, Ordering::Relaxed);
    });
    Ok(stop)
}
