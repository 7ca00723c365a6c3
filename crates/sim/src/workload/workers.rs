//! Random requests of workers, some of which are slow, lose jobs or report late.

use rota_engine::{Failure, Fetch, HandlerCode, Holder, Now, Registration, WaiterId};
use rota_model::{Directive, PoolName, WorkerId};

use super::{Delivery, Profile, Workload};
use crate::request::{Request, Ticket, Verdict, Word};
use crate::rng::Rng;

pub(super) struct Worker {
    /// Some workers give no name.
    pub name: Option<WorkerId>,
    pub holding: Vec<Delivery>,
    /// Executions it had forgotten about, and may remember.
    forgotten: Vec<Delivery>,
    beats: bool,
    /// The pool that it fetches for, whether that exists or not.
    pool: Option<PoolName>,
}

const FORGOTTEN: usize = 20;

impl Worker {
    pub fn some(rng: &mut Rng, profile: &Profile) -> Vec<Self> {
        let named = |n: u64| WorkerId::parse(&format!("w{n}")).expect("the name is valid");
        (0..profile.workers)
            .map(|n| Worker {
                name: rng.percent(75).then(|| named(n)),
                holding: Vec::new(),
                forgotten: Vec::new(),
                beats: rng.percent(60),
                pool: rng.pick(&profile.population.pools).cloned(),
            })
            .collect()
    }
}

impl Workload {
    pub(super) fn work(&mut self, ticket: Ticket, now: Now) -> Request {
        let index = self.rng.below(self.workers.len() as u64) as usize;
        let idle = self.workers[index].holding.is_empty();
        let waiting = self.fetching.iter().find(|(_, w)| **w == index);
        if let Some((&asked, _)) = waiting
            && self.rng.percent(50)
        {
            // Giving up may cross the answer on its way.
            if self.rng.percent(20) {
                self.fetching.remove(&asked);
                return Request::StopWaiting(WaiterId(asked.0));
            }
            return Request::Tick;
        }
        let settle = if idle { 0 } else { 50 };
        let forget = if idle { 0 } else { 4 };
        match self.rng.weighted([35, settle, 12, forget, 4, 3]) {
            0 => self.fetch(ticket, index),
            1 => self.settle(index, now),
            2 => self.beat(index),
            3 => self.forget(index),
            4 => self.remember(index, now),
            _ => self.register(index),
        }
    }

    fn fetch(&mut self, ticket: Ticket, index: usize) -> Request {
        let mut queues: Vec<_> = (0..self.rng.between(1, 3)).map(|_| self.queue()).collect();
        if self.rng.percent(80) {
            let mut seen = std::collections::BTreeSet::new();
            queues.retain(|queue| seen.insert(queue.clone()));
        }
        let waits = self.rng.percent(self.profile.waiting_fetches);
        let wait_ms = self.rng.one_of([0, 400, 5_000, 30_000]);
        let pool = self.workers[index].pool.clone().filter(|_| self.rng.percent(95));
        if pool.is_some() && self.rng.percent(70) {
            queues.clear();
        }
        let choosy = self.rng.percent(self.profile.population.choosy);
        let tenant = choosy.then(|| self.profile.population.tenant(&mut self.rng));
        self.fetching.insert(ticket, index);
        Request::Fetch(Fetch {
            queues,
            count: self.rng.between(1, self.profile.appetite) as usize,
            // A worker is an operator's or one tenant's, and these are anybody's.
            worker: self.workers[index].name.clone().filter(|_| !choosy),
            pool,
            tenant,
            preference: None,
            visibility_ms: self.rng.one_of([None, Some(1_000), Some(10_000), Some(400_000)]),
            max_bytes: u64::MAX,
            wait: waits.then_some((WaiterId(ticket.0), wait_ms)),
        })
    }

