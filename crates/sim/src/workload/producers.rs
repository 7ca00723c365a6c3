//! Those who bring jobs.

use rota_engine::Now;
use rota_model::envelope::NewJob;
use rota_model::{Class, JobType, QueueName, TenantId};

use super::Workload;
use crate::request::Request;

const BATCH: u64 = 6;

impl Workload {
    pub(super) fn produce(&mut self, now: Now) -> Request {
        let count = if self.rng.percent(70) { 1 } else { self.rng.between(2, BATCH) };
        let jobs = (0..count).map(|_| self.new_job(now)).collect();
        Request::Enqueue { jobs, wait: None }
    }

    fn new_job(&mut self, now: Now) -> NewJob {
        let id_given = self.rng.percent(self.profile.given_ids);
        let repeated = (id_given && self.rng.percent(30)).then(|| self.known_id()).flatten();
        let id = match repeated {
            Some(id) => id,
            None => self.fresh_id(now),
        };
        if id_given {
            // Its owner knows the id even when the answer is lost.
            self.ids.push(id);
        }
        let pending = self.rng.percent(self.profile.pending);
        // A pending job with a start in the future is turned away at the door.
        let scheduled = if pending { 0 } else { self.profile.scheduled };
        let start_at = self.rng.percent(scheduled).then(|| {
            let ahead = self.rng.one_of([-5_000, 0, 1, 800, 15_000, 400_000]);
            now.wall.saturating_add_ms(ahead)
        });
        let expires = self.rng.percent(self.profile.deadlines).then(|| {
            let ahead = self.rng.one_of([-1_000, 0, 500, 10_000, 90_000, 900_000]);
            now.wall.saturating_add_ms(ahead)
        });
        NewJob { id, id_given, class: self.class(), start_at, expires, pending, body: body() }
    }

    pub(super) fn class(&mut self) -> Class {
        let queue: QueueName = self.queue();
        let policy = self.rng.pick(&self.profile.policies).cloned();
        let priority = self.rng.pick(&self.profile.priorities).copied();
        Class {
            queue,
            kind: JobType::parse("sim.work").expect("the type is valid"),
            tenant: TenantId::default_tenant(),
            priority: priority.unwrap_or(0),
            policy: policy.unwrap_or_default(),
        }
    }
}

pub(super) fn body() -> bytes::Bytes {
    bytes::Bytes::from_static(br#""type":"sim.work","args":[]"#)
}
