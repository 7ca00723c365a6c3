//! What the log has and the view has not: batches on their way, bounded in bytes.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rota_engine::Engine;
use rota_store::{Batch, Loaded, StoreError};

use super::release::Release;

/// Work for the view's thread, in the order of the log.
pub(super) enum ViewWork {
    /// A committed batch, its size, and answers that wait until it is applied.
    Apply(Batch, usize, Release),
    /// Build an engine from the view.
    Load(Sender<Result<(Engine, Loaded), StoreError>>),
    /// Use the disk space that is reserved for emergencies, and checkpoint everything, so that the log can reuse
    /// its segments; then answer.
    MakeRoom(Sender<()>),
    /// Check whether the disk has space again.
    CheckSpace,
    Close,
}

impl ViewWork {
    fn bytes(&self) -> usize {
        if let Self::Apply(_, bytes, _) = self { *bytes } else { 0 }
    }
}

/// Filled by the thread of the log, emptied by that of the view. A view that cannot keep up holds up the log.
pub(super) struct ViewQueue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
    max_bytes: usize,
}

#[derive(Default)]
struct State {
    work: VecDeque<ViewWork>,
    bytes: usize,
    /// The view's thread sleeps.
    popping: bool,
    /// The log's thread sleeps.
    pushing: bool,
    /// The view's thread has ended.
    closed: bool,
}

impl ViewQueue {
    pub fn new(max_bytes: usize) -> Self {
        let (filled, emptied) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::default(), filled, emptied, max_bytes }
    }

    /// Waits for room; one batch always fits.
    pub fn push(&self, work: ViewWork) {
        let mut state = self.lock();
        while state.bytes > 0 && state.bytes + work.bytes() > self.max_bytes && !state.closed {
            state.pushing = true;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.pushing = false;
        }
        if state.closed {
            return;
        }
        state.bytes += work.bytes();
        state.work.push_back(work);
        if state.popping {
            state.popping = false;
            drop(state);
            self.filled.notify_one();
        }
    }

    /// Takes what is there, up to `max_bytes` of batches. Waits for the first for up to `timeout`.
    pub fn take(&self, max_bytes: usize, timeout: Duration) -> Vec<ViewWork> {
        let mut state = self.lock();
        if state.work.is_empty() {
            state.popping = true;
            let empty = |state: &mut State| state.work.is_empty();
            let slept = self.filled.wait_timeout_while(state, timeout, empty);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
            state.popping = false;
        }
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(next) = state.work.front() {
            bytes += next.bytes();
            if bytes > max_bytes && !taken.is_empty() {
                break;
            }
            taken.extend(state.work.pop_front());
        }
        taken
    }

    /// Makes room: batches of so many bytes are applied.
    pub fn applied(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes -= bytes;
        if state.pushing {
            self.emptied.notify_one();
        }
    }

    /// Bytes of batches that wait or are being applied.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Whether the view is to close as soon as everything before has been applied.
    pub fn is_closing(&self) -> bool {
        matches!(self.lock().work.back(), Some(ViewWork::Close))
    }

    /// Nothing more is taken.
    pub fn close(&self) {
        self.lock().closed = true;
        self.emptied.notify_all();
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

    fn batch(number: u64, bytes: usize) -> ViewWork {
        ViewWork::Apply(Batch { number, ..Batch::default() }, bytes, Release::default())
    }

    fn numbers(taken: &[ViewWork]) -> Vec<u64> {
        let number = |work: &ViewWork| match work {
            ViewWork::Apply(batch, ..) => batch.number,
            _ => 0,
        };
        taken.iter().map(number).collect()
    }

    #[test]
    fn everything_that_has_gathered_is_taken_up_to_a_number_of_bytes() {
        let queue = ViewQueue::new(1_000);
        (1..=5).for_each(|number| queue.push(batch(number, 100)));
        queue.push(ViewWork::CheckSpace);
        assert_eq!(numbers(&queue.take(250, LONG)), [1, 2]);
        assert_eq!(numbers(&queue.take(50, LONG)), [3], "at least one");
        assert_eq!(numbers(&queue.take(1_000, LONG)), [4, 5, 0]);
        assert!(queue.take(1_000, Duration::ZERO).is_empty());
        assert_eq!(queue.bytes(), 500, "until they are applied");
    }

    #[test]
    fn a_view_that_is_behind_holds_up_the_log() {
        let queue = Arc::new(ViewQueue::new(250));
        queue.push(batch(1, 200));
        let pushing = {
            let queue = queue.clone();
            std::thread::spawn(move || queue.push(batch(2, 100)))
        };
        assert_eq!(numbers(&queue.take(1_000, LONG)), [1], "the second has no room yet");
        queue.applied(200);
        pushing.join().unwrap();
        assert_eq!(numbers(&queue.take(1_000, LONG)), [2]);
        queue.applied(100);
        queue.push(batch(3, 9_999));
        assert_eq!(
            numbers(&queue.take(1_000, LONG)),
            [3],
            "a large one fits when nothing else is there"
        );
    }

    #[test]
    fn a_queue_that_nobody_empties_any_more_takes_nothing() {
        let queue = ViewQueue::new(100);
        queue.push(batch(1, 100));
        queue.close();
        queue.push(batch(2, 100));
        assert_eq!(numbers(&queue.take(1_000, LONG)), [1]);
    }
}
