//! The server's own counts, which must agree with what was measured.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::BenchError;
use crate::http::parse_answer;
use crate::load::QUEUE;

/// Jobs of the queue that is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub available: u64,
    pub active: u64,
    pub completed: u64,
}

pub(crate) fn counts(address: SocketAddr) -> Result<Counts, BenchError> {
    let (status, body) = get(address, &format!("/ojs/v1/queues/{QUEUE}/stats"))?;
    match status {
        200 => {}
        // Nothing has been enqueued yet.
        404 => return Ok(Counts::default()),
        _ => return Err(BenchError::wrong(format!("the statistics have status {status}"))),
    }
    let json: Value = serde_json::from_slice(&body)
        .map_err(|error| BenchError::wrong(format!("the statistics are not JSON: {error}")))?;
    let count = |name: &str| {
        json["stats"][name]
            .as_u64()
            .ok_or_else(|| BenchError::wrong(format!("the statistics do not tell {name}")))
    };
    Ok(Counts {
        available: count("available")?,
        active: count("active")?,
        completed: count("completed")?,
    })
}

/// What the server says has become of the jobs since `before` must be what was seen to happen.
pub(crate) fn agree(
    address: SocketAddr,
    before: Counts,
    enqueued: u64,
    handled: u64,
) -> Result<(), BenchError> {
    let now = counts(address)?;
    let expected = Counts {
        available: before.available + enqueued - handled,
        active: before.active,
        completed: before.completed + handled,
    };
    if now == expected {
        return Ok(());
    }
    Err(BenchError::wrong(format!("the server counts {now:?}; expected were {expected:?}")))
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Result<(u16, Vec<u8>), BenchError> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let answer = parse_answer(&bytes)?.ok_or_else(|| BenchError::wrong("half an answer"))?;
    Ok((answer.status, bytes[answer.body].to_vec()))
}
