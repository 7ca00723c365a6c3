//! The frames of one WebSocket, and how it ends.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

pub(super) struct Connection(WebSocketStream<TokioIo<Upgraded>>);

/// Why a connection ends.
pub(super) enum End {
    /// Nobody is there any more, or the client has said goodbye.
    Gone,
    Close(CloseCode, &'static str),
}

/// How long a connection may take to say goodbye.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
/// How long a client may take nothing in.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of a client's message.
const MAX_MESSAGE: usize = 16 << 10;
/// What is written at once, in bytes. What a client does not take in stays in the ring.
const BUFFER: usize = 32 << 10;

impl Connection {
    pub async fn new(io: TokioIo<Upgraded>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(4 << 10)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        Self(WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await)
    }

    /// The client's next message.
    pub async fn next(&mut self) -> Result<Message, End> {
        match self.0.next().await {
            None => Err(End::Gone),
            Some(message) => message.map_err(|error| end_of(&error)),
        }
    }

    /// Adds a message to what is written. Waits for the client if much is to be written already.
    pub async fn feed(&mut self, message: Message) -> Result<(), End> {
        in_time(self.0.feed(message)).await
    }

    pub async fn flush(&mut self) -> Result<(), End> {
        in_time(self.0.flush()).await
    }

    /// Writes the answer to the client's goodbye, which was added when that was read.
    pub async fn answer_close(&mut self) {
        let _ = timeout(FAREWELL, self.0.flush()).await;
    }

    pub async fn close(&mut self, code: CloseCode, reason: &'static str) {
        let frame = CloseFrame { code, reason: reason.into() };
        let goodbye = async {
            self.0.send(Message::Close(Some(frame))).await?;
            // Until the client has said goodbye, too.
            while self.0.next().await.transpose()?.is_some() {}
            Ok::<_, Error>(())
        };
        let _ = timeout(FAREWELL, goodbye).await;
    }
}

async fn in_time(write: impl Future<Output = Result<(), Error>>) -> Result<(), End> {
    timeout(PATIENCE, write).await.map_err(|_| End::Gone)?.map_err(|error| end_of(&error))
}

fn end_of(error: &Error) -> End {
    match error {
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Gone,
        Error::Protocol(_) => End::Close(CloseCode::Protocol, "a frame is malformed"),
        Error::Capacity(_) => End::Close(CloseCode::Size, "a message is longer than 16 KiB"),
        Error::Utf8(_) => End::Close(CloseCode::Invalid, "a text is not UTF-8"),
        _ => End::Gone,
    }
}
