//! Replaces certificates whose files have changed. Connections that are open keep theirs.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use super::files::TlsError;
use super::{Certificates, Current};

/// How often the files are looked at.
const INTERVAL: Duration = Duration::from_secs(2);

impl Certificates {
    /// Looks at the files every few seconds, and at once after SIGHUP. Files that cannot be used are
    /// logged once, and the certificates in use stay in use.
    pub async fn reload_when_changed(self: Arc<Self>) {
        let mut hangup = match signal(SignalKind::hangup()) {
            Ok(hangup) => hangup,
            Err(error) => return tracing::error!(%error, "certificates are not reloaded"),
        };
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_error = String::new();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = hangup.recv() => last_error.clear(),
            }
            let certificates = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || certificates.reload()).await;
            match reloaded {
                Ok(Ok(false)) => last_error.clear(),
                Ok(Ok(true)) => {
                    tracing::info!(certificate = %self.files, "certificates were reloaded");
                    last_error.clear();
                }
                Ok(Err(error)) if error.to_string() == last_error => {}
                Ok(Err(error)) => {
                    last_error = error.to_string();
                    tracing::error!(%error, "the new certificates cannot be used; the old ones stay in use");
                }
                Err(error) => tracing::error!(%error, "certificates could not be reloaded"),
            }
        }
    }

    /// Says whether anything has changed.
    fn reload(&self) -> Result<bool, TlsError> {
        let contents = self.files.read()?;
        let is_same = |current: &Current| current.contents == contents;
        if is_same(&self.current.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(false);
        }
        let config = self.files.configure(&contents)?;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Current { contents, config };
        Ok(true)
    }
}
