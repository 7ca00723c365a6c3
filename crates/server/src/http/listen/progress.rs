//! How far a connection is with its requests: what it needs to be judged when connections are short or
//! the server stops.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Marks a time that is not set.
const NONE: u64 = u64::MAX;

/// The state of one connection, written by its task and read by others. Times are milliseconds since the
/// start of the process.
#[derive(Debug)]
pub(super) struct Progress {
    /// Since when the client owes the rest of a request. At first it owes a whole one.
    incomplete_since: AtomicU64,
    /// Since when the client has not read enough for anything to be written.
    stalled_since: AtomicU64,
    /// When something was last written.
    written: AtomicU64,
    /// When the last request ended, or the connection began.
    idle_since: AtomicU64,
    /// Requests that are being handled.
    handled: AtomicU32,
    /// Answers that are not written completely. Counted for HTTP/2 only.
    answers: AtomicU32,
}

impl Progress {
    pub fn new() -> Self {
        let now = now();
        Self {
            incomplete_since: AtomicU64::new(now),
            stalled_since: AtomicU64::new(NONE),
            written: AtomicU64::new(now),
            idle_since: AtomicU64::new(now),
            handled: AtomicU32::new(0),
            answers: AtomicU32::new(0),
        }
    }

    /// Bytes have arrived. Outside of a request they begin the next one.
    pub fn note_read(&self) {
        if self.handled.load(Relaxed) == 0 && self.incomplete_since.load(Relaxed) == NONE {
            self.incomplete_since.store(now(), Relaxed);
        }
    }

    /// `written` is whether anything could be written.
    pub fn note_write(&self, written: bool) {
        if written {
            self.stalled_since.store(NONE, Relaxed);
            self.written.store(now(), Relaxed);
        } else if self.stalled_since.load(Relaxed) == NONE {
            self.stalled_since.store(now(), Relaxed);
        }
    }

    /// All that was written has been sent.
    pub fn note_flush(&self) {
        self.stalled_since.store(NONE, Relaxed);
    }

    /// The head of a request is complete.
    pub fn begin_request(&self) {
        self.handled.fetch_add(1, Relaxed);
        self.incomplete_since.store(NONE, Relaxed);
    }

    /// The answer to a request is ready to be written.
    pub fn end_request(&self) {
        self.handled.fetch_sub(1, Relaxed);
        self.idle_since.store(now(), Relaxed);
    }

    /// Whether the body of the current request has to be waited for.
    pub fn set_body_awaited(&self, awaited: bool) {
        self.incomplete_since.store(if awaited { now() } else { NONE }, Relaxed);
    }

    pub fn begin_answer(&self) {
        self.answers.fetch_add(1, Relaxed);
    }

    pub fn end_answer(&self) {
        self.answers.fetch_sub(1, Relaxed);
        self.idle_since.store(now(), Relaxed);
    }

    /// For how long the client has owed the rest of a request; `None` if it does not.
    pub fn incomplete_for(&self) -> Option<Duration> {
        since(self.incomplete_since.load(Relaxed))
    }

    /// For how long there has been neither a request nor an answer; `None` if there is one.
    pub fn idle_for(&self) -> Option<Duration> {
        let busy = self.handled.load(Relaxed) > 0 || self.answers.load(Relaxed) > 0;
        if busy { None } else { since(self.idle_since.load(Relaxed)) }
    }

    /// For how long nothing could be written, because the client has not read; `None` if something can.
    fn stalled_for(&self) -> Option<Duration> {
        since(self.stalled_since.load(Relaxed))
    }

    /// Completes when nothing could be written for this long.
    pub async fn stalled(&self, longest: Duration) {
        loop {
            let left = match self.stalled_for() {
                Some(passed) if passed >= longest => return,
                Some(passed) => longest - passed,
                None => longest,
            };
            tokio::time::sleep(left).await;
        }
    }

    /// Whether nothing is left to do but to write answers, which the client has not read for this long.
    pub fn is_unread_for(&self, time: Duration) -> bool {
        let longer = |from: u64| since(from).is_some_and(|passed| passed >= time);
        self.handled.load(Relaxed) == 0
            && (longer(self.stalled_since.load(Relaxed))
                || (self.answers.load(Relaxed) > 0 && longer(self.written.load(Relaxed))))
    }
}

fn now() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_millis() as u64
}

fn since(time: u64) -> Option<Duration> {
    (time != NONE).then(|| Duration::from_millis(now().saturating_sub(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_incomplete_until_its_head_and_its_body_are_there() {
        let progress = Progress::new();
        assert!(progress.incomplete_for().is_some());
        progress.begin_request();
        assert_eq!(progress.incomplete_for(), None);
        progress.set_body_awaited(true);
        assert!(progress.incomplete_for().is_some());
        progress.set_body_awaited(false);
        progress.note_read();
        assert_eq!(progress.incomplete_for(), None);
        progress.end_request();
        assert_eq!(progress.incomplete_for(), None, "an idle connection owes nothing");
        progress.note_read();
        assert!(progress.incomplete_for().is_some(), "the next request has begun");
    }

    #[test]
    fn a_connection_is_idle_without_requests_and_answers() {
        let progress = Progress::new();
        progress.begin_request();
        assert_eq!(progress.idle_for(), None);
        progress.begin_answer();
        progress.end_request();
        assert_eq!(progress.idle_for(), None);
        progress.end_answer();
        assert!(progress.idle_for().is_some());
    }

    #[test]
    fn an_answer_is_unread_while_nothing_can_be_written() {
        let progress = Progress::new();
        assert!(!progress.is_unread_for(Duration::ZERO));
        assert_eq!(progress.stalled_for(), None);
        progress.note_write(false);
        assert!(progress.stalled_for().is_some());
        assert!(progress.is_unread_for(Duration::ZERO));
        assert!(!progress.is_unread_for(Duration::from_secs(3600)));
        progress.begin_request();
        assert!(!progress.is_unread_for(Duration::ZERO), "a request is being handled");
        progress.end_request();
        progress.note_write(true);
        assert_eq!(progress.stalled_for(), None, "progress counts, however slow it is");
        assert!(!progress.is_unread_for(Duration::ZERO));
        progress.begin_answer();
        assert!(progress.is_unread_for(Duration::ZERO));
    }
}
