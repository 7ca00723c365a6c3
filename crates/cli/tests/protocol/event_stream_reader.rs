//! A reader of event streams, on a connection of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::shorthand::text;
use crate::support::Server;

pub struct EventStream {
    reader: BufReader<TcpStream>,
    pub head: String,
    /// What a client would send when it comes back.
    pub last_id: String,
    /// Comments since the last event.
    pub comments: Vec<String>,
}

/// An event, as its lines say.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushed {
    pub id: String,
    pub event: String,
    pub data: Value,
}

impl EventStream {
    /// A stream that has begun: what happens from now on is in it.
    #[track_caller]
    pub fn open(server: &Server, path: &str) -> Self {
        Self::open_with(server, path, &[])
    }

    #[track_caller]
    pub fn open_with(server: &Server, path: &str, headers: &[&str]) -> Self {
        let mut stream = Self::request(server, path, headers);
        assert!(stream.head.starts_with("HTTP/1.1 200"), "{}", stream.head);
        assert!(stream.head.contains("content-type: text/event-stream"), "{}", stream.head);
        let greeting = stream.block().expect("a greeting");
        assert_eq!(greeting[0], "retry: 3000");
        stream
    }

    /// Goes on behind this event.
    #[track_caller]
    pub fn resume(server: &Server, path: &str, last_id: &str) -> Self {
        Self::open_with(server, path, &[&format!("Last-Event-ID: {last_id}")])
    }

    /// Whatever the answer is.
    pub fn request(server: &Server, path: &str, headers: &[&str]) -> Self {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!("GET /ojs/v1{path} HTTP/1.1\r\nHost: rota\r\n{more}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).expect("an answer") > 0, "{head}");
        }
        Self { reader, head, last_id: String::new(), comments: Vec::new() }
    }

    /// Says that nothing more will be sent, and goes on reading.
    pub fn close_sending_side(&self) {
        self.reader.get_ref().shutdown(std::net::Shutdown::Write).expect("the connection is open");
    }

    /// The next event in whatever form; `None` at the orderly end of the stream.
    #[track_caller]
    pub fn pushed(&mut self) -> Option<Pushed> {
        self.comments.clear();
        loop {
            let lines = self.block()?;
            let field = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
            let Some(data) = field("data: ") else { continue };
            let data: Value = serde_json::from_str(data).expect("JSON");
            let text = |name: &str| field(name).expect("each event has it").to_owned();
            return Some(Pushed { id: text("id: "), event: text("event: "), data });
        }
    }

    /// The next event's envelope; `None` at the orderly end of the stream.
    #[track_caller]
    pub fn next(&mut self) -> Option<Value> {
        let Pushed { id, event, data } = self.pushed()?;
        assert_eq!((&data["id"], &data["type"]), (&Value::from(id), &Value::from(event)));
        Some(data)
    }

    /// The next event of a channel.
    #[track_caller]
    pub fn on_channel(&mut self) -> Pushed {
        self.pushed().expect("the stream goes on")
    }

    /// The next event, a change of state: from, to.
    #[track_caller]
    pub fn change(&mut self) -> (String, String) {
        let Pushed { event, data, .. } = self.on_channel();
        assert_eq!(event, "job.state_changed", "{data}");
        (text(&data["from"]), text(&data["to"]))
    }

    #[track_caller]
    pub fn event(&mut self) -> Value {
        self.next().expect("the stream goes on")
    }

    #[track_caller]
    pub fn types(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.on_channel().event).collect()
    }

    /// The types of all events up to the end.
    pub fn rest(mut self) -> Vec<String> {
        std::iter::from_fn(|| self.pushed()).map(|pushed| pushed.event).collect()
    }

    /// Reads on until there was a comment.
    pub fn comment(&mut self) -> String {
        while self.comments.is_empty() {
            self.block().expect("the stream goes on");
        }
        self.comments.remove(0)
    }

    /// Lines up to an empty one. Lines of chunks end in a carriage return and those of events do not.
    fn block(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).expect("the connection is in order");
            assert!(read > 0, "the stream was cut off");
            match line.strip_suffix('\n').expect("a whole line") {
                "0\r" => return None,
                framing if framing.ends_with('\r') => {}
                "" => return Some(lines),
                line => {
                    if let Some(comment) = line.strip_prefix(':') {
                        self.comments.push(comment.to_owned());
                    }
                    if let Some(id) = line.strip_prefix("id: ") {
                        self.last_id = id.to_owned();
                    }
                    lines.push(line.to_owned());
                }
            }
        }
    }
}
