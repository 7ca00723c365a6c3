//! A client's connection, encrypted or not: writes errors of the HTTP parser with a body, records the
//! progress of requests, and knows whether the client has closed its side.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;

use super::frames::{Digest, Frames};
use super::outgoing::Outgoing;
use super::parser_error::with_body;
use super::progress::Progress;
use super::protocol::Protocol;

/// How long a client whose request was not HTTP may go on sending. Closing at once would reset the
/// connection, and the client might lose the answer.
const LINGER: Duration = Duration::from_secs(1);
/// How much is decrypted while a client is watched: enough to tell a request from an end.
const AHEAD: usize = 512;

/// The connection, as hyper reads and writes it.
pub(super) struct Connection {
    transport: Transport,
    progress: Arc<Progress>,
    protocol: Protocol,
    outgoing: Arc<Outgoing>,
    /// The frames that were written, for HTTP/2.
    frames: Frames,
    /// Contents that the transport has accepted, and the kernel may not have taken yet.
    accepted: Vec<Digest>,
    /// The answer that is written instead of hyper's, and how much of it has been written.
    error: Option<(Vec<u8>, usize)>,
    lingering: Option<Pin<Box<Sleep>>>,
}

enum Transport {
    Plain { reader: Arc<OwnedReadHalf>, writer: OwnedWriteHalf },
    Tls(Arc<Mutex<Encrypted>>),
}

pub(super) struct Encrypted {
    stream: TlsStream<TcpStream>,
    /// What was decrypted while the client was watched.
    ahead: Vec<u8>,
}

/// Tells when the client has closed its side of the connection.
#[derive(Clone)]
pub(super) enum Client {
    Plain(Arc<OwnedReadHalf>),
    Tls(Arc<Mutex<Encrypted>>),
}

impl Client {
    /// Completes when the client has closed its side, and all that it sent has been read. Never completes
    /// if there is another request to be read.
    pub async fn closed(self) {
        let is_closed = match self {
            Self::Plain(reader) => {
                !matches!(reader.as_ref().as_ref().peek(&mut [0]).await, Ok(1..))
            }
            Self::Tls(encrypted) => poll_fn(|cx| lock(&encrypted).poll_closed(cx)).await,
        };
        if !is_closed {
            std::future::pending().await
        }
    }
}

