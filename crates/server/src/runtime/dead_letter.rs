//! A background task that prunes dead letters and replays their jobs by rules, a slice at a time.

use std::time::Duration;

use rota_engine::{Command, Prune, PruneWork, Reply};
use rota_model::{Millis, PruningPolicy};
use rota_store::Record;

use super::Handle;
use super::archive::Archive;
use super::ask::{Answer, Ask};
use super::handle::SLICE_BYTES;
use super::reader::ReadError;
use super::source::Source;

/// The pause when there was nothing to do.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// The pause after a slice, so that a large backlog does not monopolize the disk.
const SLICE_PAUSE: Duration = Duration::from_millis(5);
/// The pause after the archive could not be written.
const FAILURE_PAUSE: Duration = Duration::from_secs(10);
/// The most jobs that are archived at once: they are read whole.
const MAX_ARCHIVED: usize = 100;

/// Runs until the server stops. `slice` is the most jobs that are changed at once.
pub(super) async fn run(handle: Handle, archive: Archive, slice: usize) {
    loop {
        let replayed = matches!(
            handle.ask(Ask::Replay(slice)).await,
            Answer::Reply(Reply::Forgotten(count)) if count > 0
        );
        let pause = match prune(&handle, &archive, slice).await {
            Ok(true) => SLICE_PAUSE,
            Ok(false) if replayed => SLICE_PAUSE,
            Ok(false) => IDLE_PAUSE,
            Err(PruneError::Archive(error)) => {
                tracing::error!(
                    path = %archive.path().display(),
                    %error,
                    "the archive of the dead letter cannot be written; its jobs are not pruned"
                );
                FAILURE_PAUSE
            }
            Err(PruneError::Unavailable) => IDLE_PAUSE,
        };
        tokio::time::sleep(pause).await;
    }
}

enum PruneError {
    Archive(std::io::Error),
    /// The engine or the store is busy or shutting down.
    Unavailable,
}

impl From<ReadError> for PruneError {
    fn from(_: ReadError) -> Self {
        Self::Unavailable
    }
}

/// Prunes one slice. Returns whether there was anything to do.
async fn prune(handle: &Handle, archive: &Archive, slice: usize) -> Result<bool, PruneError> {
    let work = handle.look(rota_engine::Engine::prune_work).await;
    let Some(work) = work.map_err(|_| PruneError::Unavailable)? else { return Ok(false) };
    let slice = match work.limits.pruning {
        PruningPolicy::Delete => slice,
        PruningPolicy::Archive => slice.min(MAX_ARCHIVED),
    };
    // One more than is pruned, to know the age of the oldest that is left.
    let oldest = handle.oldest_dead(Source::Server, work.shard, slice + 1).await?;
    if oldest.is_empty() {
        // The jobs are not committed yet.
        return Ok(false);
    }
    let excess = usize::try_from(work.excess).unwrap_or(usize::MAX);
    let due = oldest.iter().enumerate().take(slice);
    let due = due.take_while(|(i, (_, at))| *i < excess || *at <= work.expired_at).count();
    let seqs = oldest[..due].iter().map(|(seq, _)| *seq).collect();
    // What does not fit is pruned with the next slice.
    let records = handle.records(Source::Server, seqs, SLICE_BYTES).await?;
    let due = records.len();
    let records: Vec<Record> = records.into_iter().flatten().collect();
    if work.limits.pruning == PruningPolicy::Archive && !records.is_empty() {
        write(archive, &work, &records, handle).await.map_err(PruneError::Archive)?;
    }
    // What is in flight was discarded later than everything that is committed.
    let left = oldest.get(due).or(oldest.last()).map(|(_, at)| *at);
    let through = oldest[..due].last().map_or(Millis::ZERO, |(_, at)| *at);
    let jobs = records.iter().map(|record| record.body.id).collect();
    let prune = Prune { shard: work.shard, jobs, through, oldest: left };
    let command = Command::Prune(Box::new(prune));
    match handle.command(command).await {
        Ok(_) => Ok(true),
        Err(_) => Err(PruneError::Unavailable),
    }
}

async fn write(
    archive: &Archive,
    work: &PruneWork,
    records: &[Record],
    handle: &Handle,
) -> std::io::Result<()> {
    let now = handle.clock().now().wall;
    let mut lines = Vec::new();
    for record in records {
        lines.extend_from_slice(b"{\"archived_at\":\"");
        now.write_rfc3339(&mut lines);
        lines.extend_from_slice(b"\",\"tenant_id\":");
        rota_model::json::write_str(&mut lines, &work.tenant);
        lines.extend_from_slice(b",\"queue\":");
        rota_model::json::write_str(&mut lines, work.queue.local());
        lines.extend_from_slice(b",\"job\":");
        (archive.write_job)(&mut lines, record);
        lines.extend_from_slice(b"}\n");
    }
    let archive = archive.clone();
    let written = tokio::task::spawn_blocking(move || archive.append(now, &lines)).await;
    written.unwrap_or_else(|error| Err(std::io::Error::other(error)))
}
