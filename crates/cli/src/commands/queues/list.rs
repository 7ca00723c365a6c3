//! `rota queues list`: lists queues.

use rota_client::{Client, Queue};

use crate::Failure;
use crate::output::{List, Table};

const LONGEST_PAGE: u32 = 200;

pub(super) async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = [
        "QUEUE",
        "STATUS",
        "AVAILABLE",
        "ACTIVE",
        "SCHEDULED",
        "RETRYABLE",
        "PENDING",
        "COMPLETED",
        "CANCELLED",
        "DISCARDED",
    ];
    let list = List {
        name: "queues",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in(2..header.len()).hide_first([8, 6, 7, 9, 5, 4, 1]),
        tenants_in: None,
        if_empty: "no queues yet; the first job of a queue makes it",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.queues(limit, at).await).await
}

fn cells(queue: &Queue) -> Vec<String> {
    let counts = &queue.counts;
    let numbers = [
        counts.available,
        counts.active,
        counts.scheduled,
        counts.retryable,
        counts.pending,
        counts.completed,
        counts.cancelled,
        counts.discarded,
    ];
    let names = [queue.name.clone(), queue.status.clone()];
    names.into_iter().chain(numbers.map(|count| count.to_string())).collect()
}
