//! Checking everything that is not a job: classes and counts, named rows, statistics, usage and the
//! journal.

use std::collections::{HashMap, HashSet};

use rota_model::usage::UsagePer;
use rota_model::{Class, ClassId};
use rota_store::{Counts, Period, RowKind};
use rusqlite::Connection;
use serde_json::value::RawValue;

use super::damage::{Damages, Rule};
use crate::internal_error::InternalError;
use crate::{Snapshot, migrate};

pub(super) struct Classes {
    ids: HashSet<ClassId>,
    counts: HashMap<ClassId, Counts>,
}

impl Classes {
    pub(super) fn read(conn: &Connection, damages: &mut Damages) -> Result<Self, InternalError> {
        Ok(Self { ids: class_ids(conn, damages)?, counts: counts(conn)? })
    }

    pub(super) fn contains(&self, id: ClassId) -> bool {
        self.ids.contains(&id)
    }

    pub(super) fn counts(&self, id: ClassId) -> Counts {
        self.counts.get(&id).copied().unwrap_or_default()
    }

    pub(super) fn counted(&self) -> impl Iterator<Item = ClassId> {
        self.counts.keys().copied()
    }
}

fn class_ids(conn: &Connection, damages: &mut Damages) -> Result<HashSet<ClassId>, InternalError> {
    let mut statement = conn.prepare("SELECT id, json FROM classes")?;
    let mut rows = statement.query([])?;
    let mut ids = HashSet::new();
    while let Some(row) = rows.next()? {
        let id = ClassId(row.get(0)?);
        ids.insert(id);
        let json = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        if serde_json::from_str::<Class>(json).is_err() {
            damages.found(Rule::MalformedClass, id.0);
        }
    }
    Ok(ids)
}

fn counts(conn: &Connection) -> Result<HashMap<ClassId, Counts>, InternalError> {
    let mut statement = conn.prepare(
        "SELECT class, completed, cancelled, dead_letter, discarded, expired FROM counts",
    )?;
    let mut rows = statement.query([])?;
    let mut counts = HashMap::new();
    while let Some(row) = rows.next()? {
        let mut of_class = Counts::default();
        for (i, count) in of_class.0.iter_mut().enumerate() {
            *count = row.get::<_, i64>(1 + i)? as u64;
        }
        counts.insert(ClassId(row.get(0)?), of_class);
    }
    Ok(counts)
}

pub(super) fn check(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    named_rows(snapshot.conn(), damages)?;
    if snapshot.format() >= FIRST_WITH_HISTORY {
        history(snapshot.conn(), damages)?;
    }
    if snapshot.format() >= migrate::LIMITS {
        journal(snapshot, damages)?;
    }
    if snapshot.format() >= migrate::USAGE {
        usage(snapshot.conn(), damages)?;
    }
    Ok(())
}

const FIRST_WITH_HISTORY: u32 = 2;

fn named_rows(conn: &Connection, damages: &mut Damages) -> Result<(), InternalError> {
    let mut statement = conn.prepare("SELECT kind, name, json FROM named")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name): (u8, String) = (row.get(0)?, row.get(1)?);
        let json = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        if RowKind::from_code(kind).is_none() || !is_json(json) {
            damages.found(Rule::MalformedNamed, name);
        }
    }
    Ok(())
}

fn history(conn: &Connection, damages: &mut Damages) -> Result<(), InternalError> {
    let mut statement = conn.prepare("SELECT period, queue, at, data FROM history")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (period, queue, at): (u8, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let data = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
        let period = [Period::Minute, Period::Hour].into_iter().find(|p| p.code() == period);
        let is_aligned = period.is_some_and(|period| at.rem_euclid(period.ms()) == 0);
        if !is_aligned || !is_json(data) {
            damages.found(Rule::MalformedHistory, format!("'{queue}' at {at}"));
        }
    }
    Ok(())
}

fn usage(conn: &Connection, damages: &mut Damages) -> Result<(), InternalError> {
    let mut statement = conn.prepare("SELECT per, tenant, at FROM usage")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (per, tenant, at): (u8, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let per = UsagePer::ALL.into_iter().find(|candidate| candidate.code() == per);
        if per.is_none_or(|per| at.rem_euclid(per.ms()) != 0) {
            damages.found(Rule::MalformedHistory, format!("usage of '{tenant}' at {at}"));
        }
    }
    Ok(())
}

fn journal(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    // The data is read too, so that an unreadable page is found here and not at the next start.
    let mut statement = snapshot.conn().prepare("SELECT number, data FROM journal")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        row.get_ref(1)?;
        let committed = 1..=snapshot.loaded().number;
        if !u64::try_from(number).is_ok_and(|number| committed.contains(&number)) {
            damages.found(Rule::JournalAhead, number);
        }
    }
    Ok(())
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}
