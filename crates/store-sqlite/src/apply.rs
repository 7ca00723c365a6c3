//! One mutation after the other, inside the transaction of its batch.
//!
//! The engine has resolved everything before it decided, so a row that is missing or in the way is
//! a broken invariant, never an ordinary answer: it is refused, and with it the whole batch.

use bytes::Bytes;
use rota_model::{Class, ClassId, ErrorRow, Live, Millis, Seq};
use rota_store::{
    Claim, Counts, ERRORS_KEPT, Finish, HistoryRow, Kind, Mutation, NewRow, Period, Ready,
};
use rusqlite::{CachedStatement, Connection, Params};

use crate::fault::Fault;
use crate::row::{key, when};

/// The statements of the hot path are looked up once per batch instead of once per mutation.
pub(crate) struct Applier<'c> {
    conn: &'c Connection,
    insert_job: CachedStatement<'c>,
    insert_live: CachedStatement<'c>,
    claim: CachedStatement<'c>,
    delete_live: CachedStatement<'c>,
    finish: CachedStatement<'c>,
    delete_done: CachedStatement<'c>,
    delete_job: CachedStatement<'c>,
    has_errors: CachedStatement<'c>,
    put_counts: CachedStatement<'c>,
}

impl<'c> Applier<'c> {
    pub(crate) fn new(conn: &'c Connection) -> Result<Self, Fault> {
        Ok(Self {
            conn,
            insert_job: conn.prepare_cached(
                "INSERT INTO jobs (seq, id, class, created, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
            insert_live: conn.prepare_cached(
                "INSERT INTO live (seq, class, state, attempt, enqueued, due, started, expires, \
                 worker, reserved_ms, held) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?,
            claim: conn.prepare_cached(
                "UPDATE live SET state = 3, attempt = ?2, started = ?3, due = ?4, \
                 reserved_ms = ?5, worker = ?6 WHERE seq = ?1",
            )?,
            delete_live: conn.prepare_cached("DELETE FROM live WHERE seq = ?1")?,
            finish: conn.prepare_cached(
                "INSERT OR ROLLBACK INTO done (seq, class, ending, at, attempt, enqueued, started, expires, \
                 purge_at, result) SELECT seq, class, ?2, ?3, attempt, enqueued, started, expires, \
                 ?4, ?5 FROM live WHERE seq = ?1",
            )?,
            delete_done: conn.prepare_cached("DELETE FROM done WHERE seq = ?1")?,
            delete_job: conn.prepare_cached("DELETE FROM jobs WHERE seq = ?1")?,
            has_errors: conn.prepare_cached("SELECT 1 FROM errors WHERE seq = ?1")?,
            put_counts: conn.prepare_cached(
                "INSERT INTO counts (class, completed, cancelled, dead_letter, discarded, expired) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (class) DO UPDATE SET \
                 completed = ?2, cancelled = ?3, dead_letter = ?4, discarded = ?5, expired = ?6",
            )?,
        })
    }

    pub(crate) fn apply(&mut self, mutation: &Mutation) -> Result<(), Fault> {
        match mutation {
            Mutation::Class(id, class) => self.put_class(*id, class),
            Mutation::DropClass(id) => self.drop_class(*id),
            Mutation::Counts(id, counts) => self.count(*id, counts),
            Mutation::Insert(new, live) => self.insert(new, live),
            Mutation::Claim(claim) => self.claim(claim),
            Mutation::Extend { seq, due, reserved_ms } => self.extend(*seq, *due, *reserved_ms),
            Mutation::Backoff { seq, due } => self.back_off(*seq, *due),
            Mutation::Ready(ready) => self.make_ready(ready),
            Mutation::Finish(finish) => self.finish(finish),
            Mutation::Revive { seq, enqueued } => self.revive(*seq, *enqueued),
            Mutation::Delete(seq) => self.delete(*seq),
            Mutation::Error(row) => self.add_error(row),
            Mutation::Put(kind, name, json) => self.put(*kind, name, json),
            Mutation::Remove(kind, name) => self.remove(*kind, name),
            Mutation::History(row) => self.put_history(row),
            Mutation::ForgetHistory(period, before) => self.forget_history(*period, *before),
        }
    }

    fn insert(&mut self, new: &NewRow, live: &Live) -> Result<(), Fault> {
        let id = new.id.to_bytes();
        self.insert_job.execute((
            key(new.seq),
            &id[..],
            new.class.0,
            new.created.0,
            &new.body[..],
        ))?;
        self.insert_live.execute((
            key(live.seq),
            live.class.0,
            live.state.code(),
            live.attempt,
            live.enqueued.0,
            when(live.due),
            when(live.started),
            when(live.expires),
            live.worker.as_deref(),
            live.reserved_ms as i64,
            live.held,
        ))?;
        Ok(())
    }

    fn claim(&mut self, claim: &Claim) -> Result<(), Fault> {
        let changed = self.claim.execute((
            key(claim.seq),
            claim.attempt,
            claim.started.0,
            claim.due.0,
            claim.reserved_ms as i64,
            claim.worker.as_deref(),
        ))?;
        one(changed, "claim", claim.seq)
    }

    fn extend(&self, seq: Seq, due: Millis, reserved_ms: u64) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET due = ?2, reserved_ms = ?3 WHERE seq = ?1",
            (key(seq), due.0, reserved_ms as i64),
        )?;
        one(changed, "extend", seq)
    }

