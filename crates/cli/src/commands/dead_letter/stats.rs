//! `rota dead-letter stats`: counts jobs by queue and by error.

use rota_client::Client;

use crate::Failure;
use crate::output::{Table, plural, print_json, print_line};

pub(super) async fn print(client: &Client, as_json: bool) -> Result<(), Failure> {
    let stats = client.dead_letter_stats().await?;
    if as_json {
        return print_json(&stats);
    }
    if stats.total == 0 {
        return print_line("no jobs in the dead letter");
    }
    for (title, counts) in [("QUEUE", &stats.by_queue), ("ERROR", &stats.by_error_type)] {
        let mut table = Table::new(&[title, "JOBS"]).numbers_in([1]);
        let mut rows: Vec<_> = counts.iter().collect();
        rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (name, count) in rows {
            table.row(vec![name.clone(), count.to_string()]);
        }
        crate::output::print(&table.take())?;
        print_line("")?;
    }
    print_line(&format!("{} in all", plural(stats.total, "job", "jobs")))
}
