//! `rota workers list`: lists workers.

use rota_client::{Client, Worker};

use crate::Failure;
use crate::output::{List, Table, relative};

const LONGEST_PAGE: u32 = 100;

pub(super) async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = ["WORKER", "TENANT", "STATE", "JOBS", "QUEUES", "HOST", "STARTED", "HEARD OF"];
    let list = List {
        name: "workers",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in([3]).hide_first([6, 5, 4, 7]),
        tenants_in: Some(1),
        if_empty: "no workers; one is known from its first fetch with a worker_id on",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.workers(limit, at).await).await
}

fn cells(worker: &Worker) -> Vec<String> {
    let jobs = match worker.concurrency {
        Some(most) => format!("{}/{most}", worker.active_jobs),
        None => worker.active_jobs.to_string(),
    };
    let at = |time: &Option<String>| time.as_deref().map(relative).unwrap_or_default();
    vec![
        worker.id.clone(),
        worker.tenant_id.clone().unwrap_or_else(|| "-".to_owned()),
        worker.state.clone(),
        jobs,
        if worker.queues.is_empty() { "-".to_owned() } else { worker.queues.join(",") },
        worker.hostname.clone().unwrap_or_else(|| "-".to_owned()),
        at(&worker.started_at),
        at(&worker.last_seen_at),
    ]
}
