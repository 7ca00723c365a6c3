//! A WebSocket client, on a connection of its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::handshake::client::Response;
use tungstenite::http::{HeaderName, HeaderValue};
use tungstenite::{Message, WebSocket};

use crate::support::Server;

pub struct Socket {
    inner: WebSocket<TcpStream>,
    pub response: Response,
}

impl Socket {
    #[track_caller]
    pub fn open(server: &Server) -> Self {
        Self::open_with(server, &[])
    }

    #[track_caller]
    pub fn open_with(server: &Server, headers: &[(&str, &str)]) -> Self {
        Self::request(server, headers).expect("a WebSocket")
    }

    /// The status that an upgrade was refused with.
    pub fn request(server: &Server, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let url = format!("ws://{}/ojs/v1/ws", server.address());
        let mut request = url.into_client_request().expect("a request");
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        match tungstenite::client(request, stream) {
            Ok((inner, response)) => Ok(Self { inner, response }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub fn send(&mut self, message: &Value) {
        self.send_message(Message::text(message.to_string()));
    }

    pub fn send_message(&mut self, message: Message) {
        self.inner.send(message).expect("the connection is in order");
    }

    /// The next message; the code of the close frame at the end.
    pub fn next(&mut self) -> Result<Value, u16> {
        loop {
            match self.inner.read().expect("the connection is in order") {
                Message::Text(text) => return Ok(serde_json::from_str(&text).expect("JSON")),
                Message::Close(frame) => return Err(frame.expect("a reason").code.into()),
                _ => {}
            }
        }
    }

    #[track_caller]
    pub fn message(&mut self) -> Value {
        self.next().expect("the connection goes on")
    }

    #[track_caller]
    pub fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.message()
    }

    /// The next message, which must be an event.
    #[track_caller]
    pub fn event(&mut self) -> Value {
        let message = self.message();
        assert_eq!(message["type"], "event", "{message}");
        message
    }

    /// The code of the close frame that comes before any other message.
    #[track_caller]
    pub fn close_code(&mut self) -> u16 {
        self.next().expect_err("the connection is closed")
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        self.inner.get_mut().write_all(bytes).unwrap();
    }

    pub fn read_raw(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.inner.get_mut().read_exact(&mut bytes).unwrap();
        bytes
    }
}

/// A request to subscribe to a channel.
pub fn subscribe(channel: &str) -> Value {
    json!({"action": "subscribe", "channel": channel})
}
