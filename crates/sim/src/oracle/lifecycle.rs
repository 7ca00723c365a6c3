//! The state transitions that the Open Job Spec allows.

use rota_model::{Ending, State};

/// How a job got into a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    State(State),
    Ended(Ending),
    /// By an operator, from the dead.
    Again,
}

/// `None` is a job that does not exist yet.
pub fn allows(from: Option<State>, into: Into) -> bool {
    use State::{
        Active, Available, Cancelled, Completed, Discarded, Pending, Retryable, Scheduled,
    };
    match (from, into) {
        (None, Into::State(to)) => matches!(to, Scheduled | Available | Pending),
        (Some(Scheduled | Pending | Retryable), Into::State(to)) => to == Available,
        (Some(Available), Into::State(to)) => matches!(to, Active | Scheduled),
        (Some(Active), Into::State(to)) => matches!(to, Retryable | Available),
        (Some(Scheduled | Pending | Retryable | Available), Into::Ended(ending)) => {
            matches!(ending, Ending::Cancelled | Ending::Expired | Ending::Discarded)
        }
        (Some(Active), Into::Ended(ending)) => ending != Ending::Expired,
        (Some(Discarded | Cancelled), Into::Again) => true,
        (Some(Completed | Discarded | Cancelled), _) | (None, _) | (_, Into::Again) => false,
    }
}
