//! Applying the mutations of a batch inside its transaction.
//!
//! The engine has resolved all ids before it decided, so a missing or conflicting row is a broken
//! invariant, and the whole batch is rejected.

mod dead_letter;
mod jobs;
mod live_jobs;
mod new_jobs;
mod other_tables;
mod purge;

use std::collections::BTreeMap;

use new_jobs::NewJobs;
use rota_model::Seq;
use rota_store::{Batch, Claim, Finish, Mutation};
use rusqlite::{CachedStatement, Connection, Params};

use crate::internal_error::InternalError;
use crate::stored_bytes::ByteCounter;
use crate::zones::OpenZones;

/// Applies the batches of a portion. The most frequent statements are fetched from the statement cache once
/// per portion instead of once per mutation.
pub(crate) struct Applier<'c> {
    conn: &'c Connection,
    zones: &'c mut OpenZones,
    bytes: &'c mut ByteCounter,
    /// The number of the batch that is being applied, which is the key of its journal entry.
    batch_number: u64,
    insert_job: CachedStatement<'c>,
    insert_live: CachedStatement<'c>,
    insert_plain: CachedStatement<'c>,
    claim: CachedStatement<'c>,
    delete_live: CachedStatement<'c>,
    select_live: CachedStatement<'c>,
    insert_done: CachedStatement<'c>,
    delete_done: CachedStatement<'c>,
    delete_jobs: CachedStatement<'c>,
    delete_errors: CachedStatement<'c>,
    delete_dead: CachedStatement<'c>,
    delete_replays: CachedStatement<'c>,
    select_sizes: CachedStatement<'c>,
    put_counts: CachedStatement<'c>,
    /// Sequence numbers of the jobs that this batch finishes, comma-separated, by purge time.
    purges: BTreeMap<i64, String>,
}

impl<'c> Applier<'c> {
    pub(crate) fn new(
        conn: &'c Connection,
        zones: &'c mut OpenZones,
        bytes: &'c mut ByteCounter,
    ) -> Result<Self, InternalError> {
        Ok(Self {
            conn,
            zones,
            bytes,
            batch_number: 0,
            insert_job: conn.prepare_cached(
                "INSERT INTO jobs (seq, id, given, class, created, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            insert_live: conn.prepare_cached(
                "INSERT INTO live (seq, class, state, attempt, enqueued, due, started, expires, \
                 worker, reserved_ms, held, bytes, pauses, pool) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?,
            insert_plain: conn.prepare_cached(
                "INSERT INTO live (seq, class, state, attempt, enqueued, reserved_ms, held, bytes) \
                 VALUES (?1, ?2, 1, 0, ?3, 0, 0, ?4)",
            )?,
            claim: conn.prepare_cached(
                "UPDATE live SET state = 3, attempt = ?3, started = ?4, due = ?5, \
                 reserved_ms = ?6, worker = ?7, pool = ?8 WHERE seq BETWEEN ?1 AND ?2",
            )?,
            delete_live: conn.prepare_cached("DELETE FROM live WHERE seq BETWEEN ?1 AND ?2")?,
            select_live: conn.prepare_cached(
                "SELECT seq, class, attempt, enqueued, started, expires FROM live \
                 WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
            )?,
            insert_done: conn.prepare_cached(
                "INSERT INTO done (seq, class, ending, at, attempt, enqueued, started, expires, \
                 purge_at, result) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?,
            delete_done: conn.prepare_cached("DELETE FROM done WHERE seq BETWEEN ?1 AND ?2")?,
            delete_jobs: conn.prepare_cached("DELETE FROM jobs WHERE seq BETWEEN ?1 AND ?2")?,
            delete_errors: conn.prepare_cached("DELETE FROM errors WHERE seq BETWEEN ?1 AND ?2")?,
            delete_dead: conn.prepare_cached("DELETE FROM dead WHERE seq BETWEEN ?1 AND ?2")?,
            delete_replays: conn
                .prepare_cached("DELETE FROM replays WHERE seq BETWEEN ?1 AND ?2")?,
            // `length` does not read the blob. `CROSS JOIN` keeps the order: most jobs have no errors.
            select_sizes: conn.prepare_cached(
                "SELECT class, length(body) FROM jobs WHERE seq BETWEEN ?1 AND ?2 \
                 UNION ALL SELECT class, length(result) FROM done \
                 WHERE seq BETWEEN ?1 AND ?2 AND result IS NOT NULL \
                 UNION ALL SELECT class, length(json) FROM errors CROSS JOIN jobs USING (seq) \
                 WHERE errors.seq BETWEEN ?1 AND ?2 \
                 UNION ALL SELECT class, length(json) FROM replays CROSS JOIN jobs USING (seq) \
                 WHERE replays.seq BETWEEN ?1 AND ?2",
            )?,
            put_counts: conn.prepare_cached(
                "INSERT INTO counts (class, completed, cancelled, dead_letter, discarded, expired) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (class) DO UPDATE SET \
                 completed = ?2, cancelled = ?3, dead_letter = ?4, discarded = ?5, expired = ?6",
            )?,
            purges: BTreeMap::new(),
        })
    }

    /// Applies all batches, with the same result as one mutation after another. Claims, finishes and deletions are
    /// deferred, because jobs with consecutive sequence numbers cost much less in one statement.
    pub(crate) fn apply_all(&mut self, batches: &[Batch]) -> Result<(), InternalError> {
        let mut deferred = Deferred::default();
        for batch in batches {
            self.batch_number = batch.number;
            for mutation in &batch.mutations {
                if depends_on_deferred(mutation, &deferred) {
                    self.apply_deferred(&mut deferred)?;
                }
                self.apply(mutation, &mut deferred)?;
            }
        }
        self.apply_deferred(&mut deferred)?;
        self.write_purge_rows()
    }

    /// The order matters: a job is claimed before it finishes, and finishes before it is deleted.
    fn apply_deferred(&mut self, deferred: &mut Deferred<'_>) -> Result<(), InternalError> {
        self.insert_live_rows(&mut deferred.new_jobs)?;
        self.claim_all(&mut deferred.claims)?;
        self.finish_all(&mut deferred.finishes)?;
        self.delete_all(&mut deferred.deletions)
    }

    fn apply<'m>(
        &mut self,
        mutation: &'m Mutation,
        deferred: &mut Deferred<'m>,
    ) -> Result<(), InternalError> {
        match mutation {
            Mutation::Claim(claim) => {
                if !deferred.new_jobs.claim(claim) {
                    deferred.claims.push(claim);
                }
            }
            Mutation::Finish(finish) => match deferred.new_jobs.take(finish.seq) {
                Some(live) => self.insert_finished(&live, finish)?,
                None => deferred.finishes.push(finish),
            },
            Mutation::Delete(seq) => deferred.deletions.push(*seq),
            Mutation::Class(id, class) => self.put_class(*id, class)?,
            Mutation::DropClass(id) => self.drop_class(*id)?,
            Mutation::Counts(id, counts) => self.put_counts(*id, counts)?,
            Mutation::Insert(new, live) => {
                self.insert_job(new)?;
                deferred.new_jobs.add(live);
            }
            Mutation::Extend { seq, due, reserved_ms } => self.extend(*seq, *due, *reserved_ms)?,
            Mutation::RequestCancel(seq) => self.request_cancel(*seq)?,
            Mutation::Backoff(backoff) => self.back_off(backoff)?,
            Mutation::Postpone { seq, due } => self.postpone(*seq, *due)?,
            Mutation::Ready(ready) => self.make_ready(ready)?,
            Mutation::Revive { seq, enqueued } => self.revive(*seq, *enqueued)?,
            Mutation::Bury(seq, dead) => self.bury(*seq, dead)?,
            Mutation::Rewrite(rewrite) => self.rewrite(rewrite)?,
            Mutation::Replayed(seq, json) => self.put_replays(*seq, json)?,
            Mutation::Purged(through) => self.delete_purge_rows(*through)?,
            Mutation::Error(row) => self.add_error(row)?,
            Mutation::Put(kind, name, json) => self.put(*kind, name, json)?,
            Mutation::Remove(kind, name) => self.remove(*kind, name)?,
            Mutation::History(row) => self.put_history(row)?,
            Mutation::ForgetHistory { period, before, most } => {
                self.forget_history(*period, *before, *most)?;
            }
            Mutation::ForgetHistoryOf(queue) => self.forget_history_of(queue)?,
            Mutation::AddUsage(row) => self.add_usage(row)?,
            Mutation::ForgetUsage { per, before, most } => {
                self.forget_usage(*per, *before, *most)?;
            }
            Mutation::ForgetTenantUsage(tenant) => self.forget_tenant_usage(tenant)?,
            Mutation::Journal(data) => self.write_journal(data)?,
            Mutation::TrimJournal(before) => self.trim_journal(*before)?,
            Mutation::Audit(row) => self.write_audit_entry(row)?,
            Mutation::TrimAudit(through) => self.trim_audit_log(*through)?,
        }
        Ok(())
    }

    fn run(&self, sql: &str, params: impl Params) -> Result<usize, InternalError> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }
}

