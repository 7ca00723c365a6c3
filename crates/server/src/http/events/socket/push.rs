//! What a WebSocket pushes: the events of its subscriptions, and notices of those that it missed.

use axum::http::StatusCode;
use rota_engine::Event;
use rota_model::{Millis, Seq};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::super::super::error::ApiError;
use super::super::channel::{Channel, Scope};
use super::super::names::learn;
use super::super::notice::{self, Gap, Notice};
use super::connection::{Connection, End};
use super::message;
use super::session::{PACE, Session};
use super::subscriptions::Subscription;
use crate::runtime::{About, Names, ReadError, StreamTurn, ends_job};

/// Messages are pushed in pieces of about this many bytes.
const MAX_BYTES: usize = 128 << 10;

impl Session {
    /// Reads the next events in its turn, and pushes them after it.
    pub(super) async fn look_in_turn(
        &mut self,
        socket: &mut Connection,
        turn: StreamTurn,
    ) -> Result<(), End> {
        if turn.from() > self.from {
            (self.from, self.seen) = (turn.from(), self.now());
        }
        let messages = self.look().await?;
        // Others read while this one waits for its client.
        drop(turn);
        self.write(socket, messages).await
    }

    /// The messages for the next events, if there are any.
    pub(super) async fn look(&mut self) -> Result<Vec<Message>, End> {
        let mut messages = Vec::new();
        let look = self.app.events().look(self.from);
        let Some(chunk) = look.chunk else { return Ok(messages) };
        if look.from > self.from {
            self.skip_to(&mut messages, look.from, true).await?;
        }
        let wants = |number: u64, event: &Event| {
            self.subscriptions.wanting(number, event).next().is_some() || self.ends(event).is_some()
        };
        let wanted: Vec<_> = chunk.from(self.from).filter(|(n, event)| wants(*n, event)).collect();
        let frames = self.app.frames.of(chunk.first());
        let is_rendered = |(number, event): &&(u64, &Event)| {
            let mut variants = self.subscriptions.variants(*number, event);
            variants.all(|(_, variant)| frames.get(*number, variant).is_some())
        };
        let mut names = None;
        if !wanted.iter().all(|wanted| is_rendered(&wanted)) {
            let mut shared = chunk.names().lock().await;
            let missing = wanted.iter().filter(|wanted| !is_rendered(wanted));
            match learn(&self.app, &mut shared, missing.map(|(_, event)| *event)).await {
                Ok(()) => names = Some(shared),
                Err(ReadError::Busy) => {
                    self.next_look = Instant::now() + PACE;
                    return Ok(messages);
                }
                Err(_) => return Err(unreadable()),
            }
        }
        let none = Names::default();
        let names = names.as_deref().unwrap_or(&none);
        let (mut pushed, mut bytes, mut end) = (0, 0, chunk.end());
        for (number, event) in wanted {
            let at = event.at.to_string();
            for (subscription, variant) in self.subscriptions.variants(number, event) {
                let piece = || {
                    let ids = self.app.events().ids(number, event.at);
                    variant.piece(ids, event, names)
                };
                let frame = frames.get(number, variant);
                let frame = frame.unwrap_or_else(|| frames.render(number, variant, piece));
                bytes += frame.text().len();
                messages.push(message::event(subscription, &frame, &at, self.id));
                pushed += 1;
            }
            // The channel of a job ends with the job.
            let ended = self.ends(event).and_then(|seq| self.subscriptions.remove_job(seq));
            messages.extend(ended.map(|subscription| message::unsubscribed(&subscription)));
            self.seen = event.at;
            if pushed >= self.rate.burst() || bytes > MAX_BYTES {
                end = number + 1;
                break;
            }
        }
        self.from = end;
        if self.app.events().next_number() == end {
            self.seen = self.now();
        }
        self.rate.count(pushed);
        self.next_look = self.rate.ready();
        Ok(messages)
    }

    pub(super) async fn write(
        &mut self,
        socket: &mut Connection,
        messages: Vec<Message>,
    ) -> Result<(), End> {
        for message in messages {
            socket.feed(message).await?;
        }
        socket.flush().await?;
        // A client that was slow to take events in has its ping behind them.
        self.next_ping = self.next_ping.max(Instant::now());
        Ok(())
    }

    /// The job that has ended with this event.
    fn ends(&self, event: &Event) -> Option<Seq> {
        let job = About::of(&event.kind).job.filter(|_| ends_job(&event.kind))?;
        Some(job.seq)
    }

    /// Goes on behind events that have left the ring, and says so on every channel.
    pub(super) async fn skip_to(
        &mut self,
        messages: &mut Vec<Message>,
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
                messages.push(self.notice(subscription, gap.notice()));
                continue;
            }
            let oldest = events.id_of(begin, self.seen);
            let dropped = notice::dropped(&gap, oldest, now);
            messages.push(message::warning(&dropped.data));
            messages.push(self.notice(subscription, dropped));
        }
        (self.from, self.seen) = (first, now);
        self.end_channels(messages).await
    }

    /// Ends the channels of jobs that have ended with an event that was skipped.
    pub(super) async fn end_channels(&mut self, messages: &mut Vec<Message>) -> Result<(), End> {
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
                messages.push(self.notice(&subscription, end.notice(id)));
            }
            messages.push(message::unsubscribed(&subscription));
        }
        Ok(())
    }

    pub(super) async fn scope_of(&self, channel: &str) -> Result<Scope, ApiError> {
        Channel::parse(channel)?.scope(&self.app).await
    }

    pub(super) fn now(&self) -> Millis {
        self.app.now()
    }

    /// A notice about a subscription, as a message.
    pub(super) fn notice(&self, subscription: &Subscription, notice: Notice) -> Message {
        let at = notice.at.to_string();
        let piece = subscription.form.notice(notice);
        message::notice(subscription, piece, &at, self.id)
    }
}

pub(super) fn unreadable() -> End {
    End::Close(CloseCode::Error, "events cannot be read")
}
