//! Heartbeats: extending the reservations of a worker's jobs and telling it what to do.

use rota_model::mutation::Mutation;
use rota_model::{Directive, PoolName, Seq, State};

use crate::command::later;
use crate::{Beat, BeatReply, Engine, EventKind, Refusal, Registration, Reply};

impl Engine {
    pub(crate) fn beat(&mut self, beat: Beat) -> Reply {
        let Registration { tenant, queues, concurrency, .. } = &*beat.about;
        let met = self.ensure_worker(&beat.worker, tenant.as_ref(), queues, *concurrency);
        match met.and_then(|()| self.pool_joined_by(&beat)) {
            Ok(pool) => pool.iter().for_each(|pool| self.join_pool(&beat.worker, pool)),
            Err(refusal) => return Reply::Refused(refusal),
        }
        self.record_beat(&beat);
        let mut reply = BeatReply {
            directive: Directive::Running,
            extended: Vec::new(),
            cancelled: Vec::new(),
            cancel_requested: Vec::new(),
            lost: Vec::new(),
        };
        for job in &beat.jobs {
            if self.is_held_by(job.seq, &beat) {
                self.extend(job.seq, &beat);
                reply.extended.push(job.id);
                if self.active.get(job.seq).is_some_and(|active| active.cancel_requested) {
                    reply.cancel_requested.push(job.id);
                }
            } else if job.state() == State::Cancelled {
                reply.cancelled.push(job.id);
            } else {
                reply.lost.push(job.id);
            }
        }
        let active = self.active.count_held_by(&beat.worker);
        let queues = self.workers.get(&beat.worker).map(|worker| worker.queues().clone());
        let queues = queues.unwrap_or_default();
        self.emit(EventKind::WorkerBeat { worker: beat.worker.clone(), active, queues });
        reply.directive = self.directive_for(&beat);
        Reply::Beat(reply)
    }

    /// The pool that the worker joins. A heartbeat may name the worker's current pool, even if that was
    /// deleted or closed to its tenant, or a pool for it to join.
    fn pool_joined_by(&self, beat: &Beat) -> Result<Option<PoolName>, Refusal> {
        let Some(named) = &beat.about.pool else { return Ok(None) };
        let worker = self.workers.get(&beat.worker);
        let current = worker.and_then(|worker| worker.row.about.pool.as_ref());
        match self.pool_to_join(&beat.worker, beat.about.tenant.as_ref(), named) {
            Err(Refusal::UnknownPool { .. })
                if current.is_some_and(|current| *current.local() == **named) =>
            {
                Ok(None)
            }
            joined => joined.map(Some),
        }
    }

    fn record_beat(&mut self, beat: &Beat) {
        let worker = self.workers.get_mut(&beat.worker).expect("the worker was just added");
        let was_quieted = worker.is_quieted();
        worker.reported = beat.state.or(worker.reported);
        let is_quieted = worker.is_quieted();
        let resumes = was_quieted && !is_quieted;
        let first = !std::mem::replace(&mut worker.row.beats, true);
        let changed = self.update_registration(beat);
        if first || changed {
            self.write_worker(&beat.worker);
        }
        if first || changed || resumes {
            self.reindex_fetches_of(&beat.worker);
        }
        if is_quieted && !was_quieted {
            self.report_quiet(&beat.worker);
        }
        self.worker_changed(&beat.worker);
        if first {
            let check_at = self.now.mono.saturating_add(self.config.heartbeat_timeout_ms);
            self.workers.check_later(beat.worker.clone(), check_at);
        }
    }

    /// Updates what is known of a worker; true if anything changed. What there is no room for is left out: a
    /// heartbeat keeps jobs alive in any case.
    fn update_registration(&mut self, beat: &Beat) -> bool {
        let worker = self.workers.get(&beat.worker).expect("the worker was just added");
        let Some(about) = updated(&worker.row.about, &beat.about) else { return false };
        let asker = self.asker(about.tenant.as_ref());
        if self.workers.check_byte_cap(asker, &beat.worker, about.bytes()).is_err() {
            return false;
        }
        let worker = self.workers.get_mut(&beat.worker).expect("the worker was just added");
        worker.row.about = about;
        worker.share_queues();
        true
    }

    fn is_held_by(&self, seq: Seq, beat: &Beat) -> bool {
        let holder = self.active.get(seq).map(|active| active.worker.as_ref());
        holder.is_some_and(|worker| worker.is_none_or(|id| *id == beat.worker))
    }

    fn extend(&mut self, seq: Seq, beat: &Beat) {
        let Some(active) = self.active.get(seq) else { return };
        let (class, attempt) = (active.class, active.attempt);
        let asked_ms = beat.visibility_ms.unwrap_or(active.reserved_ms);
        let ms = asked_ms.min(self.config.longest_visibility_ms(beat.about.tenant.as_ref()));
        self.active.extend(seq, self.now.mono.saturating_add(ms), ms);
        let due = later(self.wall(), ms);
        self.out.mutations.push(Mutation::Extend { seq, due, reserved_ms: ms });
        let (job, worker) = (self.job_ref(seq, class), beat.worker.clone());
        self.emit(EventKind::Extended { job, attempt, worker, until: due });
    }

    /// The strongest directive: the operator's, or that of a test job the worker holds.
    fn directive_for(&self, beat: &Beat) -> Directive {
        let Some(worker) = self.workers.get(&beat.worker) else {
            return Directive::Running;
        };
        let of_job = |seq: Seq| {
            let active = self.active.get(seq)?;
            self.classes.slot(active.class).class.policy.directive
        };
        let held = self.active.held_by(&beat.worker);
        let wishes = held.filter_map(of_job).chain(worker.row.directive);
        wishes.max().unwrap_or(Directive::Running)
    }
}

/// A registration with what a heartbeat says; `None` if that changes nothing.
fn updated(current: &Registration, reported: &Registration) -> Option<Registration> {
    let mut updated = current.clone();
    macro_rules! take {
        ($($field:ident),*) => { $(if reported.$field.is_some() { updated.$field.clone_from(&reported.$field); })* };
    }
    take!(hostname, pid, concurrency, version, started_at);
    if !reported.queues.is_empty() {
        updated.queues.clone_from(&reported.queues);
    }
    if !reported.labels.is_empty() {
        updated.labels.clone_from(&reported.labels);
    }
    (updated != *current).then_some(updated)
}
