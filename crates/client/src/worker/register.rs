use tokio::time::{Instant, sleep};

use super::backoff::Backoff;
use super::identity;
use super::report::may_pass;
use super::{Event, Options};
use crate::{Client, Error, Registration, Welcome};

/// Makes the worker known, with some patience. `None` from a server without a registry.
pub(super) async fn register(
    client: &Client,
    options: &Options,
    tell: &(dyn Fn(&Event<'_>) + Send + Sync),
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
                    tell(&Event::Back);
                }
                return Ok(Some(Welcome::clone(&welcome)));
            }
            Err(error) => error,
        };
        let wait = backoff.next();
        match error.refusal().map(|refusal| refusal.status) {
            Some(404 | 405 | 501) => return Ok(None),
            _ if may_pass(&error) && Instant::now() + wait < until => {}
            _ => return Err(error),
        }
        if !away {
            tell(&Event::Away(&error));
        }
        away = true;
        sleep(wait).await;
    }
}
