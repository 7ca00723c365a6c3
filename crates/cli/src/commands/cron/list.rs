//! `rota cron list`: lists schedules.

use rota_client::{Client, Cron};

use super::show::job;
use crate::Failure;
use crate::output::{List, Table, relative};

const LONGEST_PAGE: u32 = 1_000;

pub(super) async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = ["NAME", "TENANT", "EXPRESSION", "ZONE", "TYPE", "QUEUE", "RUNS", "LAST", "NEXT"];
    let list = List {
        name: "crons",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in([6]).hide_first([6, 3, 7, 5, 4]),
        tenants_in: Some(1),
        if_empty: "no schedules; `rota cron add --help` shows how to add one",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.crons(limit, at).await).await
}

fn cells(cron: &Cron) -> Vec<String> {
    let (kind, queue) = job(cron);
    vec![
        cron.name.clone(),
        cron.tenant_id.clone().unwrap_or_else(|| "-".to_owned()),
        cron.expression.clone(),
        cron.timezone.clone().unwrap_or_default(),
        kind,
        queue,
        cron.run_count.to_string(),
        cron.last_run_at.as_deref().map_or_else(|| "never".to_owned(), relative),
        match &cron.next_run_at {
            Some(time) if cron.enabled => relative(time),
            Some(_) => "disabled".to_owned(),
            None if cron.enabled => "never".to_owned(),
            None => "disabled".to_owned(),
        },
    ]
}