impl Encrypted {
    /// Whether the client has closed its side; `false` if there is another request.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.ahead.is_empty() {
            let mut bytes = [0; AHEAD];
            let mut buf = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => self.ahead.extend_from_slice(buf.filled()),
                _ => return Poll::Ready(true),
            }
        }
        Poll::Ready(false)
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.ahead.len().min(buf.remaining());
        buf.put_slice(&self.ahead[..count]);
        self.ahead.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl Connection {
    pub fn plain(stream: TcpStream, protocol: Protocol, progress: Arc<Progress>) -> Self {
        let (reader, writer) = stream.into_split();
        Self::new(Transport::Plain { reader: Arc::new(reader), writer }, protocol, progress)
    }

    pub fn encrypted(
        stream: TlsStream<TcpStream>,
        protocol: Protocol,
        progress: Arc<Progress>,
    ) -> Self {
        let encrypted = Encrypted { stream, ahead: Vec::new() };
        Self::new(Transport::Tls(Arc::new(Mutex::new(encrypted))), protocol, progress)
    }

    fn new(transport: Transport, protocol: Protocol, progress: Arc<Progress>) -> Self {
        Self {
            transport,
            progress,
            protocol,
            outgoing: Arc::default(),
            frames: Frames::default(),
            accepted: Vec::new(),
            error: None,
            lingering: None,
        }
    }

    pub fn outgoing(&self) -> Arc<Outgoing> {
        self.outgoing.clone()
    }

    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Ends the connection with this answer, to a client that does not speak TLS.
    pub async fn answer_and_close(mut self, answer: Vec<u8>) -> io::Result<()> {
        self.error = Some((answer, 0));
        poll_fn(|cx| Pin::new(&mut self).poll_shutdown(cx)).await
    }

    pub fn client(&self) -> Client {
        match &self.transport {
            Transport::Plain { reader, .. } => Client::Plain(reader.clone()),
            Transport::Tls(encrypted) => Client::Tls(encrypted.clone()),
        }
    }

    /// Writes the rest of the error, if there is one.
    fn poll_write_error(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, written)) = &mut self.error
            && *written < answer.len()
        {
            let count = ready!(self.transport.poll_write(cx, &answer[*written..]))?;
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
            let mut buf = ReadBuf::new(&mut dropped);
            match ready!(self.transport.poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
    }

    /// Records whether the client takes what is written, and what of it was taken.
    fn note_write(
        &mut self,
        bufs: &[IoSlice<'_>],
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &result {
            Poll::Ready(Ok(count @ 1..)) => {
                self.progress.note_write(true);
                self.note_accepted(bufs, *count);
            }
            Poll::Pending => self.progress.note_write(false),
            Poll::Ready(_) => {}
        }
        result
    }

    /// Records that the transport has accepted so many bytes of these.
    fn note_accepted(&mut self, bufs: &[IoSlice<'_>], mut count: usize) {
        self.outgoing.note_written(count);
        if self.protocol == Protocol::Http1 {
            return;
        }
        let watch = self.outgoing.is_watched();
        for buf in bufs {
            let accepted = &buf[..count.min(buf.len())];
            self.accepted.extend(self.frames.advance(accepted, watch));
            count -= accepted.len();
        }
        if !self.accepted.is_empty() && !self.transport.holds_data() {
            self.note_taken();
        }
    }

    /// Records that the kernel has taken what the transport has accepted.
    fn note_taken(&mut self) {
        if !self.accepted.is_empty() {
            self.outgoing.taken(&self.accepted);
            self.accepted.clear();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.outgoing.close();
    }
}

impl Transport {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain { reader, .. } => {
                let count = ready!(poll_read_plain(reader, cx, buf.initialize_unfilled()))?;
                buf.advance(count);
                Poll::Ready(Ok(()))
            }
            Self::Tls(encrypted) => lock(encrypted).poll_read(cx, buf),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain { writer, .. } => Pin::new(writer).poll_write(cx, buf),
            Self::Tls(encrypted) => Pin::new(&mut lock(encrypted).stream).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain { writer, .. } => Pin::new(writer).poll_write_vectored(cx, bufs),
            Self::Tls(encrypted) => {
                Pin::new(&mut lock(encrypted).stream).poll_write_vectored(cx, bufs)
            }
        }
    }

    /// Whether it has accepted data that the kernel has not taken.
    fn holds_data(&self) -> bool {
        match self {
            Self::Plain { .. } => false,
            Self::Tls(encrypted) => lock(encrypted).stream.get_ref().1.wants_write(),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain { writer, .. } => Pin::new(writer).poll_flush(cx),
            Self::Tls(encrypted) => Pin::new(&mut lock(encrypted).stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain { writer, .. } => Pin::new(writer).poll_shutdown(cx),
            Self::Tls(encrypted) => Pin::new(&mut lock(encrypted).stream).poll_shutdown(cx),
        }
    }
}

/// The lock is only contended while another task watches the client.
fn lock(encrypted: &Mutex<Encrypted>) -> MutexGuard<'_, Encrypted> {
    encrypted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads through a shared reference, so that [`Client`] can watch the same socket.
fn poll_read_plain(
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

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(self.transport.poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.progress.note_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let error = match self.protocol {
            Protocol::Http1 => with_body(buf),
            Protocol::Http2 => None,
        };
        match error {
            None => {
                let result = self.transport.poll_write(cx, buf);
                self.note_write(&[IoSlice::new(buf)], result)
            }
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
            _ => {
                let result = self.transport.poll_write_vectored(cx, bufs);
                self.note_write(bufs, result)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_error(cx))?;
        let flushed = self.transport.poll_flush(cx);
        match flushed {
            Poll::Pending => self.progress.note_write(false),
            Poll::Ready(Ok(())) => {
                self.progress.note_flush();
                self.outgoing.flushed();
                self.note_taken();
            }
            Poll::Ready(Err(_)) => {}
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_error(cx))?;
        if self.lingering.is_none() {
            ready!(self.transport.poll_shutdown(cx))?;
        }
        if self.error.is_some() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}
