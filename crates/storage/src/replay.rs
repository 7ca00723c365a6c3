//! Applying to a view what it lacks of a log.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rota_log::{Entry, Log, LogError};
use rota_store::encoding::decode;
use rota_store::{ApplyError, Batch, View};

use crate::OpenError;

/// How far a replay has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub applied: u64,
    pub last: u64,
}

/// Payloads that are applied in one transaction; fewer on a full disk.
const PORTION_BYTES: usize = 4 << 20;
const SMALL_PORTION_BYTES: usize = 64 << 10;
/// A portion has at least one record.
const ONE_RECORD: usize = 1;

/// Applies every record behind the last batch of the view. On a full disk, it goes on in the space of the reserve and
/// of what is prepared for the log, and of the records that were applied, if nobody else needs them.
pub fn replay<L: Log, V: View>(
    log: &mut L,
    view: &mut V,
    may_truncate: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), OpenError> {
    let last = log.tip().index;
    let mut applied = ready(view.applied())?;
    let mut portion = PORTION_BYTES;
    while applied < last {
        progress(Progress { applied, last });
        let entries = ready(log.read(applied + 1, portion)).map_err(OpenError::Replay)?;
        let batches = entries.iter().map(batch).collect::<Result<Vec<_>, _>>()?;
        match ready(view.apply(&batches)) {
            Ok(_) => applied = batches.last().map_or(last, |batch| batch.number),
            Err(ApplyError::Full(_)) if portion > ONE_RECORD => {
                portion = if portion == PORTION_BYTES { SMALL_PORTION_BYTES } else { ONE_RECORD };
            }
            Err(cause) => return Err(OpenError::Apply { index: applied + 1, cause }),
        }
        if portion < PORTION_BYTES {
            make_room(log, view, may_truncate).map_err(OpenError::Replay)?;
        }
    }
    progress(Progress { applied, last });
    Ok(())
}

/// Frees the disk space that is kept for emergencies or later records.
fn make_room<L: Log, V: View>(
    log: &mut L,
    view: &mut V,
    may_truncate: bool,
) -> Result<(), LogError> {
    view.release_reserve();
    if may_truncate {
        ready(log.truncate(view.durable() + 1))?;
    }
    ready(log.release_space())
}

fn batch(entry: &Entry) -> Result<Batch, OpenError> {
    decode(entry.payload.clone()).map_err(|cause| OpenError::Decode { index: entry.index, cause })
}

/// The embedded log and view do their work on the calling thread, so their futures are ready at once.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::thread::yield_now();
    }
}
