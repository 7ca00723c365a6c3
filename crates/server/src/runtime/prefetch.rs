//! The prefetch stage: reads what requests need from the view, so that the engine thread never waits for a read.
//!
//! The engine thread hands over the requests that name jobs it has not in memory, and gets them back with facts.
//! Requests that need no facts do not pass through here and overtake these. That keeps what a client relies on:
//! a request that is put after the answer to another one is applied after it. Facts may be old when they
//! are used; until then a pin keeps what they are corrected by.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rota_engine::Pin;
use rota_model::{JobId, Millis};
use rota_store::{Found, Reader, StoreError};
use tokio::runtime::Handle as Tokio;

use super::Health;
use super::ask::Request;
use super::facts::{Facts, FoundJobs};
use super::fair_queue::{Bounds, FairQueue};
use super::mailbox::Mailbox;
use super::source::Source;

/// What a request needs from the view.
pub(super) enum Wanted {
    Jobs(Vec<JobId>),
    /// Up to so many finished jobs whose retention has passed at this time.
    Overdue(Millis, usize),
    /// Up to so many jobs of the dead letter whose replay is due at this time.
    DueReplays(Millis, usize),
    /// Up to so many entries of the audit log.
    OldestAudit(usize),
}

/// A request that waits for its facts.
pub(super) struct Prefetch {
    pub request: Request,
    pub wanted: Wanted,
    /// Keeps what the facts are corrected by.
    pub pin: Pin,
}

/// A request with its facts.
pub(super) struct Prefetched {
    pub request: Request,
    pub facts: Facts,
    pub pin: Pin,
}

/// The requests that wait for the stage's thread, served fairly.
pub(super) struct Prefetches {
    state: Mutex<State>,
    filled: Condvar,
    ended: Condvar,
}

struct State {
    waiting: FairQueue<Prefetch>,
    /// The engine thread hands over nothing more.
    closed: bool,
    /// The thread has ended and its reader is gone.
    ended: bool,
}

/// About this many ids are read at once. Whoever shares a round waits for all of it.
const ROUND_IDS: usize = 512;

impl Prefetches {
    /// With room for so many requests, and so many bytes of them.
    pub fn new(requests: usize, bytes: usize) -> Self {
        let waiting = FairQueue::new(Bounds { items: requests, bytes, common: 0 });
        let state = State { waiting, closed: false, ended: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), ended: Condvar::new() }
    }

    /// Hands a request to the stage, from which it comes back through the mailbox. Returns it if there is no room.
    pub fn push(&self, prefetch: Prefetch) -> Option<Prefetch> {
        let source = match &prefetch.request.caller {
            None => Source::Server,
            Some(caller) => Source::of(caller.tenant.as_ref()),
        };
        let bytes = prefetch.request.bytes();
        let mut state = self.lock();
        if !state.waiting.accepts(&source, bytes) {
            return Some(prefetch);
        }
        if state.waiting.push(source, prefetch, bytes).is_err() {
            unreachable!("there is room for it");
        }
        drop(state);
        self.filled.notify_one();
        None
    }

    /// Waits until the stage's thread has ended.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.filled.notify_one();
        while !state.ended {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next requests, with about `ROUND_IDS` ids in all; none if there will be no more.
    pub(super) fn next_round(&self) -> Vec<Prefetch> {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (mut round, mut ids) = (Vec::new(), 0);
        while ids < ROUND_IDS
            && let Some(prefetch) = state.waiting.pop()
        {
            ids += match &prefetch.wanted {
                Wanted::Jobs(jobs) => jobs.len().max(1),
                _ => ROUND_IDS,
            };
            round.push(prefetch);
        }
        round
    }

    pub(super) fn set_ended(&self) {
        self.lock().ended = true;
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves requests until the engine thread closes the stage. A request that meets damage fails; if the view cannot be
/// read at all, this calls `on_fatal`.
pub(super) fn run<R: Reader>(
    mut reader: R,
    prefetches: &Prefetches,
    mailbox: &Mailbox,
    tokio: &Tokio,
    health: &Health,
    on_fatal: &dyn Fn(&str),
) {
    loop {
        let round = prefetches.next_round();
        if round.is_empty() {
            break;
        }
        match tokio.block_on(read(&mut reader, round)) {
            Ok(prefetched) => {
                let is_damaged = |one: &&Prefetched| matches!(one.facts, Facts::Damaged);
                prefetched.iter().filter(is_damaged).for_each(|_| health.count_damaged_read());
                mailbox.put_prefetched(prefetched);
            }
            Err(error) => {
                on_fatal(&error.message);
                break;
            }
        }
    }
    drop(reader);
    prefetches.set_ended();
}

/// Reads the facts of a round: all jobs at once, and after them what else is wanted.
pub(super) async fn read<R: Reader>(
    reader: &mut R,
    round: Vec<Prefetch>,
) -> Result<Vec<Prefetched>, StoreError> {
    let mut found = resolve_all(reader, &round).await?.map(Vec::into_iter);
    let mut prefetched = Vec::with_capacity(round.len());
    for Prefetch { request, wanted, pin } in round {
        let facts = match (&wanted, &mut found) {
            (Wanted::Jobs(ids), Some(found)) => Ok(facts_of(found.by_ref().take(ids.len()))),
            _ => read_one(reader, wanted).await,
        };
        let facts = match facts {
            Err(error) if error.damaged => {
                tracing::error!(
                    cause = error.message,
                    "damage in the database: a lookup failed; run `rota doctor`"
                );
                Facts::Damaged
            }
            facts => facts?,
        };
        prefetched.push(Prefetched { request, facts, pin });
    }
    Ok(prefetched)
}

/// All jobs that a round names; `None` if one of them is damaged, and each request must be looked at alone.
async fn resolve_all<R: Reader>(
    reader: &mut R,
    round: &[Prefetch],
) -> Result<Option<Vec<Option<Found>>>, StoreError> {
    let ids = round.iter().filter_map(|prefetch| match &prefetch.wanted {
        Wanted::Jobs(ids) => Some(ids),
        _ => None,
    });
    let ids: Vec<JobId> = ids.flatten().copied().collect();
    if ids.is_empty() {
        return Ok(Some(Vec::new()));
    }
    match reader.resolve(&ids).await {
        Err(error) if error.damaged => Ok(None),
        found => found.map(Some),
    }
}

async fn read_one<R: Reader>(reader: &mut R, wanted: Wanted) -> Result<Facts, StoreError> {
    Ok(match wanted {
        Wanted::Jobs(ids) => facts_of(reader.resolve(&ids).await?.into_iter()),
        Wanted::Overdue(now, limit) => Facts::Overdue(reader.overdue(now, limit).await?),
        Wanted::DueReplays(now, limit) => Facts::DueReplays(reader.due_replays(now, limit).await?),
        Wanted::OldestAudit(limit) => Facts::OldestAudit(reader.oldest_audit(limit).await?),
    })
}

fn facts_of(found: impl Iterator<Item = Option<Found>>) -> Facts {
    Facts::Jobs(found.flatten().map(|found| (found.id, found)).collect::<FoundJobs>())
}

#[cfg(test)]
mod tests;
