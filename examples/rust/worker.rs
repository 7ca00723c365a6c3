//! Runs the jobs of the queue "email", up to four at once: `cargo run --example worker`

use std::sync::Arc;

use rota_client::worker::{Failure, Options, Outcome, Shutdown, Stop, Worker};
use rota_client::{Client, Error, Job, WithJson};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

async fn send_email(job: Arc<WithJson<Job>>, _stop: Stop) -> Outcome {
    let Ok([address]) = serde_json::from_str::<[String; 1]>(job.args.get()) else {
        return Failure::new("BadArguments", "expected one address").no_retry().into();
    };
    if !address.contains('@') {
        return Failure::new("Permanent", format!("no address: {address}")).no_retry().into();
    }
    println!("sending an email to {address}");
    Outcome::done_with(&json!({"sent": address}))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("ROTA_URL").unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let mut options = Options::new(["email"]);
    options.concurrency = 4;
    let worker = Worker::new(Client::new(&url)?, options);

    let (trigger, shutdown) = Shutdown::new();
    tokio::spawn(async move {
        let mut terminated = signal(SignalKind::terminate()).expect("signals can be listened to");
        tokio::select! {
            _ = terminated.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        trigger.drain();
    });

    let summary = worker.run(send_email, shutdown).await?;
    println!("{} completed, {} failed", summary.completed, summary.failed);
    Ok(())
}
