//! One WebSocket: reads requests, pushes the events of its subscriptions, and closes cleanly.

use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use rota_model::Millis;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::super::super::Access;
use super::super::super::error::ApiError;
use super::super::channel::Scope;
use super::super::form::Form;
use super::super::notice;
use super::super::query::parse_id;
use super::super::rate::Rate;
use super::super::room::Open;
use super::connection::{Connection, End, FAREWELL};
use super::message;
use super::remembered::OpenEntry;
use super::request::{self, ENVELOPES, Request, Subscribe, Unsubscribe};
use super::subscriptions::{Subscription, Subscriptions};
use crate::runtime::{self, EventFilter, TypeFilter, time_of};

pub(super) struct Session {
    pub(super) app: Access,
    /// Part of the ids of its events, by which a client that comes back names this connection.
    pub(super) id: u64,
    pub(super) subscriptions: Subscriptions,
    /// How many subscriptions to envelopes there have been.
    numbered: u64,
    /// The next event to look at.
    pub(super) from: u64,
    /// Up to when the client has seen what it wants to see.
    pub(super) seen: Millis,
    /// When to look at the events again.
    pub(super) next_look: Instant,
    pub(super) next_ping: Instant,
    /// The last ping was not answered yet.
    unanswered: bool,
    pub(super) rate: Rate,
    ending: watch::Receiver<bool>,
    _room: Open,
}

/// What there is to do next.
enum Turn {
    Message(Result<Message, End>),
    Ending,
    Ping,
    Look(runtime::StreamTurn),
}

/// Between two looks into a busy ring: many events in one go instead of one at a time.
pub(super) const PACE: Duration = Duration::from_millis(10);
/// How long a client may take to answer a ping.
const PONG_TIMEOUT: Duration = Duration::from_secs(10);

impl Session {
    pub fn new(app: Access, room: Open) -> Self {
        let events = app.events();
        let now = Instant::now();
        Self {
            id: fastrand::u64(..),
            subscriptions: Subscriptions::default(),
            numbered: 0,
            from: events.next_number(),
            seen: app.now(),
            next_look: now,
            next_ping: now + ping_interval(&app),
            unanswered: false,
            rate: Rate::new(app.settings.events.max_per_second),
            ending: events.ending(),
            _room: room,
            app,
        }
    }

    pub async fn run(mut self, io: TokioIo<Upgraded>) {
        let mut socket = Connection::new(io).await;
        let mut ending = self.ending.clone();
        let overdue = async {
            // The sender lives as long as the app.
            let _ = ending.wait_for(|ended| *ended).await;
            sleep(FAREWELL).await;
        };
        let entry = self.app.sockets.open(self.id, self.app.tenant().cloned());
        let app = self.app.clone();
        let is_expelled = tokio::select! {
            () = self.serve(&mut socket, &entry) => false,
            () = overdue => false,
            _ = app.credentials_ended() => true,
        };
        if is_expelled {
            socket.close(CloseCode::Policy, "the credentials have ended").await;
        }
    }

    async fn serve(&mut self, socket: &mut Connection, entry: &OpenEntry) {
        if let End::Close(code, reason) = self.flow(socket, entry).await {
            socket.close(code, reason).await;
        }
    }

