//! An endpoint that answers always the same and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers every request with the text.
pub async fn serve(text: Arc<Mutex<String>>) -> SocketAddr {
    record(text).await.0
}

/// Answers every request with the text, and keeps the requests.
pub async fn record(text: Arc<Mutex<String>>) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let keeping = heard.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = vec![0; 16 << 10];
            if let Ok(n) = client.read(&mut request).await {
                let request = String::from_utf8_lossy(&request[..n]).into_owned();
                keeping.lock().unwrap().push(request);
                let body = text.lock().unwrap().clone();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = client.write_all((head + &body).as_bytes()).await;
            }
        }
    });
    (address, heard)
}
