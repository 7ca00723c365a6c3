//! The baseline: an echo server with the same HTTP stack.

use std::io::Write;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use bytes::Bytes;

use crate::BenchError;

/// Echoes every request body until the process is killed.
pub async fn serve_echo() -> Result<(), BenchError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // As the real server does. Without it, the baseline would be slower.
        let _ = stream.set_nodelay(true);
    });
    let address = axum::serve::Listener::local_addr(&listener)?;
    println!("listening on  http://{address}");
    std::io::stdout().flush()?;
    // Bodies can be as large as the batches that the echo is compared with.
    let router = Router::new()
        .route("/echo", post(|body: Bytes| async { body }))
        .layer(DefaultBodyLimit::disable());
    Ok(axum::serve(listener, router).await?)
}