    async fn flow(&mut self, socket: &mut Connection, entry: &OpenEntry) -> End {
        loop {
            if let Some(subscriptions) = self.subscriptions.take_changed() {
                entry.set(subscriptions);
            }
            let done = match self.next_turn(socket).await {
                Turn::Look(turn) => self.look_in_turn(socket, turn).await,
                Turn::Ping => self.ping(socket).await,
                Turn::Ending => self.say_goodbye(socket).await,
                Turn::Message(Ok(message)) => self.read(socket, message).await,
                Turn::Message(Err(end)) => Err(end),
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    async fn next_turn(&mut self, socket: &mut Connection) -> Turn {
        let is_subscribed = self.subscriptions.len() > 0;
        let (app, from, next_look) = (&self.app, self.from, self.next_look);
        let look = async {
            sleep_until(next_look).await;
            app.turns().wait(app.tenant(), from).turn().await
        };
        let ending = async { drop(self.ending.wait_for(|ended| *ended).await) };
        tokio::select! {
            biased;
            message = socket.next() => Turn::Message(message),
            () = ending => Turn::Ending,
            () = sleep_until(self.next_ping) => Turn::Ping,
            turn = look, if is_subscribed => Turn::Look(turn),
        }
    }

    async fn read(&mut self, socket: &mut Connection, message: Message) -> Result<(), End> {
        // Whoever sends anything is alive.
        self.unanswered = false;
        match message {
            Message::Text(text) => self.answer(socket, &text).await,
            // A pong was added to what is written next.
            Message::Ping(_) => socket.flush().await,
            Message::Pong(_) | Message::Frame(_) => Ok(()),
            Message::Binary(_) => {
                Err(End::Close(CloseCode::Unsupported, "messages are text in JSON"))
            }
            Message::Close(_) => {
                socket.answer_close().await;
                Err(End::Gone)
            }
        }
    }

    async fn answer(&mut self, socket: &mut Connection, text: &str) -> Result<(), End> {
        match request::parse(text) {
            Err(error) => socket.feed(message::error(&error, None)).await?,
            Ok(Request::Subscribe(request)) => self.subscribe(socket, request, None).await?,
            Ok(Request::Unsubscribe(which)) => self.unsubscribe(socket, &which).await?,
            Ok(Request::Resume { last_event_id }) => self.resume(socket, &last_event_id).await?,
        }
        socket.flush().await
    }

    /// Subscribes, from the event `since` on if that is given.
    async fn subscribe(
        &mut self,
        socket: &mut Connection,
        request: Subscribe,
        since: Option<u64>,
    ) -> Result<(), End> {
        // The place comes first: an end that a job's record does not show yet is behind it.
        let next = self.app.events().next_number();
        let scope = match self.scope(&request).await {
            Ok(scope) => scope,
            Err(error) => {
                return socket.feed(message::error(&error, Some(&request.channel))).await;
            }
        };
        let (name, end) = (scope.name.clone(), scope.end);
        let filter = EventFilter { queue: scope.queue, job: scope.job, ..EventFilter::default() };
        let since = since.unwrap_or(next);
        let subscription = match request.filter.clone() {
            Some(wanted) => {
                let types = TypeFilter(wanted.event_types);
                let (queues, job_types) = (wanted.queues, wanted.job_types);
                let filter = EventFilter { types, queues, job_types, ..filter };
                Subscription { request, name, filter, form: Form::Envelope, since }
            }
            None => {
                let types = TypeFilter(request.event_types.clone().unwrap_or_default());
                Subscription { request, name, filter, form: Form::Flat(types), since }
            }
        };
        socket.feed(message::subscribed(&subscription)).await?;
        if self.subscriptions.len() == 0 {
            (self.from, self.seen) = (since, self.now());
        }
        if let Some(end) = end.filter(|_| since == next) {
            let id = self.app.events().id_of(next - 1, self.now());
            let notice = self.notice(&subscription, end.notice(id));
            socket.feed(notice).await?;
            return socket.feed(message::unsubscribed(&subscription)).await;
        }
        self.subscriptions.put(subscription);
        Ok(())
    }

    /// What a request names, if there is room for it.
    async fn scope(&mut self, request: &Subscribe) -> Result<Scope, ApiError> {
        let scope = if request.channel == ENVELOPES {
            self.numbered += 1;
            let name = format!("sub_{:016x}_{}", self.id, self.numbered);
            Scope { name, queue: None, job: None, end: None }
        } else {
            self.scope_of(&request.channel).await?
        };
        let most = self.app.settings.events.channels;
        let is_new = !self.subscriptions.has(&Unsubscribe::Channel(scope.name.clone()));
        if is_new && self.subscriptions.len() >= most {
            let text = format!("The connection has {most} channels, which is the most.");
            return Err(ApiError::invalid_request(text).hint(
                "Unsubscribe from one, or open another connection; an operator can raise events.channels.",
            ));
        }
        Ok(scope)
    }

    async fn unsubscribe(
        &mut self,
        socket: &mut Connection,
        which: &Unsubscribe,
    ) -> Result<(), End> {
        match self.subscriptions.remove(which) {
            Some(subscription) => socket.feed(message::unsubscribed(&subscription)).await,
            None => {
                let (Unsubscribe::Channel(name) | Unsubscribe::Id(name)) = which;
                let error = ApiError::not_found("subscription", name);
                socket.feed(message::error(&error, Some(name))).await
            }
        }
    }

    /// Goes back behind an event: with the subscriptions of the connection that it was sent on, if the
    /// id tells which, and with those that this one has.
    async fn resume(&mut self, socket: &mut Connection, last_event_id: &str) -> Result<(), End> {
        let session = last_event_id.split_once('.').map(|(_, session)| session);
        let session = session.and_then(|session| u64::from_str_radix(session, 16).ok());
        let id = parse_id(last_event_id);
        let number = id.and_then(|id| self.app.events().number_of(id));
        let (Some(id), Some(number)) = (id, number) else {
            return socket.feed(message::unknown_event_id()).await;
        };
        let earlier = session
            .filter(|session| *session != self.id)
            .and_then(|session| self.app.sockets.find(session, self.app.tenant()));
        if earlier.is_none() && self.subscriptions.len() == 0 {
            return socket.feed(message::unknown_event_id()).await;
        }
        let from = number + 1;
        for request in earlier.into_iter().flatten() {
            self.subscribe(socket, request, Some(from)).await?;
        }
        self.subscriptions.iter_mut().for_each(|subscription| subscription.since = from);
        (self.from, self.seen) = (from, time_of(id));
        let first = self.app.events().look(from).from;
        if first > from {
            let mut messages = Vec::new();
            self.skip_to(&mut messages, first, false).await?;
            self.write(socket, messages).await?;
        }
        Ok(())
    }

    async fn ping(&mut self, socket: &mut Connection) -> Result<(), End> {
        if self.unanswered {
            return Err(End::Close(CloseCode::Policy, "no answer to a ping"));
        }
        socket.feed(Message::Ping(Bytes::new())).await?;
        socket.flush().await?;
        (self.unanswered, self.next_ping) = (true, Instant::now() + ping_interval(&self.app));
        Ok(())
    }

    /// Pushes what is left and tells of the shutdown.
    async fn say_goodbye(&mut self, socket: &mut Connection) -> Result<(), End> {
        while self.subscriptions.len() > 0 && self.app.events().next_number() > self.from {
            let messages = self.look().await?;
            self.write(socket, messages).await?;
        }
        let now = self.now();
        let id = self.app.events().id_of(self.from - 1, now);
        let shutdown = notice::shutdown(id, now, FAREWELL.as_millis() as u64);
        let piece = Form::Flat(TypeFilter::default()).notice(shutdown);
        socket.feed(message::system_event(piece, &now.to_string(), self.id)).await?;
        Err(End::Close(CloseCode::Away, "the server is shutting down"))
    }
}

/// A ping must be answered before the next is due.
fn ping_interval(app: &Access) -> Duration {
    app.settings.events.heartbeat.min(PONG_TIMEOUT)
}
