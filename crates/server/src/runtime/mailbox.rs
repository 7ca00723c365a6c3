//! The engine thread's mailbox: requests, and reports from the store thread.
//!
//! The engine thread records what it waits for, so that it is not woken for anything else. See
//! [`super::queue`] for why this is not a channel.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ask::Input;
use super::queue::PushError;
use super::store_loop::StoreReport;

/// Bounded in requests; store reports always fit.
pub(super) struct Mailbox {
    state: Mutex<State>,
    wake: Condvar,
    capacity: usize,
}

struct State {
    inputs: VecDeque<Input>,
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
    StoreReport(StoreReport),
    TimedOut,
}

impl Mailbox {
    pub fn new(capacity: usize) -> Self {
        let (inputs, reports) = (VecDeque::new(), VecDeque::new());
        let state = State { inputs, reports, engine: EngineThread::Works };
        Self { state: Mutex::new(state), wake: Condvar::new(), capacity }
    }

    pub fn put(&self, input: Input) -> Result<(), PushError> {
        let mut state = self.lock();
        if state.engine == EngineThread::Stopped {
            return Err(PushError::Closed);
        }
        // `Stop` is accepted even when the mailbox is full.
        if state.inputs.len() >= self.capacity && !matches!(input, Input::Stop) {
            return Err(PushError::Full);
        }
        state.inputs.push_back(input);
        self.wake_if(state, |engine| engine == EngineThread::WaitsForAnything);
        Ok(())
    }

    /// Puts a report from the store thread into the mailbox; there is always room for it.
    pub fn put_report(&self, report: StoreReport) {
        let mut state = self.lock();
        state.reports.push_back(report);
        self.wake_if(state, |engine| engine != EngineThread::Stopped);
    }

    /// Returns a store report at once, or else up to `max_inputs` requests. With a `pause`, requests are not
    /// taken before it has passed. Waits no longer than `timeout`.
    pub fn wait(&self, pause: Option<Duration>, timeout: Duration, max_inputs: usize) -> Mail {
        let until = Instant::now() + pause.map_or(timeout, |pause| pause.min(timeout));
        let mut state = self.lock();
        loop {
            if let Some(report) = state.reports.pop_front() {
                return Mail::StoreReport(report);
            }
            let left = until.saturating_duration_since(Instant::now());
            if !state.inputs.is_empty() && (pause.is_none() || left.is_zero()) {
                let count = state.inputs.len().min(max_inputs);
                return Mail::Inputs(state.inputs.drain(..count).collect());
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
        let pending = std::mem::take(&mut state.inputs);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn requests_wake_the_engine_unless_it_pauses() {
        let mailbox = Arc::new(Mailbox::new(10));
        let shared = mailbox.clone();
        let engine = std::thread::spawn(move || shared.wait(None, LONG, 10));
        mailbox.put(Input::Stop).unwrap();
        assert!(matches!(engine.join().unwrap(), Mail::Inputs(all) if all.len() == 1));

        mailbox.put(Input::Stop).unwrap();
        let shared = mailbox.clone();
        let engine = std::thread::spawn(move || shared.wait(Some(LONG), LONG, 10));
        mailbox.put_report(StoreReport::Finished);
        assert!(
            matches!(engine.join().unwrap(), Mail::StoreReport(StoreReport::Finished)),
            "only the report wakes it"
        );
        let short = Some(Duration::from_millis(1));
        assert!(matches!(mailbox.wait(short, LONG, 10), Mail::Inputs(_)), "after the pause");
        assert!(matches!(mailbox.wait(short, LONG, 10), Mail::TimedOut));
    }

    #[test]
    fn is_bounded_except_for_stop() {
        let mailbox = Mailbox::new(1);
        let ids = || Input::ActiveIds(Vec::new());
        assert_eq!(mailbox.put(ids()), Ok(()));
        assert_eq!(mailbox.put(ids()), Err(PushError::Full));
        assert_eq!(mailbox.put(Input::Stop), Ok(()));
        assert!(matches!(mailbox.wait(None, LONG, 1), Mail::Inputs(all) if all.len() == 1));
        mailbox.close();
        assert_eq!(mailbox.put(ids()), Err(PushError::Closed));
    }
}
