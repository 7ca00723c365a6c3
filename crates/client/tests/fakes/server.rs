//! A server that answers as it is told.

use std::sync::{Arc, Mutex};

use rota_client::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// An answer, or the end of the connection.
pub type Answer = Option<(u16, Value)>;

/// A server that has one job and answers the rest as it is told. Keeps what it was asked.
#[derive(Clone)]
pub struct Fake {
    pub asked: Arc<Mutex<Vec<(String, Value)>>>,
    pub answer: fn(path: &str, nth: usize) -> Answer,
    /// Told of each fetch, which then gets no answer.
    pub silent: Option<Arc<Notify>>,
}

impl Fake {
    pub fn new(answer: fn(&str, usize) -> Answer) -> Self {
        Self { asked: Arc::default(), answer, silent: None }
    }

    pub async fn start(&self) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let fake = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(fake.clone().serve(stream));
            }
        });
        Client::new(&url).unwrap()
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        while let Some((path, body)) = read(&mut stream).await {
            let nth = {
                let mut asked = self.asked.lock().unwrap();
                asked.push((path.clone(), body));
                asked.iter().filter(|(before, _)| *before == path).count()
            };
            if let Some(fetched) = self.silent.as_ref().filter(|_| path == "fetch") {
                fetched.notify_one();
                return std::future::pending().await;
            }
            let Some((status, body)) = self.answer(&path, nth) else { return };
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).await.unwrap();
        }
    }

    fn answer(&self, path: &str, nth: usize) -> Answer {
        match (path, nth) {
            ("fetch", 1) => Some((200, json!({"jobs": [job()]}))),
            ("fetch", _) => Some((200, json!({"jobs": []}))),
            _ => (self.answer)(path, nth),
        }
    }

    pub fn asked(&self, path: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).await.ok().filter(|count| *count > 0)?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        match line.trim().to_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let path = first.split(' ').nth(1)?.rsplit('/').next()?.to_owned();
    Some((path, serde_json::from_slice(&body).unwrap_or_default()))
}

pub fn job() -> Value {
    json!({"id": "j1", "type": "a.b", "queue": "q", "args": [], "state": "active", "attempt": 1})
}

pub fn error(status: u16, details: Value) -> Answer {
    Some((status, json!({"error": {"code": "x", "message": "no", "details": details}})))
}

pub fn settled(state: &str) -> Answer {
    Some((200, json!({"id": "j1", "state": state})))
}
