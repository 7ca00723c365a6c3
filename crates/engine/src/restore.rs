//! Coming back from what a store holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::cron::Schedule;
use rota_model::mutation::{Counts, HistoryRow, Kind, Period};
use rota_model::{Class, ClassId, CronName, IdKey, Live, Millis, QueueName, Seq, State, WorkerId};
use serde::de::DeserializeOwned;

use crate::active::Active;
use crate::commands::{ALL_QUEUES, MAINTENANCE, start_of};
use crate::cron::{Cron, CronRow};
use crate::sched::QueueRow;
use crate::timers::Timer;
use crate::worker::{Worker, WorkerRow};
use crate::{Config, Engine, Interval, Now};

/// A worker that still runs a job is given this long to say so, even when the reservation ended
/// while the server was down.
const GRACE_MS: u64 = 15_000;

/// An engine in the making. Feed it classes, named things and living jobs, in this order.
pub struct Restore {
    engine: Engine,
    problem: Option<String>,
    /// Hours that ended before this start.
    past: BTreeMap<(Millis, Arc<str>), Interval>,
}

impl Restore {
    /// `now` is the present; it is raised to the time of the last commit when that is later.
    #[must_use]
    pub fn new(config: Config, seed: u64, now: Now) -> Self {
        let mut engine = Engine::new(config, seed);
        engine.now = now;
        Self { engine, problem: None, past: BTreeMap::new() }
    }

    pub fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        let ix = match self.engine.queues.find(&class.queue) {
            Some(ix) => ix,
            None => self.engine.queues.add(class.queue.clone(), unwritten_queue(self.engine.now)),
        };
        let done = &mut self.engine.queues.get_mut(ix).done;
        done.0.iter_mut().zip(counts.0).for_each(|(sum, n)| *sum += n);
        self.engine.classes.put(id, Arc::new(class), ix, counts);
    }

    pub fn named(&mut self, kind: Kind, name: &str, json: &[u8]) {
        let outcome = match kind {
            Kind::Queue => self.queue(name, json),
            Kind::Cron => self.cron(name, json),
            Kind::Worker => self.worker(name, json),
            Kind::Setting => self.setting(name, json),
        };
        if let Err(problem) = outcome {
            self.problem.get_or_insert(format!("{kind:?} '{name}' cannot be read: {problem}"));
        }
    }

    pub fn live(&mut self, live: Live) {
        let engine = &mut self.engine;
        if !engine.classes.contains(live.class) {
            let problem = format!("job {} has the unknown class {}", live.seq, live.class.0);
            self.problem.get_or_insert(problem);
            return;
        }
        let (seq, class, attempt, state) = (live.seq, live.class, live.attempt, live.state);
        engine.classes.slot_mut(class).live += 1;
        let ix = engine.classes.slot(class).queue;
        match (state, live.due) {
            (State::Scheduled | State::Retryable, Some(due)) => {
                engine.wait_until(due, seq, Timer { class, attempt, state });
            }
            (State::Available, _) if !live.held => {
                engine.enter_lane(seq, class, attempt, attempt == 0)
            }
            _ => engine.queues.get_mut(ix).enter(state),
        }
        if state == State::Active {
            self.active(live);
        } else if live.expires.is_some() || engine.crons.of_run(seq).is_some() {
            engine.watch.add(live);
        }
    }

    /// A minute of the hour in which the last commit was made. The hour that it belongs to goes on,
    /// or is written down if it is over.
    pub fn history(&mut self, row: &HistoryRow) {
        let Ok(interval) = serde_json::from_slice::<Interval>(&row.data) else {
            self.problem.get_or_insert(format!("statistics of '{}' cannot be read", row.queue));
            return;
        };
        let (now, hour) = (self.engine.now.wall, start_of(row.at, Period::Hour));
        if hour < start_of(now, Period::Hour) {
            self.past.entry((hour, row.queue.clone())).or_default().merge(&interval);
            return;
        }
        let stats = match &*row.queue {
            ALL_QUEUES => &mut self.engine.total,
            name => match self.engine.queues.find(name) {
                Some(ix) => &mut self.engine.queues.get_mut(ix).stats,
                None => return,
            },
        };
        if row.at == start_of(now, Period::Minute) {
            stats.minute.merge(&interval);
        } else {
            stats.hour.merge(&interval);
        }
    }

    /// The engine, as of the last commit; or what in the data makes no sense.
    pub fn finish(
        mut self,
        next_seq: Seq,
        last_now: Millis,
        id_key: IdKey,
    ) -> Result<Engine, String> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        for ((hour, queue), interval) in &self.past {
            self.engine.write_interval(Period::Hour, *hour, queue, interval);
        }
        self.engine.next_seq = next_seq.max(Seq(1));
        self.engine.id_key = id_key;
        self.engine.now.wall = self.engine.now.wall.max(last_now);
        self.engine.classes.collect_free();
        Ok(self.engine)
    }

    fn active(&mut self, live: Live) {
        let engine = &mut self.engine;
        let now = engine.now;
        let reserved_ms = live.reserved_ms;
        let left = live.due.map_or(0, |due| due.since(now.wall).max(0) as u64);
        let left = left.max(GRACE_MS.min(reserved_ms)).min(reserved_ms.max(1));
        let started = live.started.unwrap_or(live.enqueued);
        let ran_ms = now.wall.since(started).max(0) as u64;
        let policy = &engine.classes.slot(live.class).class.policy;
        let timeout_ms = policy.timeout_ms.unwrap_or(engine.config.timeout_ms);
        let timeout_left = timeout_ms.saturating_sub(ran_ms).max(GRACE_MS.min(timeout_ms));
        engine.active.insert(
            live.seq,
            Active {
                class: live.class,
                attempt: live.attempt,
                started,
                started_mono: (now.mono as i64).saturating_sub(ran_ms as i64),
                worker: live.worker,
                reserved_ms,
                reserved_until: now.mono.saturating_add(left),
                times_out: now.mono.saturating_add(timeout_left),
                expires: live.expires,
            },
        );
    }

    fn queue(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: QueueRow = parse(json)?;
        let name = QueueName::parse(name).map_err(|e| e.to_string())?;
        match self.engine.queues.find(&name) {
            Some(ix) => self.engine.queues.get_mut(ix).row = row,
            None => {
                self.engine.queues.add(name, row);
            }
        }
        Ok(())
    }

    fn cron(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: CronRow = parse(json)?;
        let name = CronName::parse(name).map_err(|e| e.to_string())?;
        let schedule =
            Schedule::parse(&row.expression, &row.timezone).map_err(|e| e.to_string())?;
        self.engine.crons.insert(name, Cron { schedule, row });
        Ok(())
    }

    fn worker(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let row: WorkerRow = parse(json)?;
        let id = WorkerId::parse(name).map_err(|e| e.to_string())?;
        let now = self.engine.now;
        let check_at = now.mono.saturating_add(self.engine.config.heartbeat_timeout_ms);
        self.engine.workers.insert(id, Worker::new(row, now.wall, now.mono), check_at);
        Ok(())
    }

    fn setting(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        if name == MAINTENANCE {
            self.engine.maintenance = parse(json)?;
        }
        Ok(())
    }
}

/// A queue is written when it is made; one without its row is made up for.
fn unwritten_queue(now: Now) -> QueueRow {
    QueueRow { created: now.wall, paused: None, settings: Default::default() }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    serde_json::from_slice(json).map_err(|e| e.to_string())
}
