//! Producers that do not stop, and what was answered to them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::json;

use crate::wire::Wire;

pub struct Load {
    acknowledged: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub fn start(address: SocketAddr, producers: usize) -> Self {
        let acknowledged = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..producers)
            .map(|_| {
                let (acknowledged, stop) = (acknowledged.clone(), stop.clone());
                std::thread::spawn(move || {
                    let mut wire = Wire::open(address).unwrap();
                    while !stop.load(Ordering::Relaxed) {
                        let job = json!({"type": "a", "args": ["x".repeat(300)]});
                        let answer = wire.post("/ojs/v1/jobs", &job).unwrap();
                        assert_eq!(answer.status, 201, "{}", answer.text());
                        let id = answer.json()["job"]["id"].as_str().unwrap().to_owned();
                        acknowledged.lock().unwrap().push(id);
                    }
                })
            })
            .collect();
        Self { acknowledged, stop, threads }
    }

    /// What was answered up to now.
    pub fn acknowledged(&self) -> Vec<String> {
        self.acknowledged.lock().unwrap().clone()
    }

    /// Everything that was answered. Fails if a producer was turned away.
    pub fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("every job was accepted");
        }
        self.acknowledged.lock().unwrap().clone()
    }
}
