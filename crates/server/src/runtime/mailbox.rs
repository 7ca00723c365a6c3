//! What reaches the engine thread: requests, and news from the store.
//!
//! The thread says what it waits for, so that nobody wakes it for something else. See
//! [`super::queue`] for why this is not a channel.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ask::Input;
use super::queue::Refused;
use super::store_loop::Done;

pub(super) struct Mailbox {
    state: Mutex<State>,
    wake: Condvar,
    capacity: usize,
}

struct State {
    inputs: VecDeque<Input>,
    news: VecDeque<Done>,
    engine: Engine,
}

/// What the engine thread does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Works,
    WaitsForAnything,
    WaitsForNews,
    Gone,
}

/// What a wait came to.
pub(super) enum Mail {
    Inputs(Vec<Input>),
    News(Done),
    Nothing,
}

impl Mailbox {
    pub fn new(capacity: usize) -> Self {
        let (inputs, news) = (VecDeque::new(), VecDeque::new());
        let state = State { inputs, news, engine: Engine::Works };
        Self { state: Mutex::new(state), wake: Condvar::new(), capacity }
    }

    pub fn put(&self, input: Input) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.engine == Engine::Gone {
            return Err(Refused::Closed);
        }
        // The word to stop has room always.
        if state.inputs.len() >= self.capacity && !matches!(input, Input::Stop) {
            return Err(Refused::Full);
        }
        state.inputs.push_back(input);
        self.wake_if(state, |engine| engine == Engine::WaitsForAnything);
        Ok(())
    }

    pub fn tell(&self, news: Done) {
        let mut state = self.lock();
        state.news.push_back(news);
        self.wake_if(state, |engine| engine != Engine::Gone);
    }

    /// News first, then up to `most` requests. Requests are left alone for the time of `pause`, if
    /// there is one; after `patience` there is nothing.
    pub fn wait(&self, pause: Option<Duration>, patience: Duration, most: usize) -> Mail {
        let until = Instant::now() + pause.map_or(patience, |pause| pause.min(patience));
        let mut state = self.lock();
        loop {
            if let Some(news) = state.news.pop_front() {
                return Mail::News(news);
            }
            let left = until.saturating_duration_since(Instant::now());
            if !state.inputs.is_empty() && (pause.is_none() || left.is_zero()) {
                let count = state.inputs.len().min(most);
                return Mail::Inputs(state.inputs.drain(..count).collect());
            }
            if left.is_zero() {
                return Mail::Nothing;
            }
            state.engine =
                if pause.is_none() { Engine::WaitsForAnything } else { Engine::WaitsForNews };
            let slept = self.wake.wait_timeout(state, left);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
            state.engine = Engine::Works;
        }
    }

    /// News from before a new beginning mean nothing.
    pub fn forget_news(&self) {
        self.lock().news.clear();
    }

    /// The engine is gone: who asked is told by the loss of the question.
    pub fn close(&self) {
        let mut state = self.lock();
        state.engine = Engine::Gone;
        let left = std::mem::take(&mut state.inputs);
        drop(state);
        drop(left);
    }

    fn wake_if(&self, mut state: MutexGuard<'_, State>, waits: fn(Engine) -> bool) {
        let asleep = matches!(state.engine, Engine::WaitsForAnything | Engine::WaitsForNews);
        if asleep && waits(state.engine) {
            // Once is enough, however many come before it is awake.
            state.engine = Engine::Works;
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
        let theirs = mailbox.clone();
        let engine = std::thread::spawn(move || theirs.wait(None, LONG, 10));
        mailbox.put(Input::Stop).unwrap();
        assert!(matches!(engine.join().unwrap(), Mail::Inputs(all) if all.len() == 1));

        mailbox.put(Input::Stop).unwrap();
        let theirs = mailbox.clone();
        let engine = std::thread::spawn(move || theirs.wait(Some(LONG), LONG, 10));
        mailbox.tell(Done::Free);
        assert!(matches!(engine.join().unwrap(), Mail::News(Done::Free)), "only the news did");
        let short = Some(Duration::from_millis(1));
        assert!(matches!(mailbox.wait(short, LONG, 10), Mail::Inputs(_)), "after the pause");
        assert!(matches!(mailbox.wait(short, LONG, 10), Mail::Nothing));
    }

    #[test]
    fn is_bounded_but_for_the_word_to_stop() {
        let mailbox = Mailbox::new(1);
        let ids = || Input::Ids(Vec::new());
        assert_eq!(mailbox.put(ids()), Ok(()));
        assert_eq!(mailbox.put(ids()), Err(Refused::Full));
        assert_eq!(mailbox.put(Input::Stop), Ok(()));
        assert!(matches!(mailbox.wait(None, LONG, 1), Mail::Inputs(all) if all.len() == 1));
        mailbox.close();
        assert_eq!(mailbox.put(ids()), Err(Refused::Closed));
    }
}
