//! One event stream: reads the ring whenever there are new events.

use std::mem::take;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use rota_engine::Event;
use rota_model::{JobId, Millis};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::super::Access;
use super::super::listen::Cut;
use super::channel::{Channel, Scope};
use super::form::Form;
use super::frame;
use super::names::learn;
use super::notice::{self, End, Gap};
use super::query::Resume;
use super::rate::Rate;
use super::room::Open;
use crate::runtime::{EventFilter, Names, ReadError, StreamTurn, ends_job, time_of};

pub(super) struct Stream {
    app: Access,
    channel: String,
    filter: EventFilter,
    form: Form,
    /// How the job ended to which the stream belongs.
    finale: Option<End>,
    /// The next event to look at.
    from: u64,
    /// Up to when the client has seen what it wants to see.
    seen: Millis,
    /// For a tenant, to whom the number of all tenants' events is not shown.
    of_tenant: bool,
    /// Something was sent, so what it misses from now on it misses by being slow.
    live: bool,
    /// The last that was seen of the job is its end.
    over: bool,
    rate: Rate,
    ending: watch::Receiver<bool>,
    out: mpsc::Sender<Bytes>,
    cut: Option<Cut>,
    /// When to say that the stream is alive, if nothing else is said before.
    heartbeat: Instant,
    _room: Open,
}

/// What a stream does next.
enum Next {
    Turn(StreamTurn),
    Heartbeat,
    Ending,
    /// Nobody is there any more.
    Gone,
}

/// The pause after the store was too busy.
const PACE: Duration = Duration::from_millis(10);
/// Events are sent in pieces of about this many bytes.
const PIECE: usize = 128 << 10;
/// The most chunks of events that are read in one turn.
const MAX_CHUNKS: usize = 16;
/// How long a stream may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);

impl Stream {
    /// A stream of all events that the filter admits, from now on.
    pub fn new(app: Access, filter: EventFilter, out: mpsc::Sender<Bytes>, room: Open) -> Self {
        let events = app.events();
        let ending = events.ending();
        let (from, seen) = (events.next_number(), app.now());
        Self {
            channel: "all".to_owned(),
            filter,
            form: Form::Envelope,
            finale: None,
            from,
            seen,
            of_tenant: !app.is_operator(),
            live: false,
            over: false,
            rate: Rate::new(app.settings.events.max_per_second),
            ending,
            out,
            cut: Cut::of_this_request(),
            heartbeat: Instant::now() + app.settings.events.heartbeat,
            _room: room,
            app,
        }
    }

    /// Narrows the stream to a channel. It ends when the job of the channel has ended.
    pub fn join(&mut self, scope: Scope, form: Form) {
        (self.channel, self.form, self.finale) = (scope.name, form, scope.end);
        (self.filter.queue, self.filter.job) = (scope.queue, scope.job);
    }

    pub async fn run(mut self, resume: Resume) {
        let mut ending = self.ending.clone();
        let overdue = async {
            // The sender lives as long as the app.
            let _ = ending.wait_for(|ended| *ended).await;
            sleep(FAREWELL).await;
        };
        tokio::pin!(overdue);
        let app = self.app.clone();
        let flowed = tokio::select! {
            () = self.flow(resume) => true,
            () = &mut overdue => false,
            // The next request tells the client why.
            _ = app.credentials_ended() => true,
        };
        let (ended, cut) = (*self.ending.borrow(), self.cut.take());
        // The answer ends with this.
        drop(self);
        // A client that does not read what was sent would hold the server's end up.
        if let Some(cut) = cut.filter(|_| ended) {
            if flowed {
                overdue.await;
            }
            cut.now();
        }
    }

