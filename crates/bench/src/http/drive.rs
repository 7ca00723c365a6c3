//! Lets many connections play their parts for a while.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};

use super::connection::{Connection, Finished};
use super::pace::{Pace, Ticker};
use super::script::Script;
use crate::measured::Measured;
use crate::{BenchError, Progress};

/// How a measurement is run.
pub(crate) struct Drive<'a> {
    pub name: &'a str,
    pub address: SocketAddr,
    /// Not measured, so that caches and connections are warm.
    pub warm_up: Duration,
    /// How long to measure; scripts may end it earlier.
    pub duration: Duration,
    /// Requests per second of the first `paced` connections, which else go as fast as they can.
    pub pace: Option<(usize, f64)>,
    pub progress: &'a dyn Progress,
}

const WAKE: Token = Token(usize::MAX);
/// When nothing at all happens for so long, the server hangs.
const SILENCE: Duration = Duration::from_secs(30);
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// Runs the scripts, each on a connection of its own, and gives them back.
pub(crate) fn drive<S: Script>(
    how: &Drive<'_>,
    scripts: Vec<S>,
) -> Result<(Measured, Vec<S>), BenchError> {
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(scripts.len());
    for (i, script) in scripts.into_iter().enumerate() {
        connections.push(Connection::open(how.address, script, poll.registry(), Token(i))?);
    }
    let start = Instant::now();
    let ticker = match how.pace {
        Some(_) => Some(Ticker::start(start, Waker::new(poll.registry(), WAKE)?)),
        None => None,
    };
    let mut run = Run {
        how,
        pace: how.pace.map(|(count, rate)| (count, Pace::new(start, rate))),
        free: Vec::new(),
        measured: Measured::new(),
        from: start + how.warm_up,
        until: start + how.warm_up + how.duration,
        last: start,
        shown: start,
    };
    for i in 0..connections.len() {
        run.next(&mut connections, i, start)?;
    }
    let mut events = Events::with_capacity(1024);
    while connections.iter().any(|connection| !connection.is_idle()) || run.waits_for_pace() {
        poll.poll(&mut events, Some(Duration::from_millis(100)))?;
        for event in &events {
            if event.token() == WAKE {
                continue;
            }
            let i = event.token().0;
            if event.is_writable() {
                connections[i].flush()?;
            }
            if event.is_readable() {
                while let Some(finished) = connections[i].receive()? {
                    run.record(&finished);
                    run.next(&mut connections, i, finished.at)?;
                }
            }
        }
        run.release(&mut connections)?;
        run.show()?;
    }
    drop(ticker);
    let Run { mut measured, from, last, .. } = run;
    measured.seconds = last.saturating_duration_since(from).as_secs_f64();
    Ok((measured, connections.into_iter().map(|connection| connection.script).collect()))
}

struct Run<'a> {
    how: &'a Drive<'a>,
    pace: Option<(usize, Pace)>,
    /// Paced connections with nothing to do.
    free: Vec<usize>,
    measured: Measured,
    from: Instant,
    until: Instant,
    /// When the last answer came.
    last: Instant,
    shown: Instant,
}

impl Run<'_> {
    /// The connection has nothing under way: it goes on, or waits until it is due.
    fn next<S: Script>(
        &mut self,
        connections: &mut [Connection<S>],
        i: usize,
        now: Instant,
    ) -> Result<(), BenchError> {
        if !connections[i].script.goes_on(now >= self.until) {
            return Ok(());
        }
        match &mut self.pace {
            Some((paced, pace)) if i < *paced => match pace.next(now) {
                Some(due) => connections[i].send(due),
                None => {
                    self.free.push(i);
                    Ok(())
                }
            },
            _ => connections[i].send(now),
        }
    }

    /// Sends what has become due.
    fn release<S: Script>(&mut self, connections: &mut [Connection<S>]) -> Result<(), BenchError> {
        let Some((_, pace)) = &mut self.pace else { return Ok(()) };
        let now = Instant::now();
        if now >= self.until {
            self.free.clear();
            return Ok(());
        }
        while let Some(due) = pace.next(now) {
            match self.free.pop() {
                Some(i) => connections[i].send(due)?,
                None => {
                    pace.put_back(due);
                    break;
                }
            }
        }
        Ok(())
    }

    fn waits_for_pace(&self) -> bool {
        !self.free.is_empty() && Instant::now() < self.until
    }

    fn record(&mut self, finished: &Finished) {
        self.last = finished.at;
        if finished.since < self.from {
            return;
        }
        self.measured.record(finished.kind, finished.operations, finished.at - finished.since);
    }

    fn show(&mut self) -> Result<(), BenchError> {
        let now = Instant::now();
        if now.duration_since(self.last.max(self.from.min(now))) > SILENCE {
            return Err(BenchError::wrong("the server has not answered for 30 seconds"));
        }
        if now.duration_since(self.shown) >= SHOW_EVERY {
            self.shown = now;
            let whole = (self.how.warm_up + self.how.duration).as_secs_f64();
            let left = self.until.saturating_duration_since(now).as_secs_f64();
            let seconds = now.saturating_duration_since(self.from).as_secs_f64();
            let rate = self.measured.operations as f64 / seconds.max(0.001);
            self.how.progress.show(self.how.name, (1.0 - left / whole).clamp(0.0, 1.0), rate);
        }
        Ok(())
    }
}
