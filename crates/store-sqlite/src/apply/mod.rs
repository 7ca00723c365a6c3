//! One mutation after the other, inside the transaction of its batch.
//!
//! The engine has resolved everything before it decided, so a row that is missing or in the way is
//! a broken invariant, never an ordinary answer: it is refused, and with it the whole batch.

mod jobs;
mod purge;
mod things;
mod waiting;

use std::collections::BTreeMap;

use rota_model::Seq;
use rota_store::{Claim, Finish, Mutation};
use rusqlite::{CachedStatement, Connection, Params};

use crate::fault::Fault;
use crate::zones::OpenZones;

/// The statements of the hot path are looked up once per batch instead of once per mutation.
pub(crate) struct Applier<'c> {
    conn: &'c Connection,
    zones: &'c mut OpenZones,
    /// The batch's, under which its journal is kept.
    number: u64,
    insert_job: CachedStatement<'c>,
    insert_live: CachedStatement<'c>,
    insert_plain: CachedStatement<'c>,
    claim: CachedStatement<'c>,
    delete_live: CachedStatement<'c>,
    carried: CachedStatement<'c>,
    insert_done: CachedStatement<'c>,
    delete_done: CachedStatement<'c>,
    delete_jobs: CachedStatement<'c>,
    delete_errors: CachedStatement<'c>,
    put_counts: CachedStatement<'c>,
    /// Jobs that ended in this batch, by when retention may remove them.
    purges: BTreeMap<i64, String>,
}

impl<'c> Applier<'c> {
    pub(crate) fn new(
        conn: &'c Connection,
        zones: &'c mut OpenZones,
        number: u64,
    ) -> Result<Self, Fault> {
        Ok(Self {
            conn,
            zones,
            number,
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
            carried: conn.prepare_cached(
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
            put_counts: conn.prepare_cached(
                "INSERT INTO counts (class, completed, cancelled, dead_letter, discarded, expired) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (class) DO UPDATE SET \
                 completed = ?2, cancelled = ?3, dead_letter = ?4, discarded = ?5, expired = ?6",
            )?,
            purges: BTreeMap::new(),
        })
    }

    /// Everything, as if one after the other. Claims, ends and deletions wait a little, because
    /// those of jobs with consecutive numbers cost much less together.
    pub(crate) fn apply_all(&mut self, mutations: &[Mutation]) -> Result<(), Fault> {
        let mut later = Later::default();
        for mutation in mutations {
            if must_not_overtake(mutation, &later) {
                self.catch_up(&mut later)?;
            }
            self.apply(mutation, &mut later)?;
        }
        self.catch_up(&mut later)?;
        self.note_purges()
    }

    /// A job is claimed before it ends, and ends before it is deleted.
    fn catch_up(&mut self, later: &mut Later<'_>) -> Result<(), Fault> {
        self.claim_all(&mut later.claims)?;
        self.finish_all(&mut later.ends)?;
        self.delete_all(&mut later.deletions)
    }

    fn apply<'m>(&mut self, mutation: &'m Mutation, later: &mut Later<'m>) -> Result<(), Fault> {
        match mutation {
            Mutation::Claim(claim) => later.claims.push(claim),
            Mutation::Finish(finish) => later.ends.push(finish),
            Mutation::Delete(seq) => later.deletions.push(*seq),
            Mutation::Class(id, class) => self.put_class(*id, class)?,
            Mutation::DropClass(id) => self.drop_class(*id)?,
            Mutation::Counts(id, counts) => self.count(*id, counts)?,
            Mutation::Insert(new, live) => self.insert(new, live)?,
            Mutation::Extend { seq, due, reserved_ms } => self.extend(*seq, *due, *reserved_ms)?,
            Mutation::Backoff(backoff) => self.back_off(backoff)?,
            Mutation::Postpone { seq, due } => self.postpone(*seq, *due)?,
            Mutation::Ready(ready) => self.make_ready(ready)?,
            Mutation::Revive { seq, enqueued } => self.revive(*seq, *enqueued)?,
            Mutation::Purged(through) => self.sweep(*through)?,
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
        }
        Ok(())
    }

    fn run(&self, sql: &str, params: impl Params) -> Result<usize, Fault> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }
}

/// What has been put off.
#[derive(Default)]
struct Later<'m> {
    claims: Vec<&'m Claim>,
    ends: Vec<&'m Finish>,
    deletions: Vec<Seq>,
}

/// Whether this may concern a job for which something was put off. A new job does only where it
/// takes the place of a deleted one, and a job is not claimed or ended again without being made
/// ready or revived in between. Nor is one postponed, which must be available: so what a fetch
/// postpones on its way does not tear apart what it claims.
fn must_not_overtake(mutation: &Mutation, later: &Later<'_>) -> bool {
    match mutation {
        Mutation::Insert(..) => !later.deletions.is_empty(),
        Mutation::DropClass(_)
        | Mutation::Extend { .. }
        | Mutation::Backoff(_)
        | Mutation::Ready(_)
        | Mutation::Revive { .. }
        | Mutation::Error(_) => true,
        Mutation::Claim(_)
        | Mutation::Finish(_)
        | Mutation::Delete(_)
        | Mutation::Postpone { .. }
        | Mutation::Class(..)
        | Mutation::Counts(..)
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
        | Mutation::TrimJournal(_) => false,
    }
}
