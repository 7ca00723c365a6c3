//! The worker against servers that a real one cannot easily be made to be: answers that get lost, and
//! servers that know no more of the protocol than fetch, ack and nack.

// What helpers of tests cannot do is as much a failure as what tests cannot.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rota_client::worker::{Failure, Options, Outcome, Shutdown, Stop, Summary, Worker};
use rota_client::{Client, Error, Job, WithJson};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// An answer, or the end of the connection.
type Answer = Option<(u16, Value)>;

/// A server that has one job and answers the rest as it is told. Keeps what it was asked.
#[derive(Clone)]
struct Fake {
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    answer: fn(path: &str, nth: usize) -> Answer,
    /// Told of each fetch, which then gets no answer.
    silent: Option<Arc<Notify>>,
}

impl Fake {
    fn new(answer: fn(&str, usize) -> Answer) -> Self {
        Self { asked: Arc::default(), answer, silent: None }
    }

    async fn start(&self) -> Client {
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

    fn asked(&self, path: &str) -> Vec<Value> {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }

    async fn work_off<H>(
        &self,
        handler: impl Fn(Arc<WithJson<Job>>, Stop) -> H + Send + Sync + 'static,
    ) -> Result<Summary, Error>
    where
        H: Future<Output = Outcome> + Send,
    {
        let mut options = Options::new(["q"]);
        options.until_idle = true;
        let (_trigger, shutdown) = Shutdown::new();
        let worker = Worker::new(self.start().await, options).run(handler, shutdown);
        tokio::time::timeout(Duration::from_secs(60), worker).await.expect("the worker ends")
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

fn job() -> Value {
    json!({"id": "j1", "type": "a.b", "queue": "q", "args": [], "state": "active", "attempt": 1})
}

fn error(status: u16, details: Value) -> Answer {
    Some((status, json!({"error": {"code": "x", "message": "no", "details": details}})))
}

fn settled(state: &str) -> Answer {
    Some((200, json!({"id": "j1", "state": state})))
}

#[tokio::test]
async fn an_answer_that_was_lost_is_no_lost_job() {
    let fake = Fake::new(|path, nth| match (path, nth) {
        ("ack", 1) => None,
        ("ack", _) => error(409, json!({"current_state": "completed"})),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = fake.work_off(|_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary, Summary { completed: 1, ..Summary::default() });
    assert_eq!(fake.asked("ack").len(), 2);
}

#[tokio::test]
async fn a_refused_outcome_is_not_repeated() {
    let fake = Fake::new(|path, _| match path {
        "ack" => error(409, json!({"current_state": "active"})),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = fake.work_off(|_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary, Summary { lost: 1, ..Summary::default() });
    assert_eq!(fake.asked("ack").len(), 1);
}

#[tokio::test]
async fn a_server_without_registry_and_heartbeats_will_do() {
    let fake = Fake::new(|path, _| match path {
        "ack" => settled("completed"),
        _ => error(404, json!({})),
    });
    let done = |job: Arc<WithJson<Job>>, _| async move { Outcome::done_with(&job.kind) };
    let summary = fake.work_off(done).await.unwrap();
    assert_eq!(summary.completed, 1);
    let ack = &fake.asked("ack")[0];
    assert_eq!((&ack["result"], &ack["attempt"]), (&json!("a.b"), &json!(1)));
    assert_eq!(ack["worker_id"], fake.asked("fetch")[0]["worker_id"]);
}

#[tokio::test]
async fn a_handler_that_panics_has_failed() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("retryable"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = fake.work_off(|_, _| async { panic!("boom") }).await.unwrap();
    assert_eq!(summary.failed, 1);
    let expected = json!({"type": "panic", "message": "boom", "retryable": true});
    assert_eq!(fake.asked("nack")[0]["error"], expected);
}

#[tokio::test]
async fn a_failure_for_good_says_so() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("discarded"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let fail = |_, _| async { Failure::new("bad", "m").no_retry().detail("k", 1).into() };
    fake.work_off(fail).await.unwrap();
    let expected = json!({"type": "bad", "message": "m", "retryable": false, "details": {"k": 1}});
    assert_eq!(fake.asked("nack")[0]["error"], expected);
}

#[tokio::test]
async fn a_proxy_whose_server_is_away_is_waited_for() {
    let fake = Fake::new(|path, nth| match (path, nth) {
        ("ack", 1..3) => Some((502, json!("bad gateway"))),
        ("ack", _) => settled("completed"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let summary = fake.work_off(|_, _| async { Outcome::done() }).await.unwrap();
    assert_eq!(summary.completed, 1);
    assert_eq!(fake.asked("ack").len(), 3);
}

#[tokio::test]
async fn an_idle_worker_does_not_wait_for_its_fetch_to_be_answered() {
    let fetched = Arc::new(Notify::new());
    let fake = Fake {
        silent: Some(fetched.clone()),
        ..Fake::new(|_, _| Some((200, json!({"state": "running"}))))
    };
    let mut options = Options::new(["q"]);
    options.wait = Duration::from_secs(3600);
    let (trigger, shutdown) = Shutdown::new();
    let idle =
        Worker::new(fake.start().await, options).run(|_, _| async { Outcome::done() }, shutdown);
    let told = async {
        fetched.notified().await;
        trigger.drain();
    };
    let both = async { tokio::join!(idle, told).0 };
    let summary = tokio::time::timeout(Duration::from_secs(60), both).await.expect("it ends");
    assert_eq!(summary.unwrap(), Summary::default());
    assert_eq!(fake.asked("fetch").len(), 1);
}

#[tokio::test]
async fn a_handler_that_does_not_stop_is_dropped() {
    let fake = Fake::new(|path, _| match path {
        "nack" => settled("available"),
        _ => Some((200, json!({"state": "running"}))),
    });
    let mut options = Options::new(["q"]);
    options.stop_within = Duration::from_millis(100);
    let (trigger, shutdown) = Shutdown::new();
    let trigger = Arc::new(trigger);
    let told = trigger.clone();
    let worker = Worker::new(fake.start().await, options);
    let deaf = move |_, _| {
        told.stop_now();
        std::future::pending::<Outcome>()
    };
    let summary = tokio::time::timeout(Duration::from_secs(60), worker.run(deaf, shutdown)).await;
    assert_eq!(summary.unwrap().unwrap(), Summary { handed_back: 1, ..Summary::default() });
    assert_eq!(fake.asked("nack")[0]["requeue"], true);
}
