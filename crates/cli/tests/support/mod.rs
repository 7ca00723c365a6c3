//! A real server on a real port, for tests to talk to.

// Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod openapi;
pub mod preload;
pub mod process;
pub mod small_disk;
pub mod wire;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Running; killed and cleaned up when dropped.
pub struct Server {
    child: Child,
    listen: String,
    address: SocketAddr,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    dir: PathBuf,
    owned: Option<TempDir>,
    agent: ureq::Agent,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub text: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }

    /// Fails the test with the whole answer unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.body
    }

    #[track_caller]
    pub fn expect_error(self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(body["error"]["code"], code, "{body}");
        body["error"].clone()
    }
}

/// The binary under test: `ROTA_BIN`, or the one that cargo built beside this test.
pub fn binary() -> PathBuf {
    std::env::var_os("ROTA_BIN").map_or_else(|| env!("CARGO_BIN_EXE_rota").into(), PathBuf::from)
}

/// `rota` with these arguments and none of the environment's settings.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ROTA_") {
            command.env_remove(name);
        }
    }
    command.args(arguments);
    command
}

impl Server {
    /// A fresh server with a data directory of its own.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with(flags: &[&str]) -> Self {
        Self::start_in_env(flags, &[])
    }

    pub fn start_in_env(flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let owned = TempDir::new().expect("a temporary directory");
        let dir = owned.path().join("data");
        let mut server = Self::start_at(&dir, flags, environment);
        server.owned = Some(owned);
        server
    }

    /// A fresh server on an address that no other process uses, so that while it is away nobody
    /// else takes its port or answers for it.
    pub fn start_apart(flags: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (n, pid) = (NEXT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let listen = format!("127.{}.{}.{}:0", 100 + n % 100, pid >> 8 & 255, pid & 255);
        // Elsewhere there is one such address only.
        let listen = if cfg!(target_os = "linux") { &listen } else { ANY_PORT };
        let owned = TempDir::new().expect("a temporary directory");
        let mut server = Self::listen_at(listen, &owned.path().join("data"), flags, &[]);
        server.owned = Some(owned);
        server
    }

    /// A fresh server on this address.
    pub fn start_listening(listen: &str, flags: &[&str]) -> Self {
        let owned = TempDir::new().expect("a temporary directory");
        let mut server = Self::listen_at(listen, &owned.path().join("data"), flags, &[]);
        server.owned = Some(owned);
        server
    }

    /// A server on this data directory, which is left alone when the server is dropped.
    pub fn start_at(dir: &Path, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::listen_at(ANY_PORT, dir, flags, environment)
    }

    fn listen_at(listen: &str, dir: &Path, flags: &[&str], environment: &[(&str, &str)]) -> Self {
        let own = |text: &&str| (*text).to_owned();
        let flags: Vec<String> = flags.iter().map(own).collect();
        let environment: Vec<(String, String)> =
            environment.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (child, address) = launch(listen, dir, &flags, &environment);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let agent = config.into();
        let (listen, dir) = (listen.to_owned(), dir.to_owned());
        Self { child, listen, address, flags, environment, dir, owned: None, agent }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `kill -9`, and wait until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("the server was started here");
    }

    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for it to end by itself.
    pub fn wait(&mut self, longest: Duration) -> ExitStatus {
        let until = Instant::now() + longest;
        loop {
            if let Some(status) = self.child.try_wait().expect("the server was started here") {
                return status;
            }
            assert!(Instant::now() < until, "the server did not end within {longest:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGTERM, and how it ended.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.wait(Duration::from_secs(60))
    }

    /// Starts again on the same data, after the old process has ended.
    pub fn restart(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let (child, address) = launch(&self.listen, &self.dir, &self.flags, &self.environment);
        (self.child, self.address) = (child, address);
    }

    /// Starts again on the same data and port, after the old process has ended. For a server that
    /// was started apart: another process may have the port by now.
    pub fn restart_on_its_port(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let listen = self.address.to_string();
        (self.child, _) = launch(&listen, &self.dir, &self.flags, &self.environment);
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], None)
    }

    pub fn delete(&self, path: &str) -> Reply {
        self.send("DELETE", path, &[], None)
    }

    pub fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, &[JSON], Some(body.to_string().as_bytes()))
    }

    pub fn put(&self, path: &str, body: Value) -> Reply {
        self.send("PUT", path, &[JSON], Some(body.to_string().as_bytes()))
    }

    /// Any request at all.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Reply {
        self.try_send(method, path, headers, body).expect("the server answers")
    }

    /// The same, for servers that may be gone.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Reply, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.unwrap_or_default()).expect("a well-formed request");
        let mut response = self.agent.run(request)?;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into())
            })
            .collect();
        let status = response.status().as_u16();
        let mut text = String::new();
        response.body_mut().as_reader().read_to_string(&mut text)?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        let reply = Reply { status, headers, body, text };
        openapi::check(&openapi::Checked {
            method,
            path,
            status,
            content_type: reply.header("content-type"),
            text: &reply.text,
        });
        Ok(reply)
    }

    /// Enqueues a job and returns its id.
    #[track_caller]
    pub fn enqueue(&self, job: Value) -> String {
        let body = self.post("/ojs/v1/jobs", job).expect(201);
        body["job"]["id"].as_str().expect("a job has an id").to_owned()
    }

    /// Fetches up to `count` jobs from one queue.
    #[track_caller]
    pub fn fetch(&self, queue: &str, count: u32) -> Vec<Value> {
        let ask = serde_json::json!({"queues": [queue], "count": count});
        let body = self.post("/ojs/v1/workers/fetch", ask).expect(200);
        body["jobs"].as_array().expect("a list of jobs").clone()
    }

    #[track_caller]
    pub fn job(&self, id: &str) -> Value {
        self.get(&format!("/ojs/v1/jobs/{id}")).expect(200)["job"].clone()
    }

    /// Asks until the job is in this state.
    #[track_caller]
    pub fn wait_for_state(&self, id: &str, state: &str) -> Value {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let job = self.job(id);
            if job["state"] == state {
                return job;
            }
            assert!(Instant::now() < until, "still not {state}: {job}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is seen within one minute by the clock: as soon as another has begun, figures of the last
/// minute are estimates, and those of the hour may be on their way from one place to another.
pub fn in_one_minute<T>(mut see: impl FnMut() -> T) -> T {
    let minute = || std::time::UNIX_EPOCH.elapsed().expect("a time after 1970").as_secs() / 60;
    for _ in 0..10 {
        let begun = minute();
        let seen = see();
        if minute() == begun {
            return seen;
        }
    }
    panic!("it takes more than a minute");
}

pub const JSON: (&str, &str) = ("Content-Type", "application/openjobspec+json");

/// The server chooses, and says which.
const ANY_PORT: &str = "127.0.0.1:0";

/// Starts a process and waits until it says where it listens.
fn launch(
    listen: &str,
    dir: &Path,
    flags: &[String],
    environment: &[(String, String)],
) -> (Child, SocketAddr) {
    let mut child = command(&["serve", "--listen", listen])
        .arg("--data")
        .arg(dir)
        .args(flags)
        .envs(environment.iter().map(|(k, v)| (k, v)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server can be started");
    let mut greeting = BufReader::new(child.stdout.take().expect("its output is piped"));
    let address = loop {
        let mut line = String::new();
        if greeting.read_line(&mut line).unwrap_or(0) == 0 {
            panic!("the server ended at once: {}", last_words(&mut child));
        }
        if let Some((_, address)) = line.split_once("://").filter(|_| line.contains("listening on"))
        {
            break address.trim().parse().expect("the greeting has an address");
        }
    };
    drain(greeting);
    drain(child.stderr.take().expect("its log is piped"));
    (child, address)
}

fn last_words(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut text);
    }
    format!("{:?}\n{text}", child.wait())
}

/// What nobody looks at is read away, so that a chatty server never blocks on a full pipe.
fn drain(mut pipe: impl Read + Send + 'static) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
}
