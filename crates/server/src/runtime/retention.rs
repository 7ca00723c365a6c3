//! Removing what has been kept long enough, a little at a time.

use std::time::Duration;

use rota_engine::Reply;

use super::Handle;
use super::ask::{Answer, Ask};

const IDLE: Duration = Duration::from_secs(1);
/// Between two full steps, so that a large backlog of old jobs never has the disk for itself.
const BREATH: Duration = Duration::from_millis(5);

/// Runs until the server stops.
pub(super) async fn run(handle: Handle, batch: usize) {
    loop {
        let pause = match step(&handle, batch).await {
            Some(removed) if removed == batch => BREATH,
            _ => IDLE,
        };
        tokio::time::sleep(pause).await;
    }
}

async fn step(handle: &Handle, batch: usize) -> Option<usize> {
    let overdue = match handle.overdue(batch).await {
        Ok(overdue) => overdue,
        Err(error) => {
            tracing::warn!(%error, "old jobs could not be listed; they will be removed later");
            return None;
        }
    };
    let count = overdue.len();
    if count == 0 {
        return None;
    }
    match handle.ask(Ask::Forget(overdue)).await {
        Answer::Reply(Reply::Done) => Some(count),
        _ => None,
    }
}
