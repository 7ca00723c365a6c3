//! Removing what has been kept long enough, a little at a time.

use std::time::Duration;

use rota_engine::Reply;

use super::Handle;
use super::ask::{Answer, Ask};

const IDLE: Duration = Duration::from_secs(1);
/// Between two steps that found something, so that a large backlog of old jobs never has the disk
/// for itself.
const BREATH: Duration = Duration::from_millis(5);

/// Runs until the server stops.
pub(super) async fn run(handle: Handle, batch: usize) {
    loop {
        let removed = match handle.ask(Ask::Purge(batch)).await {
            Answer::Reply(Reply::Forgotten(count)) => count,
            _ => 0,
        };
        tokio::time::sleep(if removed > 0 { BREATH } else { IDLE }).await;
    }
}
