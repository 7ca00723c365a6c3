//! Random operator requests about jobs, queues, workers and schedules.

use std::sync::Arc;

use rota_engine::{CronSpec, Now, Overlap, Override, QueueSettings, Selected, Unchanged};
use rota_model::cron::Schedule;
use rota_model::{CronName, DeadLetterSettings, Directive, JobId, State, WorkerId};

use super::Workload;
use super::population;
use super::producers::body;
use super::profile;
use crate::request::Request;

impl Workload {
    pub(super) fn operate(&mut self, now: Now) -> Request {
        let tenant_changes = self.profile.population.tenant_changes;
        let maintenance = if self.profile.maintenance { 8 } else { 0 };
        let crons = if self.profile.crons { 20 } else { 0 };
        let weights = [20, 12, 12, 12, 10, 14, 10, 12, 6, crons, maintenance, 2, 3, tenant_changes];
        match self.rng.weighted(weights) {
            0 if self.rng.percent(40) => Request::CancelCooperatively(self.known_ids(5)),
            0 => Request::Cancel(self.known_ids(5)),
            1 => match self.known_id() {
                Some(id) if self.aside.percent(60) => self.set_priority(id),
                Some(id) => Request::Activate(id),
                None => Request::Tick,
            },
            2 => self.retry(now),
            3 => self.delete(now),
            4 => Request::PauseQueue(self.queue()),
            5 => Request::ResumeQueue(self.queue()),
            6 => self.configure(),
            7 => self.tidy(),
            8 => self.direct(),
            9 => self.schedule(),
            10 => Request::Maintain(self.rng.percent(40)),
            11 => Request::Tick,
            12 => Request::DeleteQueue(self.queue()),
            _ => self.change_tenants(now),
        }
    }

    fn set_priority(&mut self, job: JobId) -> Request {
        let priority = self.aside.one_of([-5, 0, 0, 3, 10]);
        // Its length is another one, as a longer number has it.
        let body = format!(r#""type":"sim.work","args":[],"priority":{priority}"#).into();
        Request::SetPriority { job, priority, body, stale: self.aside.percent(5) }
    }

    fn delete(&mut self, now: Now) -> Request {
        match self.unchanged(now) {
            Some(only) => Request::DeleteOnly(self.known_ids(5), only),
            None => Request::Delete(self.known_ids(5)),
        }
    }

    /// Jobs were selected a moment ago, or some time before.
    fn unchanged(&mut self, now: Now) -> Option<Unchanged> {
        let selected = match self.aside.below(5) {
            0 => Selected::Waiting,
            1 => Selected::Ended(None),
            2 => Selected::Ended(Some(State::Discarded)),
            3 => Selected::DeadLetter,
            _ => return None,
        };
        let ago = self.aside.one_of([0, 1_000, 60_000]);
        Some(Unchanged { selected, by: now.wall.saturating_sub_ms(ago) })
    }

    fn retry(&mut self, now: Now) -> Request {
        match self.aside.below(4) {
            0 => {
                let change =
                    Override { class: self.class(), body: body(), proven: self.proofs.percent(30) };
                match self.known_id() {
                    Some(id) => Request::RetryAs(id, Box::new(change)),
                    None => Request::Tick,
                }
            }
            1 => match self.unchanged(now) {
                Some(only) => Request::RetryOnly(self.known_ids(5), only),
                None => Request::Retry(self.known_ids(5)),
            },
            _ => Request::Retry(self.known_ids(5)),
        }
    }

    fn tidy(&mut self) -> Request {
        match self.aside.below(5) {
            3 => Request::Audit(self.aside.between(1, 4)),
            4 => Request::TrimAudit(self.aside.between(1, 20) as usize),
            0 => Request::Prune(self.aside.between(1, 20) as usize),
            1 => Request::Replay(self.aside.between(1, 20) as usize),
            _ => Request::Retain(self.rng.between(1, 50) as usize),
        }
    }

    fn dead_letter(&mut self) -> Option<Arc<DeadLetterSettings>> {
        let settings = DeadLetterSettings {
            max_age_ms: self.aside.one_of([None, Some(10_000)]),
            max_count: self.aside.one_of([None, Some(1), Some(5)]),
            pruning: None,
            replay_rules: profile::rules(&mut self.aside).into_iter().collect(),
        };
        (settings != DeadLetterSettings::default()).then(|| settings.into())
    }

    fn configure(&mut self) -> Request {
        let settings = QueueSettings {
            dead_letter: self.dead_letter(),
            concurrency: self.rng.one_of([None, Some(0), Some(1), Some(3)]),
            completed_ms: self.rng.one_of([None, None, Some(1_000)]),
            bounds: (self.profile.population.bounds && self.rng.percent(60))
                .then(|| population::bounds(&mut self.rng)),
            ..QueueSettings::default()
        };
        match self.rng.percent(20) {
            true => Request::CreateQueue(self.queue(), settings),
            false => Request::ConfigureQueue(self.queue(), settings),
        }
    }

    fn direct(&mut self) -> Request {
        let worker = self.rng.below(self.profile.workers);
        let name = WorkerId::parse(&format!("w{worker}")).expect("the name is valid");
        match self.rng.below(4) {
            0 => Request::DropStaleWorker(name),
            1 => Request::Direct(name, Directive::Quiet),
            _ => Request::Direct(name, Directive::Running),
        }
    }

    fn schedule(&mut self) -> Request {
        let (name, overlap) = self.rng.one_of([
            ("often", Overlap::Skip),
            ("all", Overlap::Allow),
            ("one", Overlap::CancelPrevious),
            ("row", Overlap::Enqueue),
        ]);
        let name = CronName::parse(name).expect("the name is valid");
        match self.rng.weighted([70, 10, 20, 20]) {
            0 => self.put_cron(&name, overlap),
            1 => Request::RemoveCron(self.of_somebody(&name)),
            2 => Request::TriggerCron(self.of_somebody(&name)),
            _ => Request::EnableCron(self.of_somebody(&name), self.rng.percent(70)),
        }
    }

    fn of_somebody(&mut self, name: &CronName) -> CronName {
        name.of_tenant(&self.profile.population.tenant(&mut self.rng))
    }

    fn put_cron(&mut self, name: &CronName, usual: Overlap) -> Request {
        let all = [Overlap::Skip, Overlap::Allow, Overlap::CancelPrevious, Overlap::Enqueue];
        let overlap = if self.rng.percent(20) { self.rng.one_of(all) } else { usual };
        let expression = self.rng.one_of(["* * * * *", "*/3 * * * *"]);
        let class = self.class();
        Request::PutCron(Box::new(CronSpec {
            name: name.of_tenant(&class.tenant),
            expression: expression.into(),
            timezone: "UTC".into(),
            schedule: Schedule::parse(expression, "UTC").expect("the expression is valid"),
            overlap,
            enabled: self.rng.percent(90),
            class,
            body: body(),
            proven: self.proofs.percent(10),
            shown: bytes::Bytes::new(),
        }))
    }
}
