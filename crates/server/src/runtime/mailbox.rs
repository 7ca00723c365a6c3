//! The engine thread's mailbox: requests, and reports from the threads of the log and the view.
//!
//! Requests wait in a fair queue, so that a tenant that sends many does not keep the others out. The engine
//! thread records what it waits for, so that it is not woken for anything else. See [`super::queue`] for why
//! this is not a channel.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ask::Input;
use super::commit_loop::StoreReport;
use super::fair_queue::{Bounds, FairQueue, Full};
use super::prefetch::Prefetched;
use super::queue::PushError;
use super::source::Source;

/// As many requests as this are taken in the order of their arrival. More of them wait only when the
/// server is saturated.
const COMMON: usize = 128;
/// The most bytes of requests that are taken at once. Whoever waits for a commit waits for all of it, so
/// it is not much larger than the largest job.
const MAX_BATCH_BYTES: usize = 1 << 20;

/// Bounded in requests and in bytes; store reports always fit.
pub(super) struct Mailbox {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    inputs: FairQueue<Input>,
    /// Requests that were taken before and come back with their facts.
    prefetched: VecDeque<Prefetched>,
    /// The engine thread is to stop when it has taken all requests.
    stop: bool,
    reports: VecDeque<StoreReport>,
    engine: EngineThread,
}

/// What the engine thread is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EngineThread {
    Works,
    WaitsForAnything,
    WaitsForStore,
    Stopped,
}

/// The outcome of [`Mailbox::wait`].
pub(super) enum Mail {
    Inputs(Vec<Input>),
    /// All requests were taken, and the engine thread is to stop.
    Stop,
    StoreReport(StoreReport),
    TimedOut,
}

impl Mailbox {
    /// With room for so many requests, and so many bytes of them.
    pub fn new(requests: usize, bytes: usize) -> Self {
        let inputs =
            FairQueue::new(Bounds { items: requests, bytes, common: COMMON.min(requests) });
        let reports = VecDeque::new();
        let (prefetched, engine) = (VecDeque::new(), EngineThread::Works);
        let state = State { inputs, prefetched, stop: false, reports, engine };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    pub fn put(&self, source: Source, input: Input) -> Result<(), PushError> {
        let bytes = input.bytes();
        let mut state = self.lock();
        if state.engine == EngineThread::Stopped {
            return Err(PushError::Closed);
        }
        state.inputs.push(source, input, bytes).map_err(|Full| PushError::Full)?;
        self.wake_if(state, |engine| engine == EngineThread::WaitsForAnything);
        Ok(())
    }

    /// Gives requests back to the engine thread; there is always room for them.
    pub fn put_prefetched(&self, prefetched: Vec<Prefetched>) {
        let mut state = self.lock();
        state.prefetched.extend(prefetched);
        self.wake_if(state, |engine| engine == EngineThread::WaitsForAnything);
    }

    /// Tells the engine thread to stop when it has taken all requests.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.stop = true;
        self.wake_if(state, |engine| engine == EngineThread::WaitsForAnything);
    }

    /// Puts a report into the mailbox; there is always room for it. That the view has applied something can wait
    /// until the engine thread has anything else to do.
    pub fn put_report(&self, report: StoreReport) {
        let mut state = self.lock();
        let is_urgent = !matches!(report, StoreReport::Applied(..));
        state.reports.push_back(report);
        if is_urgent {
            self.wake_if(state, |engine| engine != EngineThread::Stopped);
        }
    }

    /// Returns a store report at once, or else up to `max_inputs` requests. With a `pause`, requests are not
    /// taken before it has passed. Waits no longer than `timeout`. While requests are `outstanding` in
    /// the prefetch stage, the engine thread does not stop.
    pub fn wait(
        &self,
        pause: Option<Duration>,
        timeout: Duration,
        max_inputs: usize,
        outstanding: usize,
    ) -> Mail {
        let until = Instant::now() + pause.map_or(timeout, |pause| pause.min(timeout));
        let mut state = self.lock();
        loop {
            if let Some(report) = state.reports.pop_front() {
                return Mail::StoreReport(report);
            }
            let left = until.saturating_duration_since(Instant::now());
            if pause.is_none() || left.is_zero() {
                let inputs = state.take(max_inputs, pause.is_none());
                if !inputs.is_empty() {
                    return Mail::Inputs(inputs);
                }
                if state.stop && state.inputs.is_empty() && outstanding == 0 {
                    return Mail::Stop;
                }
            }
            if left.is_zero() {
                return Mail::TimedOut;
            }
            state.engine = match pause {
                None => EngineThread::WaitsForAnything,
                Some(_) => EngineThread::WaitsForStore,
            };
            let slept = self.wake.wait_timeout(state, left);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
            state.engine = EngineThread::Works;
        }
    }

    /// Drops the pending store reports, which mean nothing to a rebuilt engine.
    pub fn discard_store_reports(&self) {
        self.lock().reports.clear();
    }

    /// Closes the mailbox when the engine thread stops. Dropping the pending requests closes their
    /// reply channels, which tells the clients.
    pub fn close(&self) {
        let mut state = self.lock();
        state.engine = EngineThread::Stopped;
        let pending = (state.inputs.drain(), std::mem::take(&mut state.prefetched));
        drop(state);
        drop(pending);
    }

