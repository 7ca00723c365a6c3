//! When heartbeats are due, and sending them.

use std::time::Duration;

use tokio::time::Instant;

use super::shutdown::Phase;
use crate::{Beat, Client, Error, Heartbeat, Welcome, WithJson};

/// Default interval, as recommended by the specification.
const USUAL: Duration = Duration::from_secs(5);
/// Maximum interval, even if the server asks for a longer one.
const LONGEST: Duration = Duration::from_secs(60);
/// Minimum interval, even for very short reservations.
const SHORTEST: Duration = Duration::from_millis(100);
/// Timeout of a heartbeat request; after this, the next one is due.
const PATIENCE: Duration = Duration::from_secs(5);

/// When heartbeats are due.
#[derive(Debug)]
pub(super) struct HeartbeatTimer {
    advised: Duration,
    last: Instant,
    /// Whether a heartbeat is due at once, because the state of the worker has changed.
    hurry: bool,
}

/// The response to a heartbeat, and when that was sent. It does not apply to jobs fetched since.
pub(super) struct BeatResponse {
    pub sent: Instant,
    pub phase: Phase,
    pub answer: Result<WithJson<Heartbeat>, Error>,
}

impl HeartbeatTimer {
    /// The first heartbeat is due at once, to learn the state that an operator has set for the worker.
    pub fn new(welcome: Option<&Welcome>) -> Self {
        let advised = welcome.and_then(|welcome| welcome.heartbeat_interval);
        let advised = advised.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let advised = advised.filter(|advised| !advised.is_zero()).unwrap_or(USUAL).min(LONGEST);
        Self { advised, last: Instant::now(), hurry: true }
    }

    /// When the next heartbeat is due. Even for the shortest reservation, one may be lost.
    pub fn due(&self, reservations: impl Iterator<Item = Duration>) -> Instant {
        if self.hurry {
            return self.last;
        }
        let shortest = reservations.min().map(|visibility| (visibility / 3).max(SHORTEST));
        self.last + shortest.map_or(self.advised, |shortest| shortest.min(self.advised))
    }

    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    pub fn beats(&mut self) {
        self.last = Instant::now();
        self.hurry = false;
    }
}

pub(super) async fn beat(
    client: Client,
    worker_id: String,
    active_jobs: Vec<String>,
    phase: Phase,
) -> BeatResponse {
    let state = match phase {
        Phase::Working => "running",
        Phase::Quiet | Phase::Draining => "quiet",
        Phase::Stopping => "terminate",
    };
    let beat = Beat { worker_id, active_jobs, state: Some(state.to_owned()), ..Beat::default() };
    let sent = Instant::now();
    let answer = match tokio::time::timeout(PATIENCE, client.heartbeat(&beat)).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Timeout { url: client.url(), seconds: PATIENCE.as_secs() }),
    };
    BeatResponse { sent, phase, answer }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcome(seconds: f64) -> Welcome {
        Welcome {
            heartbeat_interval: Some(seconds),
            heartbeat_timeout: None,
            visibility_timeout_default: None,
        }
    }

    #[tokio::test]
    async fn short_reservations_are_extended_more_often() {
        let mut heart = HeartbeatTimer::new(Some(&welcome(8.0)));
        heart.beats();
        let wait = |visibilities: &[u64]| {
            heart.due(visibilities.iter().map(|ms| Duration::from_millis(*ms))) - heart.last
        };
        assert_eq!(wait(&[]), Duration::from_secs(8));
        assert_eq!(wait(&[1_800_000]), Duration::from_secs(8));
        assert_eq!(wait(&[1_800_000, 3_000]), Duration::from_secs(1));
        assert_eq!(wait(&[1]), SHORTEST);
    }

    #[tokio::test]
    async fn advice_without_sense_is_not_taken() {
        for odd in [0.0, -1.0, f64::NAN] {
            assert_eq!(HeartbeatTimer::new(Some(&welcome(odd))).advised, USUAL);
        }
        assert_eq!(HeartbeatTimer::new(Some(&welcome(1e18))).advised, LONGEST);
    }
}
