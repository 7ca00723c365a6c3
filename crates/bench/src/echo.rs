//! The baseline: the same HTTP stack with nothing behind it.

use std::io::Write;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use bytes::Bytes;

use crate::BenchError;

/// Answers every body with itself, until the process is ended.
pub async fn serve_echo() -> Result<(), BenchError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        // As the server does; without it the baseline would be slower than it need be.
        let _ = stream.set_nodelay(true);
    });
    let address = axum::serve::Listener::local_addr(&listener)?;
    println!("listening on  http://{address}");
    std::io::stdout().flush()?;
    // As large as the batches that it is compared with.
    let router = Router::new()
        .route("/echo", post(|body: Bytes| async { body }))
        .layer(DefaultBodyLimit::disable());
    Ok(axum::serve(listener, router).await?)
}