    fn settle(&mut self, index: usize, now: Now) -> Request {
        let count = self.rng.one_of([1, 1, 1, 2, 3]);
        let mut words = Vec::new();
        for _ in 0..count {
            let holding = &mut self.workers[index].holding;
            if !holding.is_empty() {
                let at = self.rng.below(holding.len() as u64) as usize;
                let job = holding.swap_remove(at);
                words.push(self.word(index, job, now));
            }
        }
        Request::Settle(words)
    }

    fn word(&mut self, index: usize, job: Delivery, now: Now) -> Word {
        let name = self.workers[index].name.clone();
        let verdict = if self.rng.percent(self.profile.failures) {
            Verdict::Nack {
                failure: self.failure(now),
                requeue: self.rng.percent(20),
                proven: self.proofs.percent(50),
            }
        } else {
            Verdict::Ack(self.rng.percent(30).then(|| "42".into()))
        };
        Word {
            job: job.id,
            holder: Holder {
                worker: name.filter(|_| self.rng.percent(80)),
                attempt: self.rng.percent(80).then_some(job.attempt),
            },
            verdict,
        }
    }

    fn failure(&mut self, now: Now) -> Failure {
        let kind = self.rng.one_of(["net.down", "bad.input", "gone", "bad"]);
        let code = self.rng.one_of([
            None,
            None,
            None,
            Some(HandlerCode::Retry),
            Some(HandlerCode::Discard),
            Some(HandlerCode::DeadLetter),
        ]);
        Failure {
            kind: kind.into(),
            code,
            retryable: self.rng.percent(85),
            limited_until: self.rng.percent(self.profile.population.limited_elsewhere).then(|| {
                let ahead = self.rng.one_of([-1_000, 0, 700, 10_000, 400_000]);
                now.wall.saturating_add_ms(ahead)
            }),
            json: format!(r#""type":"{kind}","message":"no""#).into(),
        }
    }

    fn beat(&mut self, index: usize) -> Request {
        let worker = &self.workers[index];
        let Some(name) = worker.name.clone().filter(|_| worker.beats) else {
            return Request::Tick;
        };
        let mut jobs: Vec<_> = worker.holding.iter().map(|job| job.id).collect();
        if let Some(forgotten) = self.rng.pick(&worker.forgotten) {
            jobs.push(forgotten.id);
        }
        // It tires seldom, and not for long.
        let state = match self.rng.percent(8) {
            true => self.rng.one_of([Some(Directive::Quiet), Some(Directive::Terminate)]),
            false => self.rng.one_of([None, Some(Directive::Running)]),
        };
        Request::Beat {
            worker: name,
            state,
            jobs,
            visibility_ms: self.rng.one_of([None, None, Some(500), Some(30_000)]),
            concurrency: self.rng.one_of([None, None, None, Some(1), Some(5)]),
        }
    }

    /// It dies, or its connection does; the executions go on without a word.
    fn forget(&mut self, index: usize) -> Request {
        let worker = &mut self.workers[index];
        worker.forgotten.append(&mut worker.holding);
        let surplus = worker.forgotten.len().saturating_sub(FORGOTTEN);
        worker.forgotten.drain(..surplus);
        Request::Tick
    }

    /// It comes back late and speaks of an execution that may be another's by now.
    fn remember(&mut self, index: usize, now: Now) -> Request {
        let Some(&job) = self.rng.pick(&self.workers[index].forgotten) else {
            return Request::Tick;
        };
        Request::Settle(vec![self.word(index, job, now)])
    }

    fn register(&mut self, index: usize) -> Request {
        let Some(name) = self.workers[index].name.clone() else {
            return Request::Tick;
        };
        if self.rng.percent(30) {
            return Request::Deregister(name);
        }
        let queues = (0..self.rng.below(3)).map(|_| self.queue()).collect();
        Request::Register(Registration {
            queues,
            concurrency: self.rng.one_of([None, Some(1), Some(2), Some(8)]),
            ..Registration::named(name)
        })
    }
}
