//! Writes what was counted, at the end of each interval, and single entries soon.

use std::sync::Arc;
use std::time::Duration;

use rota_engine::Command;
use rota_model::audit::AuditNote;

use super::Audit;
use crate::runtime::{Answer, Ask, Handle};

/// The most entries in one commit.
const MAX_BATCH: usize = 256;
/// The pause after entries could not be written. Meanwhile, everything is counted on.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// How often the rest is tried at shutdown.
const LAST_ATTEMPTS: usize = 3;

/// Runs until the server stops.
pub(crate) async fn run(audit: Arc<Audit>, handle: Handle, interval: Duration) {
    let mut interval_end = tokio::time::interval(interval);
    interval_end.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick is at once.
    interval_end.tick().await;
    loop {
        let notes = tokio::select! {
            _ = interval_end.tick() => {
                let mut notes = audit.take_notes();
                notes.append(&mut audit.take_counted());
                notes
            }
            () = audit.wake.notified() => audit.take_notes(),
        };
        let mut unwritten = notes;
        while !unwritten.is_empty() {
            unwritten = write(&handle, unwritten).await;
            if !unwritten.is_empty() {
                tokio::time::sleep(FAILURE_PAUSE).await;
            }
        }
    }
}

/// Writes everything that is left, when no more requests come.
pub(crate) async fn write_rest(audit: &Audit, handle: &Handle) {
    let mut notes = audit.take_notes();
    notes.append(&mut audit.take_counted());
    for _ in 0..LAST_ATTEMPTS {
        notes = write(handle, notes).await;
        if notes.is_empty() {
            return;
        }
        tokio::time::sleep(FAILURE_PAUSE / 10).await;
    }
    tracing::warn!(entries = notes.len(), "the last entries of the audit log could not be written");
}

/// Writes entries, and returns those that could not be written.
async fn write(handle: &Handle, mut notes: Vec<AuditNote>) -> Vec<AuditNote> {
    while !notes.is_empty() {
        let rest = notes.split_off(notes.len().min(MAX_BATCH));
        let answer = handle.ask(Ask::Command(Command::Audit(notes.clone()))).await;
        if !matches!(answer, Answer::Reply(_)) {
            notes.extend(rest);
            return notes;
        }
        notes = rest;
    }
    notes
}
