//! Registering a worker at startup.

use tokio::time::{Instant, sleep};

use super::backoff::Backoff;
use super::identity;
use super::report::is_retryable;
use super::{Event, Options};
use crate::{Client, Error, Registration, Welcome};

/// Registers the worker, with retries. Returns `None` if the server does not support registration.
pub(super) async fn register(
    client: &Client,
    options: &Options,
    on_event: &(dyn Fn(&Event<'_>) + Send + Sync),
) -> Result<Option<Welcome>, Error> {
    let registration = Registration {
        worker_id: options.id.clone(),
        hostname: identity::hostname(),
        pid: Some(std::process::id()),
        queues: options.queues.clone(),
        concurrency: Some(options.concurrency),
        labels: Vec::new(),
        version: options.version.clone(),
        choice: options.choice.clone(),
    };
    let until = Instant::now() + options.connect_within;
    let (mut backoff, mut away) = (Backoff::default(), false);
    loop {
        let error = match client.register(&registration).await {
            Ok(welcome) => {
                if away {
                    on_event(&Event::Back);
                }
                return Ok(Some(Welcome::clone(&welcome)));
            }
            Err(error) => error,
        };
        let wait = backoff.next();
        match error.refusal().map(|refusal| refusal.status) {
            Some(404 | 405 | 501) => return Ok(None),
            _ if is_retryable(&error) && Instant::now() + wait < until => {}
            _ => return Err(error),
        }
        if !away {
            on_event(&Event::Away(&error));
        }
        away = true;
        sleep(wait).await;
    }
}
