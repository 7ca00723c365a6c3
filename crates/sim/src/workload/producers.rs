//! Random enqueues.

use std::sync::Arc;

use rota_engine::{Now, WaiterId};
use rota_model::envelope::NewJob;
use rota_model::{Class, JobType, Policy, QueueName, TenantId};

use super::Workload;
use crate::request::{Request, Ticket};

/// As urgent as a job can be.
const HIGHEST: i16 = 100;

impl Workload {
    pub(super) fn produce(&mut self, ticket: Ticket, now: Now) -> Request {
        let count = if self.rng.percent(70) { 1 } else { self.rng.between(2, self.profile.batch) };
        let jobs = (0..count).map(|_| self.new_job(now)).collect();
        let waits = self.profile.population.bounds && self.rng.percent(50);
        let wait = waits.then(|| (WaiterId(ticket.0), self.rng.one_of([0, 500, 20_000])));
        Request::Enqueue { jobs, wait }
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
        let (class, proven) = (self.class(), self.proofs.percent(20));
        NewJob { id, id_given, class, start_at, expires, pending, proven, body: body() }
    }

    pub(super) fn class(&mut self) -> Class {
        let queue: QueueName = self.queue();
        let mut policy = self.rng.pick(&self.profile.policies).cloned().unwrap_or_default();
        let usual_limit = self.profile.population.limit(&mut self.rng);
        let tenant = self.profile.population.tenant(&mut self.rng);
        let usual = self.rng.pick(&self.profile.priorities).copied().unwrap_or(0);
        let is = |one: &Option<TenantId>| one.as_ref() == Some(&tenant);
        let population = &self.profile.population;
        let (kind, priority, limit) = match (is(&population.urgent), is(&population.hostile)) {
            (true, _) => ("sim.work".into(), HIGHEST, usual_limit),
            (_, true) => {
                let kind = format!("sim.work{}", self.rng.below(40));
                let priority = self.rng.below(10) as i16 * 20 - HIGHEST;
                (kind, priority, population.hostile_limit(&mut self.rng))
            }
            _ => ("sim.work".to_owned(), usual, usual_limit),
        };
        if let Some(limit) = limit {
            policy = Arc::new(Policy { limit: Some(limit), ..(*policy).clone() });
        }
        let kind = JobType::parse(&kind).expect("the type is valid");
        Class { queue, kind, tenant, priority, policy }
    }
}

pub(super) fn body() -> bytes::Bytes {
    bytes::Bytes::from_static(br#""type":"sim.work","args":[]"#)
}
