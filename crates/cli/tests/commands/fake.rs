//! Servers that are not what they should be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An address where nobody listens. A port that is free now may be taken soon.
pub fn nobody() -> String {
    "http://127.0.0.1:9".to_owned()
}

/// A server that gives the same answer to every request: head without length, and body.
pub fn answering(head: &'static str, body: &'static str) -> String {
    answering_some(usize::MAX, head, body)
}

/// The same for the first requests only; it hangs up on the others.
pub fn answering_some(most: usize, head: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (count, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            read_request(&stream);
            if count < most {
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        }
    });
    url
}

/// What a server says to a request.
pub enum Said {
    /// Status and body.
    Answer(u16, String),
    Bytes(&'static str),
    /// Nothing; it hangs up.
    Nothing,
}

/// A server that keeps its connections and asks this what to say to path and body.
pub fn conversing(say: impl Fn(&str, &str) -> Said + Send + Sync + 'static) -> String {
    serving(move |request| say(&request.path, &request.body))
}

/// A server that gives these answers one after another, the last of them again and again, and
/// remembers what it was asked.
pub struct Scripted {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Status and body of each answer.
pub fn scripted(answers: &[(u16, &str)]) -> Scripted {
    let answers: Vec<(u16, String)> =
        answers.iter().map(|(status, body)| (*status, (*body).to_owned())).collect();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let url = serving(move |request| {
        let mut seen = seen.lock().unwrap();
        let (status, body) = &answers[seen.len().min(answers.len() - 1)];
        seen.push(request.shown());
        Said::Answer(*status, body.clone())
    });
    Scripted { url, asked }
}

impl Scripted {
    /// `PUT /path {"body": 1} as acme`, for each request.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serving(say: impl Fn(&Request) -> Said + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let say = Arc::new(say);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, say) = (stream.unwrap(), say.clone());
            std::thread::spawn(move || converse(&stream, &*say));
        }
    });
    url
}

fn converse(mut stream: &TcpStream, say: &dyn Fn(&Request) -> Said) {
    while let Some(request) = read_request(stream) {
        let sent = match say(&request) {
            Said::Answer(status, body) => {
                let length = body.len();
                let answer =
                    format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes())
            }
            Said::Bytes(bytes) => stream.write_all(bytes.as_bytes()),
            Said::Nothing => return,
        };
        if sent.is_err() || request.closes {
            return;
        }
    }
}

struct Request {
    method: String,
    path: String,
    tenant: Option<String>,
    body: String,
    closes: bool,
}

impl Request {
    fn shown(&self) -> String {
        let mut text = format!("{} {}", self.method, self.path);
        if !self.body.is_empty() {
            text.push_str(&format!(" {}", self.body));
        }
        if let Some(tenant) = &self.tenant {
            text.push_str(&format!(" as {tenant}"));
        }
        text
    }
}

fn read_request(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut closes, mut tenant) = (0, false, None);
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or(0) > 2 {
        line.make_ascii_lowercase();
        if let Some((_, value)) = line.split_once("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if let Some((_, value)) = line.split_once("x-ojs-tenant:") {
            tenant = Some(value.trim().to_owned());
        }
        closes |= line.trim() == "connection: close";
        line.clear();
    }
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body).ok()?;
    Some(Request { method, path, tenant, body, closes })
}
