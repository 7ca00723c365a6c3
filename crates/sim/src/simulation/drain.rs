//! Ends a run: removes every obstacle and checks that all remaining jobs get done.

use rota_engine::{Claimed, Engine, Fetch, Holder, PutLimit, QueueSettings, Reply};
use rota_model::{LimitNumbers, TenantConfig};

use super::Simulation;
use crate::oracle::{Check, Rule, Violation};
use crate::request::{Request, Ticket, Verdict, Word};
use crate::workload::Delivery;

const MOST_ROUNDS: u64 = 5_000;
const FIRST_TICKET: u64 = 1 << 40;
const LONG_MS: i64 = 365 * 86_400_000;

impl Simulation<'_> {
    pub(super) fn drain(&mut self) -> Check {
        self.trace.line(format_args!("draining"));
        self.workload.lost();
        self.clock.correct_wall(self.runtime.engine().now().wall);
        let mut ticket = FIRST_TICKET;
        let mut ask = |sim: &mut Self, request| {
            ticket += 1;
            sim.ask(Ticket(ticket), request)
        };
        ask(self, Request::Maintain(false))?;
        for queue in self.workload.profile().queues.clone() {
            ask(self, Request::ResumeQueue(queue.clone()))?;
            ask(self, Request::ConfigureQueue(queue, QueueSettings::default()))?;
        }
        for request in obstacles(self.runtime.engine(), self.rng.percent(50)) {
            ask(self, request)?;
        }
        for cron in self.runtime.engine().crons_after(None, None, "", 0, usize::MAX) {
            ask(self, Request::RemoveCron(cron.name))?;
        }
        for _ in 0..MOST_ROUNDS {
            let wake = self.runtime.engine().wake_in_ms().unwrap_or(0);
            self.clock.pass(wake.clamp(1_000, 60_000));
            let fetch =
                Request::Fetch(Fetch::of(self.workload.profile().queues.clone(), usize::MAX));
            let claims = ask(self, fetch)?;
            let words: Vec<_> = claims.into_iter().map(ack).collect();
            if !words.is_empty() {
                ask(self, Request::Settle(words))?;
            }
            if self.oracle.unfinished().is_empty() {
                return self.check_rebuild();
            }
        }
        let left = self.oracle.unfinished();
        let message = format!("{} jobs never finish; {:?}", left.len(), left.first());
        Err(Violation::new(Rule::Lost, message))
    }

    /// A request, its commit and its answer, at once.
    fn ask(&mut self, ticket: Ticket, request: Request) -> Result<Vec<Delivery>, Violation> {
        self.submit(ticket, request)?;
        let newest = self.runtime.open().steps.last().cloned();
        self.settle()?;
        self.workload.lost();
        let Some(Reply::Fetched(claims)) = newest.as_ref().map(|step| &step.reply) else {
            return Ok(Vec::new());
        };
        let store = self.runtime.view().store();
        let delivery = |claim: &Claimed| {
            let id = store.row(claim.seq)?.id;
            Some(Delivery { seq: claim.seq, id, attempt: claim.attempt })
        };
        Ok(claims.iter().filter_map(delivery).collect())
    }
}

/// What removes whatever was said about tenants, pools and limits; and, if wanted, what jobs say
/// of limits themselves.
fn obstacles(engine: &Engine, unlimited: bool) -> Vec<Request> {
    let mut requests = Vec::new();
    for tenant in engine.tenant_ids_after("", 0, usize::MAX) {
        requests.push(Request::PutTenant(tenant.clone(), TenantConfig::default()));
        let queues = engine.queues_after("", 0, usize::MAX).into_iter();
        requests.extend(queues.map(|queue| Request::ResumeShard(tenant.clone(), queue.name)));
    }
    requests.extend(
        engine
            .pools_after("", 0, usize::MAX)
            .into_iter()
            .map(|pool| Request::RemovePool(pool.name)),
    );
    for limit in crate::rebuild::limits(engine) {
        let (key, tenant) = (limit.key, limit.tenant);
        requests.push(Request::ClearLimit(key.clone(), tenant.clone()));
        if unlimited {
            let end = engine.now().wall.saturating_add_ms(LONG_MS);
            let numbers = Some((LimitNumbers::default().into(), Some(end)));
            let put =
                PutLimit { key, tenant, numbers, feedback: None, paused_until: None, reason: None };
            requests.push(Request::PutLimit(Box::new(put)));
        }
    }
    requests
}

fn ack(delivery: Delivery) -> Word {
    Word {
        job: delivery.id,
        holder: Holder { worker: None, attempt: Some(delivery.attempt) },
        verdict: Verdict::Ack(None),
    }
}
