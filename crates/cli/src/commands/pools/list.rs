//! `rota pools list`: lists pools.

use rota_client::{Client, Pool};

use super::show::{jobs, queues, tenants};
use crate::Failure;
use crate::output::{List, Table, percent};

const LONGEST_PAGE: u32 = 100;

pub(super) async fn list(client: &Client, as_json: bool) -> Result<(), Failure> {
    let header = [
        "POOL", "OWNER", "TENANTS", "STRATEGY", "SCOPE", "QUEUES", "WORKERS", "JOBS", "BUSY",
        "ORIGIN", "",
    ];
    let list = List {
        name: "pools",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).numbers_in([6, 7, 8]).hide_first([9, 4, 8, 2, 3, 6]),
        tenants_in: None,
        if_empty: "no pools; `rota pools set --help` shows how to make one",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.pools(limit, at).await).await
}

fn cells(pool: &Pool) -> Vec<String> {
    vec![
        pool.name.clone(),
        pool.tenant_id.clone().unwrap_or_else(|| "operator".to_owned()),
        tenants(pool).unwrap_or_else(|| "-".to_owned()),
        pool.strategy.clone().unwrap_or_default(),
        pool.fairness_scope.clone().unwrap_or_else(|| "-".to_owned()),
        queues(pool, ","),
        pool.active_workers.map_or_else(|| "-".to_owned(), |workers| workers.to_string()),
        jobs(pool),
        pool.utilization.map_or_else(|| "-".to_owned(), percent),
        pool.origin.clone().unwrap_or_default(),
        match (pool.isolated, pool.fair) {
            (true, true) => "isolated, fair",
            (true, false) => "isolated",
            (false, true) => "fair",
            (false, false) => "",
        }
        .to_owned(),
    ]
}
