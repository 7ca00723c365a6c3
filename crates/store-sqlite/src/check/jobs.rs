//! Checking every job, in one pass that merges all job tables by sequence number.

use std::collections::HashMap;

use rota_model::{ClassId, Done, IdKey, JobId, Live, Seq, State};
use rota_store::Counts;
use rusqlite::Row;

use super::Census;
use super::cursor::Cursor;
use super::damage::{Damages, Rule};
use super::other_tables::Classes;
use super::purge_list::PurgeList;
use super::zone_lookup::ZoneLookup;
use crate::internal_error::InternalError;
use crate::{Snapshot, migrate, row};

pub(super) fn check(
    snapshot: &Snapshot,
    classes: &Classes,
    damages: &mut Damages,
) -> Result<Census, InternalError> {
    let conn = snapshot.conn();
    let is_old = snapshot.format() < migrate::SEALED_IDS;
    let given = if is_old { "1" } else { "given" };
    let (bytes, live_table) = match snapshot.format() {
        ..migrate::LIMITS => {
            ("NULL", "(SELECT *, 0 AS bytes, 0 AS pauses, NULL AS pool FROM live)")
        }
        migrate::LIMITS..migrate::POOLS => ("length(body)", "(SELECT *, NULL AS pool FROM live)"),
        _ => ("length(body)", "live"),
    };
    let mut jobs =
        conn.prepare(&format!("SELECT seq, class, id, {given}, {bytes} FROM jobs ORDER BY seq"))?;
    let mut live = conn.prepare(&format!("SELECT {} FROM {live_table} ORDER BY seq", row::LIVE))?;
    // `done` does not store the size of the body, so there is none to check.
    let mut done = conn.prepare(&format!("SELECT {}, 0 FROM done ORDER BY seq", row::DONE))?;
    let mut errors = conn.prepare("SELECT DISTINCT seq FROM errors ORDER BY seq")?;
    let mut jobs = Cursor::over(jobs.query([])?, job)?;
    let mut live = Cursor::over(live.query([])?, row::live)?;
    let mut done = Cursor::over(done.query([])?, row::done)?;
    let mut errors = Cursor::over(errors.query([])?, |_| Ok(()))?;

    let next_seq = snapshot.loaded().next_seq;
    let has_zones = snapshot.format() >= migrate::ZONES;
    let mut checker = JobChecker {
        next_seq,
        id_key: snapshot.loaded().id_key,
        purge_list: if is_old { None } else { Some(PurgeList::read(conn)?) },
        zones: if has_zones { Some(ZoneLookup::read(conn, next_seq)?) } else { None },
        census: Census::default(),
        finished: HashMap::new(),
        classes,
        damages,
    };
    let first = |keys: [Option<i64>; 4]| keys.into_iter().flatten().min();
    while let Some(key) = first([jobs.key(), live.key(), done.key(), errors.key()]) {
        checker.check_job(Entries {
            seq: row::seq(key),
            job: jobs.take(key)?,
            live: live.take(key)?,
            done: done.take(key)?,
            has_errors: errors.take(key)?.is_some(),
        })?;
    }
    checker.check_counts();
    Ok(checker.census)
}

/// The rows of all tables for one sequence number.
struct Entries {
    seq: Seq,
    job: Option<Result<Job, InternalError>>,
    live: Option<Result<Live, InternalError>>,
    done: Option<Result<Done, InternalError>>,
    has_errors: bool,
}

struct Job {
    class: ClassId,
    id: JobId,
    given: bool,
    /// Size of the body; `None` in formats whose `live` table has no size to compare with.
    bytes: Option<u32>,
}

fn job(row: &Row<'_>) -> Result<Job, InternalError> {
    let id = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    let id = id
        .try_into()
        .map_err(|_| InternalError::Corrupt(format!("an id has {} bytes", id.len())))?;
    Ok(Job {
        class: ClassId(row.get(1)?),
        id: JobId::from_bytes(id),
        given: row.get(3)?,
        bytes: row.get(4)?,
    })
}

struct JobChecker<'a> {
    next_seq: Seq,
    id_key: IdKey,
    /// `None` in older formats, which have an index instead that SQLite checks.
    purge_list: Option<PurgeList>,
    zones: Option<ZoneLookup<'a>>,
    census: Census,
    finished: HashMap<ClassId, Counts>,
    classes: &'a Classes,
    damages: &'a mut Damages,
}

