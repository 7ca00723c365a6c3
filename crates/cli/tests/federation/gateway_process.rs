//! A gateway as a process, in front of three regions.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::regions::{IDS, Regions};
use crate::support::{Reply, command};

pub struct Gateway {
    child: Child,
    address: SocketAddr,
    dir: tempfile::TempDir,
    log: Arc<Mutex<String>>,
}

impl Gateway {
    /// Starts a gateway with these members of the description changed.
    pub fn start(regions: &Regions, changed: &Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("regions.json");
        std::fs::write(&path, description(regions, changed)).unwrap();
        let mut child = command(&["federate", "--listen", "127.0.0.1:0", "--log-json", "--config"])
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| {
            let line = line.unwrap();
            line.split("http://").nth(1).map(|address| address.trim().parse().unwrap())
        });
        std::thread::spawn(move || lines.for_each(drop));
        let log = Arc::<Mutex<String>>::default();
        let (written, stderr) = (log.clone(), BufReader::new(child.stderr.take().unwrap()));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                written.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, address: address.expect("it says where it listens"), dir, log }
    }

    /// The regions as a description lists them.
    pub fn regions(regions: &Regions) -> Vec<Value> {
        IDS.iter()
            .zip(&regions.servers)
            .map(|(id, server)| json!({"id": id, "url": server.url("")}))
            .collect()
    }

    pub fn rewrite(&self, regions: &Regions, changed: &Value) {
        std::fs::write(self.dir.path().join("regions.json"), description(regions, changed))
            .unwrap();
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None, &[])
    }

    pub fn post(&self, path: &str, body: Value) -> Reply {
        self.send("POST", path, Some(body), &[])
    }

    pub fn post_text(&self, path: &str, body: &str) -> Reply {
        self.send_text("POST", path, body.to_owned(), &[])
    }

    pub fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Reply {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send_text(method, path, body, headers)
    }

    fn send_text(&self, method: &str, path: &str, body: String, headers: &[(&str, &str)]) -> Reply {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let agent: ureq::Agent = config.into();
        let url = format!("{}{path}", self.url());
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/openjobspec+json");
        }
        let mut response = agent.run(request.body(body).unwrap()).unwrap();
        let text =
            |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into();
        let headers = response.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_string(), text(value))).collect();
        let status = response.status().as_u16();
        let text = response.body_mut().read_to_string().unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status, headers, body, text }
    }

    pub fn terminate(&mut self) -> std::process::ExitStatus {
        let pid = self.child.id().to_string();
        assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn description(regions: &Regions, changed: &Value) -> String {
    let listed = Gateway::regions(regions);
    let mut settings = json!({
        "federation_id": "test",
        "local_region": "eu",
        "regions": listed,
        "request_timeout_seconds": 2,
        "connect_timeout_seconds": 1,
        "health_check": {"interval_seconds": 1, "timeout_seconds": 1},
        "load": {"interval_seconds": 1},
        "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 1},
    });
    for (name, value) in changed.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings.to_string()
}
