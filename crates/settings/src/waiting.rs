//! Requests that wait hold their connections: together they may not have all.

use rota_model::Cap;

use crate::declared::Settings;
use crate::error::Problem;
use crate::resolve::Reader;

const ADVICE: &str = "requests that wait (limits.waiting_fetches, limits.waiting_enqueues and \
    limits.event_streams together) may hold nine tenths of the connections: lower one of them, leave \
    it at auto, or raise http.max_connections";

/// Caps on requests that hold their connections for as long as they wait.
#[derive(Debug, Clone, Copy)]
pub struct WaitingCaps {
    pub fetches: Cap,
    pub enqueues: Cap,
    pub streams: Cap,
}

impl Settings {
    /// With `auto`, seven tenths of all connections may wait for jobs, and one tenth each for room in
    /// queues and for events.
    #[must_use]
    pub fn waiting(&self) -> WaitingCaps {
        let (limits, connections) = (&self.limits, self.http.max_connections);
        let cap = |total: Option<usize>, tenths: usize, per_tenant: Option<usize>| {
            let total = total.unwrap_or((connections * tenths / 10).max(1));
            Cap { total, per_tenant: per_tenant.unwrap_or((total / 10).max(1)) }
        };
        WaitingCaps {
            fetches: cap(limits.waiting_fetches, 7, limits.waiting_fetches_per_tenant),
            enqueues: cap(limits.waiting_enqueues, 1, limits.waiting_enqueues_per_tenant),
            streams: cap(limits.event_streams, 1, limits.event_streams_per_tenant),
        }
    }

    /// Somebody asked for more waiting requests than there are connections for them.
    pub(crate) fn too_many_waiting(&self, reader: &Reader) -> Option<Problem> {
        let caps = self.waiting();
        let connections = self.http.max_connections;
        let together = [caps.fetches, caps.enqueues, caps.streams].map(|cap| cap.total);
        let given = [
            ("limits.waiting_fetches", self.limits.waiting_fetches),
            ("limits.waiting_enqueues", self.limits.waiting_enqueues),
            ("limits.event_streams", self.limits.event_streams),
        ];
        let (most, _) = given.iter().filter(|(_, total)| total.is_some()).max_by_key(|it| it.1)?;
        if together.iter().sum::<usize>() <= connections - connections / 10 {
            return None;
        }
        let one = reader.chosen(most)?.clone();
        let other = reader.chosen("http.max_connections")?.clone();
        Some(Problem::Contradiction { one, other, advice: ADVICE })
    }
}
