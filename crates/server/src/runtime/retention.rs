//! A background task that removes finished jobs and entries of the audit log whose retention has passed, a
//! batch at a time.

use std::time::Duration;

use rota_engine::Reply;

use super::Handle;
use super::ask::{Answer, Ask};

/// The pause when there was nothing to remove.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a batch was removed, so that a large backlog does not monopolize the disk.
const BATCH_PAUSE: Duration = Duration::from_millis(5);

/// Runs until the server stops.
pub(super) async fn run(handle: Handle, batch: usize) {
    loop {
        let jobs = removed(handle.ask(Ask::Purge(batch)).await);
        let entries = removed(handle.ask(Ask::TrimAudit(batch)).await);
        tokio::time::sleep(if jobs + entries > 0 { BATCH_PAUSE } else { IDLE_PAUSE }).await;
    }
}

fn removed(answer: Answer) -> usize {
    match answer {
        Answer::Reply(Reply::Forgotten(count)) => count,
        _ => 0,
    }
}