    fn back_off(&self, seq: Seq, due: Millis) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET state = 5, due = ?2, worker = NULL, reserved_ms = 0 WHERE seq = ?1",
            (key(seq), due.0),
        )?;
        one(changed, "back off", seq)
    }

    fn make_ready(&self, ready: &Ready) -> Result<(), Fault> {
        let changed = self.run(
            "UPDATE live SET state = 1, enqueued = ?2, attempt = coalesce(?3, attempt), \
             held = ?4, due = NULL, worker = NULL, reserved_ms = 0 WHERE seq = ?1",
            (key(ready.seq), ready.enqueued.0, ready.attempt, ready.held),
        )?;
        one(changed, "make ready", ready.seq)
    }

    fn finish(&mut self, finish: &Finish) -> Result<(), Fault> {
        let changed = self.finish.execute((
            key(finish.seq),
            finish.ending.code(),
            finish.at.0,
            when(finish.purge_at),
            finish.result.as_deref(),
        ))?;
        one(changed, "finish", finish.seq)?;
        self.delete_live.execute([key(finish.seq)])?;
        Ok(())
    }

    fn revive(&mut self, seq: Seq, enqueued: Millis) -> Result<(), Fault> {
        let changed = self.run(
            "INSERT INTO live (seq, class, state, attempt, enqueued, expires, reserved_ms, held) \
             SELECT seq, class, 1, 0, ?2, expires, 0, 0 FROM done WHERE seq = ?1",
            (key(seq), enqueued.0),
        )?;
        one(changed, "revive", seq)?;
        self.delete_done.execute([key(seq)])?;
        self.forget_errors(seq)
    }

    fn delete(&mut self, seq: Seq) -> Result<(), Fault> {
        one(self.delete_job.execute([key(seq)])?, "delete", seq)?;
        // Nearly always it is retention that deletes, and the job has finished.
        if self.delete_done.execute([key(seq)])? == 0 {
            one(self.delete_live.execute([key(seq)])?, "delete", seq)?;
        }
        self.forget_errors(seq)
    }

    /// Most jobs have none, and looking is much cheaper than a deletion of any number of rows.
    fn forget_errors(&mut self, seq: Seq) -> Result<(), Fault> {
        if self.has_errors.exists([key(seq)])? {
            self.run("DELETE FROM errors WHERE seq = ?1", [key(seq)])?;
        }
        Ok(())
    }

    fn count(&mut self, id: ClassId, counts: &Counts) -> Result<(), Fault> {
        let [completed, cancelled, dead_letter, discarded, expired] = counts.0.map(|n| n as i64);
        self.put_counts.execute((id.0, completed, cancelled, dead_letter, discarded, expired))?;
        Ok(())
    }

    fn put_class(&self, id: ClassId, class: &Class) -> Result<(), Fault> {
        let json = serde_json::to_string(class).map_err(|error| {
            Fault::Refused(format!("class {} cannot be written: {error}", id.0))
        })?;
        self.run(
            "INSERT INTO classes (id, json) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET json = ?2",
            (id.0, json),
        ).map(drop)
    }

    fn drop_class(&self, id: ClassId) -> Result<(), Fault> {
        self.run("DELETE FROM classes WHERE id = ?1", [id.0])?;
        self.run("DELETE FROM counts WHERE class = ?1", [id.0]).map(drop)
    }

    fn add_error(&self, row: &ErrorRow) -> Result<(), Fault> {
        self.run(
            "INSERT INTO errors (seq, n, attempt, json) \
             SELECT ?1, coalesce(max(n), 0) + 1, ?2, ?3 FROM errors WHERE seq = ?1",
            (key(row.seq), row.attempt, &row.json[..]),
        )?;
        self.run(
            "DELETE FROM errors WHERE seq = ?1 \
             AND n <= (SELECT max(n) FROM errors WHERE seq = ?1) - ?2",
            (key(row.seq), ERRORS_KEPT as i64),
        )
        .map(drop)
    }

    fn put(&self, kind: Kind, name: &str, json: &Bytes) -> Result<(), Fault> {
        self.run(
            "INSERT INTO named (kind, name, json) VALUES (?1, ?2, ?3) \
             ON CONFLICT (kind, name) DO UPDATE SET json = ?3",
            (kind.code(), name, &json[..]),
        )
        .map(drop)
    }

    fn remove(&self, kind: Kind, name: &str) -> Result<(), Fault> {
        self.run("DELETE FROM named WHERE kind = ?1 AND name = ?2", (kind.code(), name)).map(drop)
    }

    fn put_history(&self, row: &HistoryRow) -> Result<(), Fault> {
        self.run(
            "INSERT INTO history (period, queue, at, data) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (period, queue, at) DO UPDATE SET data = ?4",
            (row.period.code(), &*row.queue, row.at.0, &row.data[..]),
        )
        .map(drop)
    }

    fn forget_history(&self, period: Period, before: Millis) -> Result<(), Fault> {
        self.run("DELETE FROM history WHERE period = ?1 AND at < ?2", (period.code(), before.0))
            .map(drop)
    }

    fn run(&self, sql: &str, params: impl Params) -> Result<usize, Fault> {
        Ok(self.conn.prepare_cached(sql)?.execute(params)?)
    }
}

fn one(changed: usize, what: &str, seq: Seq) -> Result<(), Fault> {
    if changed == 1 {
        return Ok(());
    }
    Err(Fault::Refused(format!("cannot {what} job {seq}: it is not where it should be")))
}