/// Mutations that are applied together later in the portion.
#[derive(Default)]
struct Deferred<'m> {
    new_jobs: NewJobs,
    claims: Vec<&'m Claim>,
    finishes: Vec<&'m Finish>,
    deletions: Vec<Seq>,
}

/// Whether the mutation may concern a job that has a deferred mutation.
///
/// An insertion does only if it reuses the id or number of a deleted job. A job is not claimed or
/// finished again without a `Ready` or `Revive` in between. A postponed job is available, so it has
/// no deferred claim either: a fetch that postpones some jobs can still claim the others together, unless its row
/// is not written yet.
fn depends_on_deferred(mutation: &Mutation, deferred: &Deferred<'_>) -> bool {
    match mutation {
        Mutation::Insert(..) => !deferred.deletions.is_empty(),
        Mutation::Postpone { seq, .. } => deferred.new_jobs.contains(*seq),
        Mutation::DropClass(_)
        | Mutation::Extend { .. }
        | Mutation::RequestCancel(_)
        | Mutation::Backoff(_)
        | Mutation::Ready(_)
        | Mutation::Revive { .. }
        | Mutation::Bury(..)
        | Mutation::Rewrite(_)
        | Mutation::Error(_) => true,
        Mutation::Claim(_)
        | Mutation::Finish(_)
        | Mutation::Delete(_)
        | Mutation::Class(..)
        | Mutation::Counts(..)
        | Mutation::Replayed(..)
        | Mutation::Purged(_)
        | Mutation::Put(..)
        | Mutation::Remove(..)
        | Mutation::History(_)
        | Mutation::ForgetHistory { .. }
        | Mutation::ForgetHistoryOf(_)
        | Mutation::AddUsage(_)
        | Mutation::ForgetUsage { .. }
        | Mutation::ForgetTenantUsage(_)
        | Mutation::Journal(_)
        | Mutation::TrimJournal(_)
        | Mutation::Audit(_)
        | Mutation::TrimAudit(_) => false,
    }
}
