//! Runs scripts on many connections and measures them.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};

use super::connection::{Connection, Finished};
use super::pace::{Pace, Ticker};
use super::script::Script;
use super::target::{PATIENCE, Target};
use crate::measurement::Measurement;
use crate::{BenchError, Progress};

/// How a measurement is run.
pub(crate) struct Drive<'a> {
    pub name: &'a str,
    pub target: &'a Target,
    /// Not measured, so that caches and connections are warm.
    pub warm_up: Duration,
    /// Maximum duration of the measurement; scripts may end earlier.
    pub duration: Duration,
    /// Number of paced connections and their total requests per second. Other connections send as fast as
    /// they can.
    pub pace: Option<(usize, f64)>,
    /// If there is no response at all for this long, the measurement fails.
    pub patience: Duration,
    pub progress: &'a dyn Progress,
}

impl<'a> Drive<'a> {
    /// Runs until all scripts end.
    pub fn to_the_end(name: &'a str, target: &'a Target, progress: &'a dyn Progress) -> Self {
        Self {
            name,
            target,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(24 * 3600),
            pace: None,
            patience: PATIENCE,
            progress,
        }
    }
}

const WAKE: Token = Token(usize::MAX);
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// Runs each script on its own connection. Returns the measurement and the scripts.
pub(crate) fn drive<S: Script>(
    how: &Drive<'_>,
    scripts: Vec<S>,
) -> Result<(Measurement, Vec<S>), BenchError> {
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(scripts.len());
    for (i, script) in scripts.into_iter().enumerate() {
        let transport = how.target.connect(how.patience)?;
        let headers = how.target.headers().clone();
        connections.push(Connection::open(transport, headers, script, poll.registry(), Token(i))?);
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
        measured: Measurement::new(),
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
        match poll.poll(&mut events, Some(Duration::from_millis(100))) {
            // A signal has arrived; `progress` decides whether to stop.
            Err(error) if error.kind() == ErrorKind::Interrupted => events.clear(),
            other => other?,
        }
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
    if measured.operations == 0 {
        return Err(BenchError::TooShort(how.name.into()));
    }
    measured.seconds = last.saturating_duration_since(from).as_secs_f64();
    Ok((measured, connections.into_iter().map(|connection| connection.script).collect()))
}

struct Run<'a> {
    how: &'a Drive<'a>,
    pace: Option<(usize, Pace)>,
    /// Idle paced connections.
    free: Vec<usize>,
    measured: Measurement,
    from: Instant,
    until: Instant,
    /// When the last response arrived.
    last: Instant,
    shown: Instant,
}

impl Run<'_> {
    /// Sends the next request of an idle connection, or lets it wait until that is due.
    fn next<S: Script>(
        &mut self,
        connections: &mut [Connection<S>],
        i: usize,
        now: Instant,
    ) -> Result<(), BenchError> {
        let pace = self.pace.as_mut().filter(|(paced, _)| i < *paced);
        // Requests that were due in time are sent, even if late.
        let begins = pace.as_ref().map_or(now, |(_, pace)| pace.due());
        if !connections[i].script.goes_on(begins >= self.until) {
            return Ok(());
        }
        match pace {
            Some((_, pace)) if pace.due() <= now => connections[i].send(pace.release()),
            Some(_) => {
                self.free.push(i);
                Ok(())
            }
            None => connections[i].send(now),
        }
    }

    /// Sends the requests that are due.
    fn release<S: Script>(&mut self, connections: &mut [Connection<S>]) -> Result<(), BenchError> {
        let Some((_, pace)) = &mut self.pace else { return Ok(()) };
        let now = Instant::now();
        while pace.due() <= now && pace.due() < self.until {
            let Some(i) = self.free.pop() else { break };
            connections[i].send(pace.release())?;
        }
        Ok(())
    }

    fn waits_for_pace(&self) -> bool {
        let due = self.pace.as_ref().map(|(_, pace)| pace.due());
        !self.free.is_empty() && due.is_some_and(|due| due < self.until)
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
        let silence = now.saturating_duration_since(self.last);
        if silence > self.how.patience {
            let seconds = self.how.patience.as_secs_f64();
            let message = format!("{}: nothing was answered for {seconds} s", self.how.name);
            return Err(BenchError::wrong(message));
        }
        if now.duration_since(self.shown) >= SHOW_EVERY {
            self.shown = now;
            let whole = (self.how.warm_up + self.how.duration).as_secs_f64();
            let left = self.until.saturating_duration_since(now).as_secs_f64();
            let seconds = now.saturating_duration_since(self.from).as_secs_f64();
            let rate = self.measured.operations as f64 / seconds.max(0.001);
            self.how.progress.show(self.how.name, (1.0 - left / whole).clamp(0.0, 1.0), rate)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::script::Request;
    use super::*;

    struct Silent;

    impl Progress for Silent {
        fn show(&self, _: &str, _: f64, _: f64) -> Result<(), BenchError> {
            Ok(())
        }
    }

    struct Ask;

    impl Script for Ask {
        fn request(&mut self, out: &mut Request<'_>, _: Instant) {
            out.post("/", b"{}");
        }

        fn answer(&mut self, _: u16, _: &[u8], _: Instant) -> Result<u64, BenchError> {
            Ok(1)
        }
    }

    #[test]
    fn a_server_that_hangs_is_not_waited_for_without_end() {
        // The system accepts the connections, but nothing reads from them.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let how = Drive {
            name: "asking",
            target: &listener.local_addr().unwrap().into(),
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(60),
            pace: None,
            patience: Duration::from_millis(200),
            progress: &Silent,
        };
        let outcome = drive(&how, vec![Ask, Ask]);
        let message = outcome.err().expect("it does not answer").to_string();
        assert!(message.ends_with("asking: nothing was answered for 0.2 s"), "{message}");
    }
}
