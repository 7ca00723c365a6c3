//! Regions in networks of their own: each server in a network namespace, with a link to this one that can be cut.
//!
//! Where namespaces cannot be made, regions are on loopback addresses, and a stopped process stands for a cut link.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rota_client::federation::{Event, FederatedClient, Settings};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authority::{Authority, Pair};
use crate::regions::IDS;
use crate::support::{binary, command};

/// Three servers that speak TLS and ask for certificates.
pub struct Networks {
    authority: Authority,
    client: Pair,
    links: Vec<Link>,
    servers: Vec<Child>,
    events: Arc<Mutex<Vec<Event>>>,
    dir: TempDir,
    pub isolated: bool,
}

/// The way to a region. A namespace ends with the link.
struct Link {
    namespace: Option<String>,
    device: String,
    address: String,
}

const PORT: u16 = 8443;

impl Networks {
    pub fn start() -> Self {
        let authority = Authority::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let first = NEXT.fetch_add(3, Ordering::Relaxed);
        let mut links: Vec<Link> = (first..first + 3).filter_map(lay).collect();
        let isolated = links.len() == IDS.len();
        if !isolated {
            eprintln!("no network namespaces here: loopback, and stopped processes for cut links");
            links = (first..first + 3).map(loopback).collect();
        } else if !links.iter().all(Link::delay) {
            eprintln!("no netem here: the links have no delay");
        }
        let mut networks = Self {
            client: authority.client("gateway", "gateway.example"),
            authority,
            links,
            servers: Vec::new(),
            events: Arc::default(),
            dir: TempDir::new().unwrap(),
            isolated,
        };
        networks.servers = (0..IDS.len()).map(|i| networks.serve(i)).collect();
        networks
    }

    fn serve(&self, i: usize) -> Child {
        let (id, link) = (IDS[i], &self.links[i]);
        let own = self.authority.issue(id, &[&link.address], |_| {});
        let mut command = match &link.namespace {
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name]).arg(binary()).arg("serve");
                command
            }
            None => command(&["serve"]),
        };
        command
            .args(["--listen", &format!("{}:{PORT}", link.address), "--insecure"])
            .args(["--tls-client-auth", "required", "--tls-client-ca"])
            .arg(self.authority.file())
            .arg("--tls-certificate")
            .arg(&own.certificate)
            .arg("--tls-key")
            .arg(&own.key)
            .args(["--durability", "os", "--data"])
            .arg(self.dir.path().join(id))
            .env("ROTA_FEDERATION_REGION", id)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// A client of all regions, with these settings changed.
    pub fn client(&self, changed: &Value) -> FederatedClient {
        let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
        let regions: Vec<Value> = IDS
            .iter()
            .zip(&self.links)
            .map(|(id, link)| {
                json!({
                    "id": id,
                    "url": format!("https://{}:{PORT}", link.address),
                    "ca_file": path(&self.authority.file()),
                    "client_cert": path(&self.client.certificate),
                    "client_key": path(&self.client.key),
                })
            })
            .collect();
        let mut settings = json!({
            "local_region": "eu",
            "regions": regions,
            "request_timeout_seconds": 2,
            "connect_timeout_seconds": 1,
            "reconcile_for_seconds": 15,
            "health_check": {"interval_seconds": 1, "timeout_seconds": 2},
            "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 1},
            "failover": {"prefer_regions": ["ap"]},
        });
        for (name, value) in changed.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let settings = Settings::from_json(&settings.to_string(), "the test").unwrap();
        let events = self.events.clone();
        let tell = move |event: &Event| events.lock().unwrap().push(event.clone());
        FederatedClient::with_events(settings, tell).unwrap()
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Cuts the link to a region, or lays it again. The region goes on by itself.
    pub fn cut(&self, id: &str, cut: bool) {
        let i = place(id);
        match &self.links[i].namespace {
            Some(_) => {
                let state = if cut { "down" } else { "up" };
                ip(&["link", "set", &self.links[i].device, state]).unwrap();
            }
            None => self.signal(id, if cut { "STOP" } else { "CONT" }),
        }
    }

    pub fn signal(&self, id: &str, signal: &str) {
        let pid = self.servers[place(id)].id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn kill(&mut self, id: &str) {
        let server = &mut self.servers[place(id)];
        server.kill().unwrap();
        server.wait().unwrap();
    }

    pub fn restart(&mut self, id: &str) {
        let i = place(id);
        self.servers[i] = self.serve(i);
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Link {
    /// Makes the link slow, if this system can.
    fn delay(&self) -> bool {
        let delay = ["qdisc", "add", "dev", &self.device, "root", "netem", "delay", "20ms", "5ms"];
        let tried = Command::new("tc").args(delay).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(namespace) = &self.namespace {
            let _ = ip(&["link", "delete", &self.device]);
            let _ = ip(&["netns", "delete", namespace]);
        }
    }
}

fn place(id: &str) -> usize {
    IDS.iter().position(|known| *known == id).unwrap()
}

/// A namespace with a link to it; `None` where this is not possible.
fn lay(i: u32) -> Option<Link> {
    let pid = std::process::id();
    let namespace = format!("rota-{pid}-{i}");
    let device = format!("rt{pid}-{i}");
    let subnet = format!("10.{}.{}", 64 + pid / 256 % 128, pid % 256);
    let (here, address) = (format!("{subnet}.{}/30", 4 * i + 1), format!("{subnet}.{}", 4 * i + 2));
    ip(&["netns", "add", &namespace])?;
    let link = Link { namespace: Some(namespace.clone()), device, address };
    let device = &link.device;
    ip(&["link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", &namespace])?;
    ip(&["address", "add", &here, "dev", device])?;
    ip(&["link", "set", device, "up"])?;
    ip(&["-n", &namespace, "address", "add", &format!("{}/30", link.address), "dev", "eth0"])?;
    ip(&["-n", &namespace, "link", "set", "eth0", "up"])?;
    ip(&["-n", &namespace, "link", "set", "lo", "up"])?;
    Some(link)
}

fn loopback(i: u32) -> Link {
    let pid = std::process::id();
    let address = format!("127.{}.{}.{}", 10 + i, pid >> 8 & 255, pid & 255);
    Link { namespace: None, device: String::new(), address }
}

fn ip(arguments: &[&str]) -> Option<()> {
    let ran = Command::new("ip").args(arguments).stderr(Stdio::null()).status();
    ran.is_ok_and(|status| status.success()).then_some(())
}
