//! The eight states of a job and the transitions between them.

use std::fmt;

/// The state of a job, as defined by OJS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Waiting for its start time.
    Scheduled = 0,
    /// Ready to be fetched.
    Available = 1,
    /// Waiting to be activated.
    Pending = 2,
    /// Being run by a worker.
    Active = 3,
    /// Succeeded. Terminal.
    Completed = 4,
    /// Failed and waiting for its next attempt.
    Retryable = 5,
    /// Cancelled by a client or an operator. Terminal.
    Cancelled = 6,
    /// Failed permanently, dropped or expired. Terminal.
    Discarded = 7,
}

impl State {
    /// The states in which a job waits.
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

    /// The name in JSON.
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

    /// Parses the name in JSON.
    #[must_use]
    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// The state with this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<State> {
        State::ALL.get(usize::from(code)).copied()
    }

    /// The stored number. Codes are never reused.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether the job has finished. Only a manual retry leaves such a state.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, State::Completed | State::Cancelled | State::Discarded)
    }

    /// Whether the transition from `from` to this state is allowed. `None` is a job that does not
    /// exist yet.
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
