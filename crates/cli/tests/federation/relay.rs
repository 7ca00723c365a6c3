//! A way to a server that can be slow, and that counts requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
pub struct Relay {
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    requests: AtomicU64,
    answers: AtomicU64,
    delay_ms: AtomicU64,
    broken: AtomicBool,
}

impl Relay {
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let relay = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let state = relay.state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, state.clone()));
            }
        });
        relay
    }

    /// How many requests have come.
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// How many pieces of answers have come, held back or not.
    pub fn answers(&self) -> u64 {
        self.state.answers.load(Ordering::SeqCst)
    }

    /// Answers are held back for so long.
    pub fn delay(&self, delay: Duration) {
        self.state.delay_ms.store(delay.as_millis() as u64, Ordering::SeqCst);
    }

    /// Requests are counted and connections closed without an answer, until it is mended.
    pub fn set_broken(&self, broken: bool) {
        self.state.broken.store(broken, Ordering::SeqCst);
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, state: Arc<State>) {
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let (mut sent, mut answered) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            read = client.read(&mut sent) => {
                let Ok(n @ 1..) = read else { return };
                // Clients send one request at a time, and each begins a chunk.
                if [&b"GET "[..], b"POST "].iter().any(|method| sent[..n].starts_with(method)) {
                    state.requests.fetch_add(1, Ordering::SeqCst);
                    if state.broken.load(Ordering::SeqCst) {
                        return;
                    }
                }
                if server.write_all(&sent[..n]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(n @ 1..) = read else { return };
                let delay = state.delay_ms.load(Ordering::SeqCst);
                state.answers.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(delay)).await;
                if client.write_all(&answered[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}
