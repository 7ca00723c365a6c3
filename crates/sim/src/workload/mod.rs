//! Generates random requests of well-behaved and misbehaving clients from one seed.

mod operators;
mod population;
mod producers;
mod profile;
mod tenant_operators;
mod theme;
mod workers;

use std::collections::{BTreeMap, VecDeque};

use rota_engine::{Command, Now, Reply, Undelivered};
use rota_model::{JobId, QueueName, Seq, TenantConfig};
use rota_store::Mutation;

use crate::request::{Request, Ticket};
use crate::rng::Rng;
use crate::runtime::Step;
pub use profile::Profile;
pub use theme::Theme;
use workers::Worker;

/// How many job ids are remembered to be named again.
const REMEMBERED: usize = 400;

pub struct Workload {
    rng: Rng,
    /// For what was added later, so that the rest of a seed's run stays what it was.
    aside: Rng,
    /// For the scopes of pools alone.
    scopes: Rng,
    /// For who has credentials.
    proofs: Rng,
    profile: Profile,
    next_ticket: u64,
    /// Ids of jobs that may exist.
    ids: Vec<JobId>,
    workers: Vec<Worker>,
    /// Fetches without an answer, and the worker that made each.
    fetching: BTreeMap<Ticket, usize>,
    /// What the runtime itself has to ask for next.
    urgent: VecDeque<Request>,
}

/// A job as it arrives at a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    pub seq: Seq,
    pub id: JobId,
    pub attempt: u32,
}

impl Workload {
    #[must_use]
    pub fn new(mut rng: Rng, theme: Option<Theme>) -> Self {
        let profile = Profile::draw(&mut rng, theme);
        let workers = Worker::some(&mut rng, &profile);
        let mut workload = Self {
            scopes: rng.clone().fork(),
            aside: rng.clone().fork().fork(),
            proofs: rng.clone().fork().fork().fork(),
            rng,
            profile,
            next_ticket: 0,
            ids: Vec::new(),
            workers,
            fetching: BTreeMap::new(),
            urgent: VecDeque::new(),
        };
        for _ in 0..2 * workload.profile.population.pools.len() {
            let pool = workload.put_pool();
            workload.urgent.push_back(pool);
        }
        if let Some(tenant) = workload.profile.population.urgent.clone() {
            let max_priority = workload.rng.one_of([None, Some(0), Some(7)]);
            let config = TenantConfig { max_priority, ..TenantConfig::default() };
            workload.urgent.push_back(Request::PutTenant(tenant, config));
        }
        workload
    }

    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What somebody asks for next.
    pub fn next(&mut self, now: Now) -> (Ticket, Request) {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        if let Some(request) = self.urgent.pop_front() {
            return (ticket, request);
        }
        let weights = [self.profile.producing, self.profile.working, self.profile.operating];
        let request = match self.rng.weighted(weights) {
            0 => self.produce(ticket, now),
            1 => self.work(ticket, now),
            _ => self.operate(now),
        };
        (ticket, request)
    }

    /// The server answered. Jobs in the answer arrive when they are read.
    pub fn answered(&mut self, ticket: Ticket, reply: &Reply) {
        match reply {
            Reply::Enqueued(accepted) => {
                self.ids.extend(accepted.jobs.iter().map(|job| job.id));
                let surplus = self.ids.len().saturating_sub(REMEMBERED);
                self.ids.drain(..surplus);
            }
            Reply::Refused(_) => {
                self.fetching.remove(&ticket);
            }
            _ => {}
        }
    }

    /// An operator sees the runs of schedules, which nobody enqueued.
    pub fn saw_runs(&mut self, step: &Step) {
        if matches!(step.command, Command::Enqueue(_)) {
            return;
        }
        self.ids.extend(step.mutations.iter().filter_map(|mutation| match mutation {
            Mutation::Insert(row, _) => Some(row.id),
            _ => None,
        }));
    }

    /// A request did not reach the engine.
    pub fn turned(&mut self, ticket: Ticket) {
        self.fetching.remove(&ticket);
    }

    /// Nobody knows what became of the requests that were not answered.
    pub fn lost(&mut self) {
        self.fetching.clear();
        self.urgent.clear();
    }

    /// The jobs of a fetch that could be read.
    pub fn arrived(&mut self, ticket: Ticket, claims: Vec<Delivery>) {
        let receiver = self.fetching.remove(&ticket);
        match receiver {
            Some(worker) if !self.rng.percent(self.profile.broken_connections) => {
                self.workers[worker].holding.extend(claims);
            }
            _ if claims.is_empty() => {}
            _ => {
                let claims: Vec<_> =
                    claims.iter().map(|claim| (claim.seq, claim.attempt)).collect();
                let partly_sent = claims.first().is_some_and(|(seq, _)| seq.0 % 2 == 1);
                let undelivered = Undelivered { claims, partly_sent };
                self.urgent.push_back(Request::Undelivered(undelivered));
            }
        }
    }

    fn queue(&mut self) -> QueueName {
        let queues = &self.profile.queues;
        self.rng.pick(queues).cloned().unwrap_or_else(QueueName::default_queue)
    }

    fn known_id(&mut self) -> Option<JobId> {
        let recent = if self.rng.percent(50) { 8 } else { REMEMBERED };
        let from = self.ids.len().saturating_sub(recent);
        self.rng.pick(&self.ids[from..]).copied()
    }

    /// Some jobs, mostly one, now and then the same twice.
    fn known_ids(&mut self, most: u64) -> Vec<JobId> {
        let count = if self.rng.percent(60) { 1 } else { self.rng.between(1, most) };
        (0..count).filter_map(|_| self.known_id()).collect()
    }

    /// An id that nobody has had.
    fn fresh_id(&mut self, now: Now) -> JobId {
        let random = u128::from(self.rng.next()) << 64 | u128::from(self.rng.next());
        JobId::v7(now.wall.0, random)
    }
}
