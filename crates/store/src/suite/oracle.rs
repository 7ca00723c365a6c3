//! A reference implementation of a store in plain maps, to compare real stores with.

use std::collections::BTreeMap;

use bytes::Bytes;
use rota_model::row::JobRow;
use rota_model::{ClassId, DeadRow, Done, Ending, ErrorRow, Live, Millis, Seq, State, TenantId};

use super::sample::size;
use crate::{
    Backoff, Body, Claim, DeadFilter, ERRORS_KEPT, Finish, ListQuery, Mutation, NewRow, Order,
    Ready, Record, Undo,
};

#[derive(Default)]
pub(super) struct Oracle {
    /// Number of the batch that is being applied.
    number: u64,
    jobs: BTreeMap<Seq, Job>,
    journal: BTreeMap<u64, Bytes>,
}

struct Job {
    new: NewRow,
    row: JobRow,
    errors: Vec<Bytes>,
    replays: Option<Bytes>,
}

impl Oracle {
    pub(super) fn begin_batch(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(super) fn journal(&self) -> Vec<(u64, Bytes)> {
        self.journal.iter().map(|(number, data)| (*number, data.clone())).collect()
    }

    pub(super) fn apply(&mut self, mutation: &Mutation) {
        match mutation {
            Mutation::Insert(new, live) => {
                let row = JobRow::Live(Live::clone(live));
                let job = Job { new: new.clone(), row, errors: Vec::new(), replays: None };
                self.jobs.insert(new.seq, job);
            }
            Mutation::Claim(claim) => self.change(claim.seq, |live| apply_claim(live, claim)),
            Mutation::Extend { seq, due, reserved_ms } => self.change(*seq, |live| {
                live.due = Some(*due);
                live.reserved_ms = *reserved_ms;
            }),
            Mutation::RequestCancel(seq) => self.change(*seq, |live| live.marked = true),
            Mutation::Backoff(backoff) => {
                self.change(backoff.seq, |live| apply_backoff(live, *backoff))
            }
            Mutation::Postpone { seq, due } => self.change(*seq, |live| {
                assert_eq!(live.state, State::Available, "job {seq} is postponed");
                live.state = State::Scheduled;
                live.due = Some(*due);
                live.marked = true;
            }),
            Mutation::Ready(ready) => self.change(ready.seq, |live| apply_ready(live, *ready)),
            Mutation::Finish(finish) => self.finish(finish),
            Mutation::Bury(seq, dead) => match &mut self.job(*seq).row {
                JobRow::Done(done) => done.dead = Some(DeadRow::clone(dead)),
                JobRow::Live(_) => panic!("job {seq} has not finished"),
            },
            Mutation::Rewrite(rewrite) => {
                let job = self.job(rewrite.seq);
                (job.new.class, job.new.body) = (rewrite.class, rewrite.body.clone());
                let bytes = size(&rewrite.body);
                self.change(rewrite.seq, |live| (live.class, live.bytes) = (rewrite.class, bytes));
            }
            Mutation::Replayed(seq, json) => self.job(*seq).replays = Some(json.clone()),
            Mutation::Revive { seq, enqueued } => self.revive(*seq, *enqueued),
            Mutation::Delete(seq) => drop(self.jobs.remove(seq)),
            Mutation::Purged(_) => {}
            Mutation::Error(ErrorRow { seq, json, .. }) => {
                let errors = &mut self.job(*seq).errors;
                errors.push(json.clone());
                errors.drain(..errors.len().saturating_sub(ERRORS_KEPT));
            }
            Mutation::Journal(data) => {
                let before = self.journal.insert(self.number, data.clone());
                assert_eq!(before, None, "a batch has one entry");
            }
            Mutation::TrimJournal(before) => self.journal = self.journal.split_off(before),
            other => panic!("the oracle knows only jobs and the journal, not {other:?}"),
        }
    }

    pub(super) fn live(&self) -> Vec<Live> {
        let live = |job: &Job| match &job.row {
            JobRow::Live(live) => Some(live.clone()),
            JobRow::Done(_) => None,
        };
        self.jobs.values().filter_map(live).collect()
    }

    pub(super) fn done(&self) -> Vec<Done> {
        let done = |job: &Job| match &job.row {
            JobRow::Live(_) => None,
            JobRow::Done(done) => Some(done.clone()),
        };
        self.jobs.values().filter_map(done).collect()
    }

    pub(super) fn record(&self, seq: Seq) -> Option<Record> {
        self.jobs.get(&seq).map(|job| Record {
            seq,
            body: Body { id: job.new.id, created: job.new.created, json: job.new.body.clone() },
            row: job.row.clone(),
            errors: job.errors.clone(),
            replays: job.replays.clone(),
        })
    }

    /// The class of the job that a mutation was applied to, and the bytes that it wrote.
    pub(super) fn written_by(&self, mutation: &Mutation) -> Option<(ClassId, u64)> {
        let (seq, written) = match mutation {
            Mutation::Insert(new, _) => (new.seq, &new.body),
            Mutation::Finish(finish) => (finish.seq, finish.result.as_ref()?),
            Mutation::Rewrite(rewrite) => (rewrite.seq, &rewrite.body),
            Mutation::Replayed(seq, json) => (*seq, json),
            Mutation::Error(error) => (error.seq, &error.json),
            _ => return None,
        };
        Some((self.jobs[&seq].new.class, written.len() as u64))
    }

    /// Bytes of all jobs, by tenant.
    pub(super) fn stored(&self, tenant: impl Fn(ClassId) -> TenantId) -> BTreeMap<TenantId, u64> {
        let mut stored = BTreeMap::new();
        for job in self.jobs.values() {
            let result = match &job.row {
                JobRow::Done(done) => done.result.iter(),
                JobRow::Live(_) => None.iter(),
            };
            let parts = job.errors.iter().chain(&job.replays).chain(result).chain([&job.new.body]);
            let bytes: usize = parts.map(Bytes::len).sum();
            *stored.entry(tenant(job.new.class)).or_default() += bytes as u64;
        }
        stored
    }

    /// Every match of the query, ignoring page limits.
    pub(super) fn list(&self, query: &ListQuery) -> Vec<u64> {
        let mut seqs: Vec<_> = self
            .jobs
            .iter()
            .filter(|(_, job)| is_selected(job, query))
            .map(|(seq, _)| seq.0)
            .collect();
        if query.order == Order::NewestFirst {
            seqs.reverse();
        }
        seqs
    }

    fn job(&mut self, seq: Seq) -> &mut Job {
        self.jobs.get_mut(&seq).expect("the job exists")
    }

    fn change(&mut self, seq: Seq, change: impl FnOnce(&mut Live)) {
        match &mut self.job(seq).row {
            JobRow::Live(live) => change(live),
            JobRow::Done(_) => panic!("job {seq} has finished"),
        }
    }

    fn finish(&mut self, finish: &Finish) {
        let job = self.job(finish.seq);
        let JobRow::Live(live) = &job.row else { panic!("job {} has finished", finish.seq) };
        job.row = JobRow::Done(Done {
            seq: finish.seq,
            class: live.class,
            bytes: size(&job.new.body),
            ending: finish.ending,
            at: finish.at,
            attempt: live.attempt,
            enqueued: live.enqueued,
            started: live.started,
            expires: live.expires,
            purge_at: finish.purge_at,
            result: finish.result.clone(),
            dead: None,
        });
    }

    fn revive(&mut self, seq: Seq, enqueued: Millis) {
        let job = self.job(seq);
        let JobRow::Done(done) = &job.row else { panic!("job {seq} has not finished") };
        let class = done.class;
        job.row = JobRow::Live(Live {
            bytes: size(&job.new.body),
            pauses: 0,
            seq,
            class,
            state: State::Available,
            attempt: 0,
            enqueued,
            due: None,
            started: None,
            expires: None,
            worker: None,
            pool: None,
            reserved_ms: 0,
            marked: false,
        });
    }
}

fn apply_claim(live: &mut Live, claim: &Claim) {
    live.state = State::Active;
    live.attempt = claim.attempt;
    live.started = Some(claim.started);
    live.due = Some(claim.due);
    live.reserved_ms = claim.reserved_ms;
    live.worker = claim.worker.clone();
    live.pool = claim.pool.clone();
}

fn apply_ready(live: &mut Live, ready: Ready) {
    release(live, State::Available);
    live.due = None;
    live.enqueued = ready.enqueued;
    live.marked = ready.held;
    apply_undo(live, ready.undo);
}

fn apply_backoff(live: &mut Live, backoff: Backoff) {
    release(live, State::Retryable);
    live.due = Some(backoff.due);
    apply_undo(live, backoff.undo);
}

fn apply_undo(live: &mut Live, undo: Option<Undo>) {
    if let Some(Undo { attempt, pauses }) = undo {
        live.attempt = attempt;
        live.pauses = pauses;
    }
}

fn release(live: &mut Live, state: State) {
    live.state = state;
    live.worker = None;
    live.pool = None;
    live.reserved_ms = 0;
}

fn is_selected(job: &Job, query: &ListQuery) -> bool {
    let state_matches = match &job.row {
        JobRow::Live(live) => query.select.has_state(live.state),
        JobRow::Done(Done { ending, .. }) => {
            Ending::ALL.contains(ending) && query.select.has_ending(*ending)
        }
    };
    state_matches
        && query.classes.as_ref().is_none_or(|classes| classes.contains(&job.row.class()))
        && query.since.is_none_or(|since| job.new.created >= since)
        && query.until.is_none_or(|until| job.new.created < until)
        && query.dead.as_ref().is_none_or(|filter| is_dead(job, filter))
}

fn is_dead(job: &Job, filter: &DeadFilter) -> bool {
    let JobRow::Done(done) = &job.row else { return false };
    let Some(dead) = &done.dead else { return false };
    filter.error_type.as_ref().is_none_or(|error| *error == dead.error)
        && filter.since.is_none_or(|since| done.at >= since)
        && filter.until.is_none_or(|until| done.at < until)
}
