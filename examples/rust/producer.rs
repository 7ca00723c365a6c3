//! Enqueues a job for each address: `cargo run --example producer -- you@example.com ...`

use rota_client::{Client, Error, NewJob};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let url = std::env::var("ROTA_URL").unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let client = Client::new(&url)?;
    for address in std::env::args().skip(1) {
        let job = NewJob::new("email.send").queue("email").arg(address);
        println!("{}", client.enqueue(&job).await?.id);
    }
    Ok(())
}