    async fn flow(&mut self, resume: Resume) {
        let mut text = Vec::new();
        self.begin(&mut text, resume);
        // What a job's stream missed before it was opened is read at once, and so is the rest at the end.
        while self.finale.is_none() && !*self.ending.borrow() {
            if !self.send(take(&mut text)).await {
                return;
            }
            sleep_until(self.rate.ready()).await;
            match self.wait().await {
                Next::Turn(turn) => {
                    let read = self.read(&turn, &mut text).await;
                    // Others read while this one waits for its client.
                    drop(turn);
                    if read.is_err() {
                        return;
                    }
                    if self.over {
                        let _ = self.send(text).await;
                        return;
                    }
                    if !self.send(take(&mut text)).await {
                        return;
                    }
                    self.live = true;
                }
                Next::Heartbeat => frame::write_heartbeat(&mut text, self.place()),
                Next::Ending => {}
                Next::Gone => return,
            }
        }
        self.finish(text).await;
    }

    /// Reads in its turn.
    async fn read(&mut self, turn: &StreamTurn, text: &mut Vec<u8>) -> Result<(), ReadError> {
        if turn.from() > self.from {
            (self.from, self.seen) = (turn.from(), self.now());
        }
        for _ in 0..MAX_CHUNKS {
            match self.gather(text).await {
                Ok(true) if text.len() <= PIECE && !self.rate.is_used_up() => {}
                // With the next turn it goes on where it was.
                Ok(_) | Err(ReadError::Busy) => break,
                // The client will be back, and goes on where it was.
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what is left, and says goodbye.
    async fn finish(&mut self, mut text: Vec<u8>) {
        loop {
            match self.gather(&mut text).await {
                Ok(true) => {}
                Err(ReadError::Busy) => sleep(PACE).await,
                Ok(false) => break,
                Err(_) => return,
            }
            if !self.send(take(&mut text)).await {
                return;
            }
            self.live = true;
            sleep_until(self.rate.ready()).await;
        }
        self.write_last(&mut text);
        let _ = self.send(text).await;
    }

    /// Finds the place and says where the stream begins.
    fn begin(&mut self, text: &mut Vec<u8>, resume: Resume) {
        let events = self.app.events();
        let end = self.now();
        let start = match resume {
            Resume::Now => return frame::write_greeting(text, self.place()),
            Resume::Unknown => end,
            Resume::Behind(id) => {
                if let Some(number) = events.number_of(id) {
                    (self.from, self.seen) = (number + 1, time_of(id));
                    return frame::write_greeting(text, id);
                }
                time_of(id).min(end)
            }
        };
        // It has seen events of which nothing is known here, so it goes on from now.
        frame::write_greeting(text, self.place());
        let gap = Gap { channel: &self.channel, id: self.place(), start, end, missed: None };
        frame::write_event(text, &self.form.notice(gap.notice()));
    }

    /// Writes the next events, if there are any: `true` says that there may be more.
    async fn gather(&mut self, text: &mut Vec<u8>) -> Result<bool, ReadError> {
        let look = self.app.events().look(self.from);
        let Some(chunk) = look.chunk else {
            self.seen = self.now();
            return Ok(false);
        };
        if look.from > self.from {
            let mut wanted = chunk.from(look.from).filter(|(_, event)| self.filter.admits(event));
            let end = wanted.next().map_or_else(|| self.now(), |(_, event)| event.at);
            self.skip_to(look.from, end, text);
            self.look_for_end().await;
        }
        let wants = |event: &Event| self.filter.admits(event) && self.form.wants(event);
        let wanted: Vec<_> = chunk.from(self.from).filter(|(_, event)| wants(event)).collect();
        let frames = self.app.frames.of(chunk.first());
        let is_rendered = |(number, event): &&(u64, &Event)| {
            self.form.variants(event).all(|variant| frames.get(*number, variant).is_some())
        };
        let mut names = None;
        if !wanted.iter().all(|wanted| is_rendered(&wanted)) {
            let mut shared = chunk.names().lock().await;
            let missing = wanted.iter().filter(|wanted| !is_rendered(wanted));
            learn(&self.app, &mut shared, missing.map(|(_, event)| *event)).await?;
            names = Some(shared);
        }
        let none = Names::default();
        let names = names.as_deref().unwrap_or(&none);
        let (begin, mut end, mut pushed) = (self.from, chunk.end(), 0);
        for (number, event) in wanted {
            for variant in self.form.variants(event) {
                let piece = || {
                    let ids = self.app.events().ids(number, event.at);
                    variant.piece(ids, event, names)
                };
                let frame = frames.get(number, variant);
                let frame = frame.unwrap_or_else(|| frames.render(number, variant, piece));
                text.extend_from_slice(frame.text());
                pushed += 1;
            }
            (end, self.seen) = (number + 1, event.at);
            if text.len() > PIECE || pushed >= self.rate.burst() {
                break;
            }
            end = chunk.end();
        }
        self.rate.count(pushed);
        self.from = end;
        if let Some(seq) = self.filter.job {
            let own = EventFilter { job: Some(seq), ..EventFilter::default() };
            let read = chunk.from(begin).take_while(|(number, _)| *number < end);
            let last = read.filter(|(_, event)| own.admits(event)).last();
            self.over = last.map_or(self.over, |(_, event)| ends_job(&event.kind));
        }
        Ok(true)
    }

    /// Looks whether the job of the channel has ended with an event that was skipped.
    async fn look_for_end(&mut self) {
        if self.filter.job.is_none() {
            return;
        }
        match Channel::parse(&self.channel) {
            Ok(channel) => match channel.scope(&self.app).await {
                Ok(scope) => self.finale = scope.end,
                Err(error) => self.over = error.status() == StatusCode::NOT_FOUND,
            },
            Err(_) => debug_assert!(false, "the channel of a job has a name"),
        }
    }

    /// Goes on behind events that have left the ring, and says so.
    fn skip_to(&mut self, first: u64, end: Millis, text: &mut Vec<u8>) {
        let events = self.app.events();
        let (oldest, missed) = (events.id_of(self.from, self.seen), first - self.from);
        let id = events.id_of(first - 1, end);
        let shown = (!self.of_tenant).then_some(missed);
        let gap = Gap { channel: &self.channel, id, start: self.seen, end, missed: shown };
        if self.live {
            frame::write_dropped(text, gap.at_least());
            let dropped = notice::dropped(&gap, oldest, self.now());
            frame::write_event(text, &self.form.notice(dropped));
        }
        frame::write_event(text, &self.form.notice(gap.notice()));
        (self.from, self.seen) = (first, end);
    }

    /// What is to be said at the end, if this is it.
    fn write_last(&self, text: &mut Vec<u8>) -> bool {
        if self.over {
            return true;
        }
        if let Some(finale) = &self.finale {
            frame::write_event(text, &self.form.notice(finale.notice(self.place())));
            return true;
        }
        let ended = *self.ending.borrow();
        if ended {
            let grace_ms = FAREWELL.as_millis() as u64;
            let shutdown = notice::shutdown(self.place(), self.now(), grace_ms);
            frame::write_event(text, &self.form.notice(shutdown));
        }
        ended
    }

    /// Waits until the client can take it; `false` when there is none any more.
    async fn send(&mut self, text: Vec<u8>) -> bool {
        if text.is_empty() {
            return true;
        }
        let sent = self.out.send(text.into()).await.is_ok();
        self.heartbeat = Instant::now() + self.app.settings.events.heartbeat;
        sent
    }

    /// Waits until there is something to do.
    async fn wait(&mut self) -> Next {
        let mut waiting = self.app.turns().wait(self.app.tenant(), self.from);
        let next = tokio::select! {
            turn = waiting.turn() => Next::Turn(turn),
            _ = self.ending.wait_for(|ended| *ended) => Next::Ending,
            () = self.out.closed() => Next::Gone,
            () = sleep_until(self.heartbeat) => Next::Heartbeat,
        };
        if let Some(passed) = waiting.passed() {
            self.from = self.from.max(passed);
        }
        next
    }

    /// Its place, as an id to come back with.
    fn place(&self) -> JobId {
        self.app.events().id_of(self.from - 1, self.now())
    }

    fn now(&self) -> Millis {
        self.app.now()
    }
}
