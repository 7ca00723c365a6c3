//! What a WebSocket pushes: the events of its subscriptions, and notices of those that it missed.

use axum::http::StatusCode;
use rota_engine::Event;
use rota_model::{Millis, Seq};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::super::super::error::ApiError;
use super::super::channel::{Channel, Scope};
use super::super::names::learn;
use super::super::notice::{self, Gap, Notice};
use super::connection::{Connection, End};
use super::message;
use super::session::{PACE, Session};
use super::subscriptions::Subscription;
use crate::runtime::{About, Names, ReadError, ends_job};

impl Session {
    /// Pushes the next events, if there are any.
    pub(super) async fn look(&mut self, socket: &mut Connection) -> Result<(), End> {
        let look = self.app.events().look(self.from);
        let Some(chunk) = look.chunk else { return Ok(()) };
        if look.from > self.from {
            self.skip_to(socket, look.from, true).await?;
        }
        let wants = |number: u64, event: &Event| {
            self.subscriptions.wanting(number, event).next().is_some() || self.ends(event).is_some()
        };
        let wanted: Vec<_> = chunk.from(self.from).filter(|(n, event)| wants(*n, event)).collect();
        let mut names = Names::default();
        if !wanted.is_empty() {
            let mut shared = chunk.names.lock().await;
            match learn(&self.app, &mut shared, wanted.iter().map(|(_, event)| *event)).await {
                Ok(()) => names.clone_from(&shared),
                Err(ReadError::Busy) => {
                    self.next_look = Instant::now() + PACE;
                    return Ok(());
                }
                Err(_) => return Err(unreadable()),
            }
        }
        let mut pushed = 0;
        let mut end = chunk.end();
        for (number, event) in wanted {
            pushed += self.push(socket, number, event, &names).await?;
            self.seen = event.at;
            if pushed >= self.rate.burst() {
                end = number + 1;
                break;
            }
        }
        self.from = end;
        if self.app.events().next_number() == end {
            self.seen = self.now();
        }
        socket.flush().await?;
        self.rate.count(pushed);
        let now = Instant::now();
        self.next_look = self.rate.ready().max(now + PACE);
        // A client that was slow to take events in has its ping behind them.
        self.next_ping = self.next_ping.max(now);
        Ok(())
    }

    /// How many messages were sent for the event.
    async fn push(
        &mut self,
        socket: &mut Connection,
        number: u64,
        event: &Event,
        names: &Names,
    ) -> Result<usize, End> {
        let (at, mut pushed) = (event.at.to_string(), 0);
        for subscription in self.subscriptions.wanting(number, event) {
            let events = self.app.events();
            for piece in subscription.form.pieces(events, (number, event), names) {
                socket.feed(message::event(subscription, piece, &at, self.id)).await?;
                pushed += 1;
            }
        }
        // The channel of a job ends with the job.
        let ended = self.ends(event).and_then(|seq| self.subscriptions.remove_job(seq));
        if let Some(subscription) = ended {
            socket.feed(message::unsubscribed(&subscription)).await?;
        }
        Ok(pushed)
    }

    /// The job that has ended with this event.
    fn ends(&self, event: &Event) -> Option<Seq> {
        let job = About::of(&event.kind).job.filter(|_| ends_job(&event.kind))?;
        Some(job.seq)
    }

    /// Goes on behind events that have left the ring, and says so on every channel.
    pub(super) async fn skip_to(
        &mut self,
        socket: &mut Connection,
        first: u64,
        live: bool,
    ) -> Result<(), End> {
        let events = self.app.events();
        let now = self.now();
        let oldest = events.look(first).chunk;
        for subscription in self.subscriptions.iter().filter(|one| one.since < first) {
            let begin = self.from.max(subscription.since);
            let left = oldest.iter().flat_map(|chunk| chunk.from(first));
            let mut left = left.filter(|(_, event)| subscription.filter.admits(event));
            let end = left.next().map_or(now, |(_, event)| event.at);
            let gap = Gap {
                channel: &subscription.name,
                id: events.id_of(first - 1, end),
                start: self.seen,
                end,
                missed: self.app.is_operator().then_some(first - begin),
            };
            if !live {
                self.notify(socket, subscription, gap.notice()).await?;
                continue;
            }
            let oldest = events.id_of(begin, self.seen);
            let dropped = notice::dropped(&gap, oldest, now);
            socket.feed(message::warning(&dropped.data)).await?;
            self.notify(socket, subscription, dropped).await?;
        }
        (self.from, self.seen) = (first, now);
        self.end_channels(socket).await
    }

    /// Ends the channels of jobs that have ended with an event that was skipped.
    pub(super) async fn end_channels(&mut self, socket: &mut Connection) -> Result<(), End> {
        // Those that end with an event that is still there end when it is pushed.
        let to_come = self.app.events().jobs_that_end(self.from);
        let skipped = |seq: &Seq| !to_come.contains(seq);
        for seq in self.subscriptions.jobs().filter(skipped).collect::<Vec<_>>() {
            let Some(name) = self.subscriptions.job(seq).map(|job| job.name.clone()) else {
                continue;
            };
            let end = match self.scope_of(&name).await {
                Ok(Scope { end: None, .. }) => continue,
                Ok(Scope { end, .. }) => end,
                Err(error) if error.status() == StatusCode::NOT_FOUND => None,
                Err(_) => return Err(unreadable()),
            };
            let Some(subscription) = self.subscriptions.remove_job(seq) else { continue };
            if let Some(end) = end {
                let id = self.app.events().id_of(self.from - 1, self.now());
                self.notify(socket, &subscription, end.notice(id)).await?;
            }
            socket.feed(message::unsubscribed(&subscription)).await?;
        }
        Ok(())
    }

    pub(super) async fn scope_of(&self, channel: &str) -> Result<Scope, ApiError> {
        Channel::parse(channel)?.scope(&self.app).await
    }

    pub(super) fn now(&self) -> Millis {
        self.app.now()
    }

    pub(super) async fn notify(
        &self,
        socket: &mut Connection,
        subscription: &Subscription,
        notice: Notice,
    ) -> Result<(), End> {
        let at = notice.at.to_string();
        let piece = subscription.form.notice(notice);
        socket.feed(message::event(subscription, piece, &at, self.id)).await
    }
}

pub(super) fn unreadable() -> End {
    End::Close(CloseCode::Error, "events cannot be read")
}