    fn wake_if(&self, mut state: MutexGuard<'_, State>, condition: fn(EngineThread) -> bool) {
        let asleep =
            matches!(state.engine, EngineThread::WaitsForAnything | EngineThread::WaitsForStore);
        if asleep && condition(state.engine) {
            // Marked as working, so that it is notified once, however much arrives before it wakes.
            state.engine = EngineThread::Works;
            drop(state);
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes requests for the batch that is being collected. If the store waits for it, it is submitted with
    /// them, so there are some, even if their sources have no credit.
    ///
    /// Those that come back with facts were chosen before, so they come first, and as many others beside them.
    fn take(&mut self, max_inputs: usize, store_waits: bool) -> Vec<Input> {
        let mut inputs = self.take_prefetched();
        loop {
            self.inputs.refill();
            let mut others = self.inputs.take(max_inputs, MAX_BATCH_BYTES);
            match inputs.is_empty() {
                true => inputs = others,
                false => inputs.append(&mut others),
            }
            if !store_waits || !inputs.is_empty() || self.inputs.is_empty() {
                return inputs;
            }
        }
    }

    fn take_prefetched(&mut self) -> Vec<Input> {
        let mut bytes = 0;
        let mut taken = Vec::new();
        while bytes < MAX_BATCH_BYTES
            && let Some(next) = self.prefetched.pop_front()
        {
            bytes += next.request.bytes();
            taken.push(Input::Prefetched(next));
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rota_engine::{Ack, Command, Holder, Settle};
    use rota_model::{JobId, TenantId};

    use super::super::ask::Request;
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn ids() -> Input {
        Input::ActiveIds(Vec::new())
    }

    #[test]
    fn requests_wake_the_engine_unless_it_pauses() {
        let mailbox = Arc::new(Mailbox::new(10, 1_000));
        let shared = mailbox.clone();
        let engine = std::thread::spawn(move || shared.wait(None, LONG, 10, 0));
        mailbox.put(Source::Operators, ids()).unwrap();
        assert!(matches!(engine.join().unwrap(), Mail::Inputs(all) if all.len() == 1));

        mailbox.put(Source::Operators, ids()).unwrap();
        let shared = mailbox.clone();
        let engine = std::thread::spawn(move || shared.wait(Some(LONG), LONG, 10, 0));
        mailbox.put_report(StoreReport::Finished);
        assert!(
            matches!(engine.join().unwrap(), Mail::StoreReport(StoreReport::Finished)),
            "only the report wakes it"
        );
        let short = Some(Duration::from_millis(1));
        assert!(matches!(mailbox.wait(short, LONG, 10, 0), Mail::Inputs(_)), "after the pause");
        assert!(matches!(mailbox.wait(short, LONG, 10, 0), Mail::TimedOut));
    }

    #[test]
    fn is_bounded_and_stops_after_the_last_request() {
        let mailbox = Mailbox::new(200, 1_000);
        let mut accepted = 0;
        while mailbox.put(Source::Operators, ids()).is_ok() {
            accepted += 1;
        }
        assert!((180..=200).contains(&accepted), "{accepted}");
        assert_eq!(mailbox.put(Source::Operators, ids()), Err(PushError::Full));
        assert_eq!(mailbox.put(Source::Server, ids()), Ok(()));
        mailbox.stop();
        assert!(
            matches!(mailbox.wait(None, LONG, accepted, 0), Mail::Inputs(all) if all.len() == accepted)
        );
        assert!(matches!(mailbox.wait(None, LONG, 9, 0), Mail::Inputs(all) if all.len() == 1));
        let short = Duration::from_millis(1);
        let outstanding = mailbox.wait(None, short, 9, 1);
        assert!(matches!(outstanding, Mail::TimedOut), "a request comes back from its read");
        assert!(matches!(mailbox.wait(None, LONG, 9, 0), Mail::Stop));
        mailbox.close();
        assert_eq!(mailbox.put(Source::Server, ids()), Err(PushError::Closed));
    }

    #[test]
    fn requests_without_credit_wait_while_the_store_is_busy_and_no_longer() {
        let mailbox = Mailbox::new(10_000, 1 << 20);
        let [a, b] = ["a", "b"].map(|name| Source::Tenant(TenantId::parse(name).unwrap()));
        let large = || Input::Request(Request::tell(Command::Settle(vec![ack(); 200])));
        mailbox.put(b.clone(), ids()).unwrap();
        mailbox.put(a.clone(), large()).unwrap();
        mailbox.put(a, large()).unwrap();
        let count = |mail: Mail| match mail {
            Mail::Inputs(inputs) => inputs.len(),
            _ => 0,
        };
        assert_eq!(count(mailbox.wait(None, LONG, 10, 0)), 2, "one of each");
        let polled = Some(Duration::ZERO);
        assert_eq!(
            count(mailbox.wait(polled, LONG, 10, 0)),
            0,
            "many jobs cost more than their bytes"
        );
        mailbox.put(b, ids()).unwrap();
        assert_eq!(count(mailbox.wait(polled, LONG, 10, 0)), 1, "others go on");
        assert_eq!(count(mailbox.wait(None, LONG, 10, 0)), 1, "a free store gets it at once");
    }

    fn ack() -> Settle<JobId> {
        let holder = Holder { worker: None, attempt: None };
        Settle::Ack(Ack { job: JobId::v7(0, 1), holder, result: None })
    }
}
