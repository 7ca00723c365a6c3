//! The eight states of a job, and which may follow which.

use std::fmt;

/// Where a job is in its life, in the words of OJS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Waits for its start time.
    Scheduled = 0,
    /// Ready to be fetched.
    Available = 1,
    /// Accepted, and not to be run before it is activated.
    Pending = 2,
    /// Held by a worker.
    Active = 3,
    /// Ended well. Terminal.
    Completed = 4,
    /// Failed, and waits for its next attempt.
    Retryable = 5,
    /// Called off. Terminal.
    Cancelled = 6,
    /// Failed for good, dropped or expired. Terminal.
    Discarded = 7,
}

impl State {
    /// The states in which a job waits, in one way or another.
    pub const WAITING: [State; 4] =
        [State::Scheduled, State::Available, State::Pending, State::Retryable];

    /// Every state, in the order of the codes.
    pub const ALL: [State; 8] = [
        State::Scheduled,
        State::Available,
        State::Pending,
        State::Active,
        State::Completed,
        State::Retryable,
        State::Cancelled,
        State::Discarded,
    ];

    /// The word for it in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Scheduled => "scheduled",
            State::Available => "available",
            State::Pending => "pending",
            State::Active => "active",
            State::Completed => "completed",
            State::Retryable => "retryable",
            State::Cancelled => "cancelled",
            State::Discarded => "discarded",
        }
    }

    /// Reads the word; `None` for any other.
    #[must_use]
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// Reads a code; `None` if there is no such state.
    #[must_use]
    pub fn from_code(code: u8) -> Option<State> {
        State::ALL.get(usize::from(code)).copied()
    }

    /// The number that stands for it in a store. Never reused for another.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether the job has ended. Only an operator's retry leads out of such a state.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, State::Completed | State::Cancelled | State::Discarded)
    }

    /// Whether the lifecycle allows this step. `None` is a job that does not exist yet.
    #[must_use]
    pub fn may_follow(self, from: Option<State>) -> bool {
        use State::{
            Active, Available, Cancelled, Completed, Discarded, Pending, Retryable, Scheduled,
        };
        match from {
            None => matches!(self, Scheduled | Available | Pending),
            Some(Scheduled | Pending) => matches!(self, Available | Cancelled | Discarded),
            Some(Available) => matches!(self, Active | Cancelled | Discarded),
            Some(Active) => {
                matches!(self, Completed | Retryable | Available | Cancelled | Discarded)
            }
            Some(Retryable) => matches!(self, Available | Cancelled | Discarded),
            Some(Discarded | Cancelled) => self == Available,
            Some(Completed) => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_words_round_trip() {
        for state in State::ALL {
            assert_eq!(State::from_code(state.code()), Some(state));
            assert_eq!(State::parse(state.as_str()), Some(state));
        }
        assert_eq!(State::from_code(8), None);
        assert_eq!(State::parse("running"), None);
    }

    #[test]
    fn nothing_follows_completed() {
        assert!(State::ALL.into_iter().all(|s| !s.may_follow(Some(State::Completed))));
    }
}
