//! One stream: reads the ring when it is told that there is something new.

use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rota_engine::Event;
use rota_model::{JobId, Millis};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::super::App;
use super::super::listen::Cut;
use super::channel::Scope;
use super::form::Form;
use super::frame;
use super::names::learn;
use super::notice::{self, End, Gap};
use super::query::Resume;
use super::rate::Rate;
use super::room::Open;
use crate::runtime::{EventFilter, Names, ReadError, ends_job, time_of};

pub(super) struct Stream {
    app: Arc<App>,
    channel: String,
    filter: EventFilter,
    form: Form,
    /// How the job ended to which the stream belongs.
    finale: Option<End>,
    /// The next event to look at, and when the one before it happened.
    from: u64,
    seen: Millis,
    /// The place that the client was told last.
    told: u64,
    /// Something was sent, so what it misses from now on it misses by being slow.
    live: bool,
    /// The last that was seen of the job is its end.
    over: bool,
    rate: Rate,
    arrival: watch::Receiver<()>,
    ending: watch::Receiver<bool>,
    out: mpsc::Sender<Bytes>,
    cut: Option<Cut>,
    /// When to say that the stream is alive, if nothing else is said before.
    heartbeat: Instant,
    _room: Open,
}

/// Between two looks into a busy ring: many events in one go instead of one at a time.
const PACE: Duration = Duration::from_millis(10);
/// Events are sent in pieces of about this many bytes.
const PIECE: usize = 128 << 10;
/// How long a stream may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(2);

impl Stream {
    /// A stream of all events that the filter admits, from now on.
    pub fn new(app: Arc<App>, filter: EventFilter, out: mpsc::Sender<Bytes>, room: Open) -> Self {
        let events = app.handle.events();
        let (arrival, ending) = (events.listen(), events.ending());
        let place = events.place();
        Self {
            channel: "all".to_owned(),
            filter,
            form: Form::Envelope,
            finale: None,
            from: place.next,
            seen: place.last,
            told: place.next,
            live: false,
            over: false,
            rate: Rate::new(app.settings.events.max_per_second),
            arrival,
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
        let flowed = tokio::select! {
            () = self.flow(resume) => true,
            () = &mut overdue => false,
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
        loop {
            self.arrival.mark_unchanged();
            let looked = Instant::now();
            let more = match self.gather(&mut text).await {
                Ok(more) => more,
                Err(ReadError::Busy) => {
                    sleep(PACE).await;
                    continue;
                }
                // The client will be back, and goes on where it was.
                Err(_) => return,
            };
            let last = !more && self.write_last(&mut text);
            if !self.send(take(&mut text)).await || last {
                return;
            }
            self.live = true;
            sleep_until(self.rate.ready()).await;
            if more {
                continue;
            }
            if !self.wait(&mut text).await {
                return;
            }
            sleep_until(looked + PACE).await;
        }
    }

    /// Finds the place and says where the stream begins.
    fn begin(&mut self, text: &mut Vec<u8>, resume: Resume) {
        let events = self.app.handle.events();
        let behind = match resume {
            Resume::Now => return frame::write_greeting(text, self.place()),
            Resume::Behind(id) => events.number_of(id).map(|number| (number, id)),
            Resume::Unknown => None,
        };
        if let Some((number, id)) = behind {
            (self.from, self.seen) = (number + 1, time_of(id));
            self.told = self.from;
            return frame::write_greeting(text, id);
        }
        // It has seen events of which nothing is known here; everything that is known follows.
        let look = events.look(0);
        let oldest = look.chunk.and_then(|chunk| Some(chunk.from(look.from).next()?.1.at));
        let end = oldest.unwrap_or_else(|| self.now());
        let start = match resume {
            Resume::Behind(id) => time_of(id).min(end),
            Resume::Now | Resume::Unknown => end,
        };
        (self.from, self.seen, self.told) = (look.from, end, look.from);
        frame::write_greeting(text, self.place());
        let gap = Gap { channel: &self.channel, id: self.place(), start, end, missed: None };
        frame::write_event(text, &self.form.notice(gap.notice()));
    }

    /// Writes the next events, if there are any: `true` says that there may be more.
    async fn gather(&mut self, text: &mut Vec<u8>) -> Result<bool, ReadError> {
        let look = self.app.handle.events().look(self.from);
        let Some(chunk) = look.chunk else { return Ok(false) };
        let oldest = chunk.from(look.from).next().map(|(_, event)| event.at);
        if look.from > self.from {
            self.skip_to(look.from, oldest.unwrap_or(self.seen), text);
        }
        let wants = |event: &Event| self.filter.admits(event) && self.form.wants(event);
        let wanted: Vec<_> = chunk.from(self.from).filter(|(_, event)| wants(event)).collect();
        let mut names = Names::default();
        if !wanted.is_empty() {
            let mut shared = chunk.names.lock().await;
            learn(&self.app, &mut shared, wanted.iter().map(|(_, event)| *event)).await?;
            names.clone_from(&shared);
        }
        let (begin, mut pushed) = (self.from, 0);
        for (number, event) in wanted {
            let pieces = self.form.pieces(self.app.handle.events(), (number, event), &names);
            pieces.iter().for_each(|piece| frame::write_event(text, piece));
            (self.from, self.seen) = (number + 1, event.at);
            self.told = self.from;
            pushed += pieces.len();
            if text.len() > PIECE || pushed >= self.rate.burst() {
                self.rate.count(pushed);
                return Ok(true);
            }
        }
        self.rate.count(pushed);
        if let Some(seq) = self.filter.job {
            let own = EventFilter { job: Some(seq), ..EventFilter::default() };
            let last = chunk.from(begin).filter(|(_, event)| own.admits(event)).last();
            self.over = last.map_or(self.over, |(_, event)| ends_job(&event.kind));
        }
        self.seen = chunk.from(begin).last().map_or(self.seen, |(_, event)| event.at);
        self.from = chunk.end();
        Ok(true)
    }

    /// Goes on behind events that have left the ring, and says so.
    fn skip_to(&mut self, first: u64, end: Millis, text: &mut Vec<u8>) {
        let events = self.app.handle.events();
        let (oldest, missed) = (events.id_of(self.from, self.seen), first - self.from);
        let id = events.id_of(first - 1, end);
        let gap = Gap { channel: &self.channel, id, start: self.seen, end, missed: Some(missed) };
        if self.live {
            frame::write_dropped(text, missed);
            let dropped = notice::dropped(&gap, missed, oldest, self.now());
            frame::write_event(text, &self.form.notice(dropped));
        }
        frame::write_event(text, &self.form.notice(gap.notice()));
        (self.from, self.seen, self.told) = (first, end, first);
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

    /// Waits until there is something to do; `false` when there is nobody to do it for.
    async fn wait(&mut self, text: &mut Vec<u8>) -> bool {
        tokio::select! {
            arrived = self.arrival.changed() => arrived.is_ok(),
            ended = self.ending.changed() => ended.is_ok(),
            () = self.out.closed() => false,
            () = sleep_until(self.heartbeat) => {
                let moved = self.told != self.from;
                frame::write_heartbeat(text, moved.then(|| self.place()));
                self.told = self.from;
                true
            }
        }
    }

    /// Its place, as the id of the event before.
    fn place(&self) -> JobId {
        self.app.handle.events().id_of(self.from - 1, self.seen)
    }

    fn now(&self) -> Millis {
        self.app.handle.clock().now().wall
    }
}
