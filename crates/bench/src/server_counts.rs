//! The server's own job counts, which must agree with the measured operations.

use std::fmt;
use std::io::{Read, Write};

use serde_json::Value;

use crate::BenchError;
use crate::http::{PATIENCE, Target, parse_answer};
use crate::load::QUEUE;

/// Jobs in the queue used by measurements, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub available: u64,
    pub active: u64,
    pub completed: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { available, active, completed } = self;
        write!(f, "{available} available, {active} active, {completed} completed")
    }
}

/// Maximum size of a response in bytes.
const MOST: u64 = 1 << 26;

pub(crate) fn counts(target: &Target) -> Result<Counts, BenchError> {
    let path = format!("/ojs/v1/queues/{QUEUE}/stats");
    let (status, body) = get(target, &path)?;
    let wrong = |what: String| BenchError::wrong(what).answering(&format!("GET {path}"));
    match status {
        200 => {}
        // Nothing has been enqueued yet.
        404 => return Ok(Counts::default()),
        _ => return Err(wrong(format!("status {status} instead of 200"))),
    }
    let json: Value = serde_json::from_slice(&body)
        .map_err(|error| wrong(format!("this is no JSON: {error}")))?;
    let count = |name: &str| {
        json["stats"][name].as_u64().ok_or_else(|| wrong(format!("no count of {name}")))
    };
    Ok(Counts {
        available: count("available")?,
        active: count("active")?,
        completed: count("completed")?,
    })
}

/// Checks that the server's counts have changed since `before` by exactly these numbers.
pub(crate) fn agree(
    target: &Target,
    before: Counts,
    enqueued: u64,
    handled: u64,
) -> Result<(), BenchError> {
    let now = counts(target)?;
    let expected = expected(before, enqueued, handled)?;
    if now == expected {
        return Ok(());
    }
    Err(BenchError::wrong(format!("the server counts {now}; it was seen to have {expected}")))
}

fn expected(before: Counts, enqueued: u64, handled: u64) -> Result<Counts, BenchError> {
    match (before.available + enqueued).checked_sub(handled) {
        Some(available) => {
            Ok(Counts { available, active: before.active, completed: before.completed + handled })
        }
        None => Err(BenchError::wrong("more jobs were handed out than there were")),
    }
}

pub(crate) fn get(target: &Target, path: &str) -> Result<(u16, Vec<u8>), BenchError> {
    ask(target, "GET", path, "")
}

/// Sends a PUT request; any status but success is an error.
pub(crate) fn put(target: &Target, path: &str, body: &str) -> Result<(), BenchError> {
    match ask(target, "PUT", path, body)? {
        (200 | 201, _) => Ok(()),
        (status, _) => Err(BenchError::wrong(format!("status {status} to PUT {path}"))),
    }
}

pub(crate) fn post(target: &Target, path: &str, body: &str) -> Result<(u16, Vec<u8>), BenchError> {
    ask(target, "POST", path, body)
}

fn ask(
    target: &Target,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(u16, Vec<u8>), BenchError> {
    let stream = target.connect(PATIENCE)?;
    let (length, headers) = (body.len(), target.headers());
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    exchange(stream, &request).map_err(|error| error.answering(&format!("{method} {path}")))
}

fn exchange(mut stream: impl Read + Write, request: &str) -> Result<(u16, Vec<u8>), BenchError> {
    let mut bytes = Vec::new();
    stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.take(MOST).read_to_end(&mut bytes))
        .map_err(|error| BenchError::wrong(format!("the connection broke: {error}")))?;
    let answer = parse_answer(&bytes)?;
    let answer = answer.ok_or_else(|| BenchError::wrong("the server closed the connection"))?;
    Ok((answer.status, bytes[answer.body].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_can_be_handed_out_than_there_were() {
        let before = Counts { available: 2, active: 1, completed: 5 };
        let after = expected(before, 3, 4).unwrap();
        assert_eq!(after, Counts { available: 1, active: 1, completed: 9 });
        assert!(expected(before, 3, 6).is_err());
    }
}