impl JobChecker<'_> {
    fn check_job(&mut self, entries: Entries) -> Result<(), InternalError> {
        let Entries { seq, job, live, done, has_errors } = entries;
        self.check_tables(seq, job.is_some(), live.is_some(), done.is_some());
        if has_errors && job.is_none() {
            self.damages.found(Rule::ErrorsWithoutJob, seq);
        }
        if seq >= self.next_seq {
            self.damages.found(Rule::SeqNotAssigned, seq);
        }
        let job = self.readable(job, Rule::MalformedJob, seq);
        let live = self.readable(live, Rule::MalformedLive, seq);
        let done = self.readable(done, Rule::MalformedFinished, seq);
        if job.as_ref().is_some_and(|job| !job.given && job.id.unseal(self.id_key) != seq) {
            self.damages.found(Rule::IdMismatch, seq);
        }
        let row_class =
            live.as_ref().map(|live| live.class).or(done.as_ref().map(|done| done.class));
        let bytes = job.as_ref().and_then(|job| job.bytes);
        self.check_class(seq, job.map(|job| job.class), row_class);
        if let (Some(zones), Some(class)) = (&mut self.zones, row_class)
            && !zones.has(seq, class)?
        {
            self.damages.found(Rule::MissingInZones, seq);
        }
        if let Some(live) = live {
            self.check_live(&live, bytes);
        }
        if let Some(done) = done {
            let is_listed = |purge_at| {
                self.purge_list.as_ref().is_none_or(|purge_list| purge_list.has(seq, purge_at))
            };
            if done.purge_at.is_some_and(|purge_at| !is_listed(purge_at)) {
                self.damages.found(Rule::MissingPurgeEntry, seq);
            }
            *self.census.finished.get_mut(done.ending) += 1;
            *self.finished.entry(done.class).or_default().get_mut(done.ending) += 1;
        }
        Ok(())
    }

    /// Checks that the job is in `jobs`, and in exactly one of `live` and `done`.
    fn check_tables(&mut self, seq: Seq, job: bool, live: bool, done: bool) {
        let broken = match (job, live, done) {
            (true, false, false) => Rule::JobWithoutState,
            (_, true, true) => Rule::LiveAndFinished,
            (false, true, false) => Rule::LiveWithoutJob,
            (false, false, true) => Rule::FinishedWithoutJob,
            _ => return,
        };
        self.damages.found(broken, seq);
    }

    fn check_class(&mut self, seq: Seq, job: Option<ClassId>, row: Option<ClassId>) {
        match (job, row) {
            (Some(job), Some(row)) if job != row => {
                self.damages.found(Rule::ClassMismatch, seq);
            }
            (Some(class), _) | (None, Some(class)) if !self.classes.contains(class) => {
                self.damages.found(Rule::UnknownClass, seq);
            }
            _ => {}
        }
    }

    fn check_live(&mut self, live: &Live, bytes: Option<u32>) {
        self.census.live[usize::from(live.state.code())] += 1;
        let needs_timer = matches!(live.state, State::Active | State::Scheduled | State::Retryable);
        if needs_timer && live.due.is_none() {
            self.damages.found(Rule::MissingTimer, live.seq);
        }
        if bytes.is_some_and(|bytes| bytes != live.bytes) {
            self.damages.found(Rule::SizeMismatch, live.seq);
        }
    }

    fn readable<T>(
        &mut self,
        entry: Option<Result<T, InternalError>>,
        rule: Rule,
        seq: Seq,
    ) -> Option<T> {
        entry?.inspect_err(|_| self.damages.found(rule, seq)).ok()
    }

    /// Compares the stored counts of finished jobs with the actual numbers.
    fn check_counts(&mut self) {
        let mut ids: Vec<_> = self.classes.counted().chain(self.finished.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let found = self.finished.get(&id).copied().unwrap_or_default();
            let counted = self.classes.counts(id);
            if found != counted {
                let (found, counted) = (found.total(), counted.total());
                let example = format!("class {}: {counted} counted, {found} there", id.0);
                self.damages.found(Rule::Counts, example);
            }
        }
    }
}
