//! `rota dead-letter stats`: counts jobs by queue.

use rota_client::Client;

use crate::Failure;
use crate::output::{Table, plural, print_json, print_line};

pub(super) async fn print(client: &Client, as_json: bool) -> Result<(), Failure> {
    let stats = client.dead_letter_stats().await?;
    if as_json {
        return print_json(&stats);
    }
    let mut table = Table::new(&["QUEUE", "JOBS"]).numbers_in([1]);
    for (queue, count) in &stats.by_queue {
        table.row(vec![queue.clone(), count.to_string()]);
    }
    crate::output::print(&table.take())?;
    print_line(&format!("{} in all", plural(stats.total, "job", "jobs")))
}
