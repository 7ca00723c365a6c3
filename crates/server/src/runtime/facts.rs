//! What the view had about the jobs that a request names, and what follows from it by now.

use std::collections::HashMap;

use ahash::RandomState;
use rota_engine::{InFlight, Target};
use rota_model::audit::AuditStub;
use rota_model::{DueReplay, JobId, Overdue, Seq};
use rota_store::Found;

pub(super) type FoundJobs = HashMap<JobId, Found, RandomState>;

/// What was read for a request. It is as old as the read, so it is corrected by what has been in flight since.
pub(super) enum Facts {
    /// Nothing was read: the engine thread has everything in memory.
    Nothing,
    /// The named jobs that exist.
    Jobs(FoundJobs),
    Overdue(Overdue),
    DueReplays(Vec<DueReplay>),
    OldestAudit(Vec<AuditStub>),
    /// What was to be read is damaged.
    Damaged,
}

impl Facts {
    /// The job with this id in its current state. `sealed` is the number that the id would have if Rota had made it.
    pub fn target(&self, id: JobId, sealed: Seq, in_flight: &InFlight) -> Option<Target> {
        let found = match self {
            Self::Jobs(jobs) => jobs.get(&id),
            _ => None,
        };
        // If an id was freed and reused since, it means the newer job.
        let seq = in_flight.seq_of(id, sealed).or(found.map(|found| found.seq))?;
        let stored = found.filter(|found| found.seq == seq).map(|found| found.row.clone());
        let now = in_flight.current_row(seq, stored)?;
        Some(Target { seq, id, now })
    }

    /// Finished jobs whose retention has passed. Jobs with changes in flight are left for a later call.
    pub fn overdue(self, in_flight: &InFlight) -> Overdue {
        let Self::Overdue(mut overdue) = self else { return Overdue::default() };
        let count = overdue.jobs.len();
        overdue.jobs.retain(|done| !in_flight.touches(done.seq));
        if overdue.jobs.len() < count {
            // The jobs left out are still overdue, so their entries must stay listed.
            overdue.through = None;
        }
        overdue
    }

    /// Jobs of the dead letter whose replay is due. Jobs with changes in flight are left for a later call.
    pub fn due_replays(self, in_flight: &InFlight) -> Vec<DueReplay> {
        let Self::DueReplays(mut due) = self else { return Vec::new() };
        due.retain(|due| !in_flight.touches(due.seq));
        due
    }

    /// The oldest entries of the audit log. The engine skips those that it has deleted since.
    pub fn oldest_audit(self) -> Vec<AuditStub> {
        if let Self::OldestAudit(oldest) = self { oldest } else { Vec::new() }
    }
}
