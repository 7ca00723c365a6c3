use std::time::Duration;

use tokio::time::Instant;

use super::shutdown::Phase;
use crate::{Beat, Client, Error, Heartbeat, Kept, Welcome};

/// What the specification advises.
const USUAL: Duration = Duration::from_secs(5);
/// A server that advises more hears from its worker nevertheless.
const LONGEST: Duration = Duration::from_secs(60);
/// Beats for jobs with very short reservations are not sent more often than this.
const SHORTEST: Duration = Duration::from_millis(100);
/// A beat that takes longer is of no use: the next is due.
const PATIENCE: Duration = Duration::from_secs(5);

/// When heartbeats are due.
#[derive(Debug)]
pub(super) struct Heart {
    advised: Duration,
    last: Instant,
    /// There is news for the server.
    hurry: bool,
}

/// The answer to a beat, and when that was sent: it says nothing about what has happened since.
pub(super) struct Answered {
    pub sent: Instant,
    pub phase: Phase,
    pub answer: Result<Kept<Heartbeat>, Error>,
}

impl Heart {
    /// The first beat is due at once: it tells what an operator has said about this worker.
    pub fn new(welcome: Option<&Welcome>) -> Self {
        let advised = welcome.and_then(|welcome| welcome.heartbeat_interval);
        let advised = advised.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let advised = advised.filter(|advised| !advised.is_zero()).unwrap_or(USUAL).min(LONGEST);
        Self { advised, last: Instant::now(), hurry: true }
    }

    /// When the next beat is due: often enough that one may be lost for the shortest reservation.
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
) -> Answered {
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
    Answered { sent, phase, answer }
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
        let mut heart = Heart::new(Some(&welcome(8.0)));
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
            assert_eq!(Heart::new(Some(&welcome(odd))).advised, USUAL);
        }
        assert_eq!(Heart::new(Some(&welcome(1e18))).advised, LONGEST);
    }
}
