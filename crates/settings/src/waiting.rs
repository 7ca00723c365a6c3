//! Waiting requests hold their connections, so together they may not use all of them.

use rota_model::Cap;

use crate::declared::Settings;
use crate::error::Problem;
use crate::resolve::Reader;

const ADVICE: &str = "limits.waiting_fetches, limits.waiting_enqueues and limits.event_streams together may \
    use nine tenths of the connections: lower one of them, set it to auto, or raise http.max_connections";

/// Caps on waiting requests.
#[derive(Debug, Clone, Copy)]
pub struct WaitingCaps {
    pub fetches: Cap,
    pub enqueues: Cap,
    pub streams: Cap,
}

impl Settings {
    /// By default fetches may use seven tenths of all connections; enqueues and event streams, a tenth each.
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

    /// The cap on requests that are handled at the same time. Waiting ones are among them.
    #[must_use]
    pub fn requests_in_flight(&self) -> Cap {
        let WaitingCaps { fetches, enqueues, streams } = self.waiting();
        let waiting = fetches.per_tenant + enqueues.per_tenant + streams.per_tenant;
        let auto = waiting + (self.http.max_connections / 10).max(1);
        let total = self.http.max_connections.max(10);
        Cap { total, per_tenant: self.limits.requests_per_tenant.unwrap_or(auto) }
    }

    /// The cap on the bodies of requests under way, in bytes.
    #[must_use]
    pub fn incoming_bodies(&self) -> Cap {
        let limits = &self.limits;
        let total = limits.incoming_bytes.unwrap_or(limits.body_bytes.saturating_mul(16));
        Cap { total, per_tenant: limits.incoming_bytes_per_tenant.unwrap_or((total / 4).max(1)) }
    }

    /// The cap on answers that are not read yet, in bytes.
    #[must_use]
    pub fn unread_answers(&self) -> Cap {
        Cap { total: self.limits.unread_bytes, per_tenant: self.limits.unread_bytes_per_tenant }
    }

    /// A problem if more waiting requests are allowed than there are connections for them.
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
