//! A client's connection: gives hyper's answers to requests that are not HTTP a body, and knows whether
//! the client has closed its side.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Sleep;

use super::error::ApiError;
use super::service;

/// hyper's own answers have fewer bytes.
const LONGEST_HEAD: usize = 256;
/// How long a client whose request was not HTTP may go on sending. Closing at once would reset the
/// connection, and the client might lose the answer.
const LINGER: Duration = Duration::from_secs(1);

/// The connection, as hyper reads and writes it.
pub(super) struct Connection {
    reader: Arc<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    /// The answer that is written instead of hyper's, and how much of it has been written.
    error: Option<(Vec<u8>, usize)>,
    lingering: Option<Pin<Box<Sleep>>>,
}

/// Tells when the client has closed its side of the connection.
#[derive(Clone)]
pub(super) struct Client(Arc<OwnedReadHalf>);

impl Client {
    /// Completes when the client has closed its side, and all that it sent has been read. Never completes
    /// if there is another request to be read.
    pub async fn closed(self) {
        if let Ok(1..) = self.0.as_ref().as_ref().peek(&mut [0]).await {
            std::future::pending().await
        }
    }
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self { reader: Arc::new(reader), writer, error: None, lingering: None }
    }

    pub fn client(&self) -> Client {
        Client(self.reader.clone())
    }

    /// Writes the rest of the error, if there is one.
    fn poll_write_error(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, written)) = &mut self.error
            && *written < answer.len()
        {
            let count = ready!(Pin::new(&mut self.writer).poll_write(cx, &answer[*written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            *written += count;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and drops what the client still sends, until it closes its side or takes too long.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timeout = self.lingering.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if timeout.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut dropped = [0; 4096];
        loop {
            match poll_read(&self.reader, cx, &mut dropped) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(poll_read(&self.reader, cx, buf.initialize_unfilled()))?;
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

/// Reads through a shared reference, so that [`Client`] can watch the same socket.
fn poll_read(
    reader: &OwnedReadHalf,
    cx: &mut Context<'_>,
    buf: &mut [u8],
) -> Poll<io::Result<usize>> {
    let stream: &TcpStream = reader.as_ref();
    loop {
        ready!(stream.poll_read_ready(cx))?;
        match stream.try_read(buf) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return Poll::Ready(result),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match with_body(buf) {
            None => Pin::new(&mut self.writer).poll_write(cx, buf),
            Some(answer) => {
                self.error = Some((answer, 0));
                Poll::Ready(Ok(buf.len()))
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match bufs {
            [only] => self.poll_write(cx, only),
            _ => Pin::new(&mut self.writer).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.writer.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_error(cx))?;
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_error(cx))?;
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.writer).poll_shutdown(cx))?;
        }
        if self.error.is_some() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// The answer with a body, if these bytes end with an answer of hyper to a request that it could not
/// parse. Those are the only ones without the header `ojs-version`. No body of ours ends like a head.
fn with_body(bytes: &[u8]) -> Option<Vec<u8>> {
    bytes.strip_suffix(b"\r\n\r\n")?;
    let tail = bytes.len().saturating_sub(LONGEST_HEAD);
    let start = tail + memchr_last(&bytes[tail..], b"HTTP/1.1 4")?;
    let head = std::str::from_utf8(&bytes[start..]).ok()?;
    if head.contains("ojs-version") {
        return None;
    }
    let status = StatusCode::from_bytes(head.as_bytes().get(9..12)?).ok()?;
    let (id, body) = service::error_outside_of_requests(&error(status)?);
    let mut answer = bytes[..start].to_vec();
    let mut lines = head.lines();
    answer.extend_from_slice(lines.next()?.as_bytes());
    for line in lines.filter(|line| line.starts_with("date:")) {
        answer.extend_from_slice(b"\r\n");
        answer.extend_from_slice(line.as_bytes());
    }
    let length = body.len();
    let rest = format!(
        "\r\nconnection: close\r\ncontent-type: application/openjobspec+json\r\n\
         content-length: {length}\r\nojs-version: 1.0\r\nx-request-id: {id}\r\n\r\n{body}"
    );
    answer.extend_from_slice(rest.as_bytes());
    Some(answer)
}

fn memchr_last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).rposition(|window| window == wanted)
}

/// What hyper's statuses mean.
fn error(status: StatusCode) -> Option<ApiError> {
    let (text, hint) = match status {
        StatusCode::BAD_REQUEST => (
            "The request is not valid HTTP/1.1.",
            "Check the request line, the names and values of the headers, and Content-Length or \
             Transfer-Encoding.",
        ),
        StatusCode::URI_TOO_LONG => {
            ("The path and the query are too long.", "Send fewer or shorter parameters.")
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "The request has too many headers, or they are too long.",
            "Send at most 100 headers with fewer than 400 KiB in total.",
        ),
        _ => return None,
    };
    Some(
        ApiError::new(status, "invalid_request", text).hint(hint).detail("status", status.as_u16()),
    )
}
