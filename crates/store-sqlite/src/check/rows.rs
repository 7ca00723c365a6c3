//! Every job, in one pass over all tables that tell of it, each in the order of the jobs' numbers.

use std::collections::HashMap;

use rota_model::{ClassId, Done, IdKey, JobId, Live, Seq, State};
use rota_store::Counts;
use rusqlite::Row;

use super::Census;
use super::cursor::Cursor;
use super::damage::{Damages, Rule};
use super::listed::Listed;
use super::mapped::Mapped;
use super::things::Classes;
use crate::fault::Fault;
use crate::{Snapshot, migrate, row};

pub(super) fn check(
    snapshot: &Snapshot,
    classes: &Classes,
    damages: &mut Damages,
) -> Result<Census, Fault> {
    let conn = snapshot.conn();
    let is_old = snapshot.format() < migrate::SEALED_IDS;
    let given = if is_old { "1" } else { "given" };
    let (bytes, living) = match snapshot.format() {
        ..migrate::LIMITS => {
            ("NULL", "(SELECT *, 0 AS bytes, 0 AS pauses, NULL AS pool FROM live)")
        }
        migrate::LIMITS..migrate::POOLS => ("length(body)", "(SELECT *, NULL AS pool FROM live)"),
        _ => ("length(body)", "live"),
    };
    let mut jobs =
        conn.prepare(&format!("SELECT seq, class, id, {given}, {bytes} FROM jobs ORDER BY seq"))?;
    let mut live = conn.prepare(&format!("SELECT {} FROM {living} ORDER BY seq", row::LIVE))?;
    // A finished job has no size of its own that could be wrong.
    let mut done = conn.prepare(&format!("SELECT {}, 0 FROM done ORDER BY seq", row::DONE))?;
    let mut errors = conn.prepare("SELECT DISTINCT seq FROM errors ORDER BY seq")?;
    let mut jobs = Cursor::over(jobs.query([])?, job)?;
    let mut live = Cursor::over(live.query([])?, row::live)?;
    let mut done = Cursor::over(done.query([])?, row::done)?;
    let mut errors = Cursor::over(errors.query([])?, |_| Ok(()))?;

    let next_seq = snapshot.loaded().next_seq;
    let has_zones = snapshot.format() >= migrate::ZONES;
    let mut judge = Judge {
        next_seq,
        id_key: snapshot.loaded().id_key,
        listed: if is_old { None } else { Some(Listed::read(conn)?) },
        mapped: if has_zones { Some(Mapped::read(conn, next_seq)?) } else { None },
        census: Census::default(),
        finished: HashMap::new(),
        classes,
        damages,
    };
    let first = |keys: [Option<i64>; 4]| keys.into_iter().flatten().min();
    while let Some(key) = first([jobs.key(), live.key(), done.key(), errors.key()]) {
        judge.job(Entries {
            seq: row::seq(key),
            job: jobs.take(key)?,
            live: live.take(key)?,
            done: done.take(key)?,
            has_errors: errors.take(key)?.is_some(),
        })?;
    }
    judge.counts();
    Ok(judge.census)
}

/// What all tables say about one number.
struct Entries {
    seq: Seq,
    job: Option<Result<Job, Fault>>,
    live: Option<Result<Live, Fault>>,
    done: Option<Result<Done, Fault>>,
    has_errors: bool,
}

struct Job {
    class: ClassId,
    id: JobId,
    given: bool,
    /// Where living jobs tell it too.
    bytes: Option<u32>,
}

fn job(row: &Row<'_>) -> Result<Job, Fault> {
    let id = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    let id = id.try_into().map_err(|_| Fault::Damaged(format!("an id has {} bytes", id.len())))?;
    Ok(Job {
        class: ClassId(row.get(1)?),
        id: JobId::from_bytes(id),
        given: row.get(3)?,
        bytes: row.get(4)?,
    })
}

struct Judge<'a> {
    next_seq: Seq,
    id_key: IdKey,
    /// Older formats have an index instead, which SQLite checks.
    listed: Option<Listed>,
    mapped: Option<Mapped<'a>>,
    census: Census,
    finished: HashMap<ClassId, Counts>,
    classes: &'a Classes,
    damages: &'a mut Damages,
}

impl Judge<'_> {
    fn job(&mut self, entries: Entries) -> Result<(), Fault> {
        let Entries { seq, job, live, done, has_errors } = entries;
        self.place(seq, job.is_some(), live.is_some(), done.is_some());
        if has_errors && job.is_none() {
            self.damages.found(Rule::ErrorsWithoutJob, seq);
        }
        if seq >= self.next_seq {
            self.damages.found(Rule::NumberNotGivenYet, seq);
        }
        let job = self.readable(job, Rule::MalformedJob, seq);
        let live = self.readable(live, Rule::MalformedLiving, seq);
        let done = self.readable(done, Rule::MalformedFinished, seq);
        if job.as_ref().is_some_and(|job| !job.given && job.id.unseal(self.id_key) != seq) {
            self.damages.found(Rule::AnothersId, seq);
        }
        let place = live.as_ref().map(|live| live.class).or(done.as_ref().map(|done| done.class));
        let bytes = job.as_ref().and_then(|job| job.bytes);
        self.class(seq, job.map(|job| job.class), place);
        if let (Some(mapped), Some(class)) = (&mut self.mapped, place)
            && !mapped.has(seq, class)?
        {
            self.damages.found(Rule::NotOnTheMap, seq);
        }
        if let Some(live) = live {
            self.living(&live, bytes);
        }
        if let Some(done) = done {
            let listed = |at| self.listed.as_ref().is_none_or(|listed| listed.has(seq, at));
            if done.purge_at.is_some_and(|at| !listed(at)) {
                self.damages.found(Rule::KeptForEver, seq);
            }
            *self.census.finished.get_mut(done.ending) += 1;
            *self.finished.entry(done.class).or_default().get_mut(done.ending) += 1;
        }
        Ok(())
    }

    fn place(&mut self, seq: Seq, job: bool, live: bool, done: bool) {
        let broken = match (job, live, done) {
            (true, false, false) => Rule::NowhereToBeFound,
            (_, true, true) => Rule::LivingAndFinished,
            (false, true, false) => Rule::LivingWithoutJob,
            (false, false, true) => Rule::FinishedWithoutJob,
            _ => return,
        };
        self.damages.found(broken, seq);
    }

    fn class(&mut self, seq: Seq, job: Option<ClassId>, place: Option<ClassId>) {
        match (job, place) {
            (Some(one), Some(other)) if one != other => {
                self.damages.found(Rule::AnotherClass, seq);
            }
            (Some(class), _) | (None, Some(class)) if !self.classes.contains(class) => {
                self.damages.found(Rule::UnknownClass, seq);
            }
            _ => {}
        }
    }

    fn living(&mut self, live: &Live, bytes: Option<u32>) {
        self.census.living[usize::from(live.state.code())] += 1;
        let needs_time = matches!(live.state, State::Active | State::Scheduled | State::Retryable);
        if needs_time && live.due.is_none() {
            self.damages.found(Rule::MissingTimer, live.seq);
        }
        if bytes.is_some_and(|bytes| bytes != live.bytes) {
            self.damages.found(Rule::AnotherSize, live.seq);
        }
    }

    fn readable<T>(&mut self, entry: Option<Result<T, Fault>>, rule: Rule, seq: Seq) -> Option<T> {
        entry?.inspect_err(|_| self.damages.found(rule, seq)).ok()
    }

    /// What the engine believes, against what there is.
    fn counts(&mut self) {
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
