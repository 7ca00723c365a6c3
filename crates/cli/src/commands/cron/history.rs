//! `rota cron history`: shows the last runs of a schedule.

use rota_client::{Client, CronRun};

use crate::Failure;
use crate::output::{List, Table, relative};

const LONGEST_PAGE: u32 = 20;

pub(super) async fn list(client: &Client, name: &str, as_json: bool) -> Result<(), Failure> {
    let header = ["JOB", "STATE", "TRIGGER", "DUE", "STARTED", "COMPLETED", "REASON"];
    let list = List {
        name: "executions",
        as_json,
        most: None,
        longest_page: LONGEST_PAGE,
        cursor: None,
        table: Table::new(&header).hide_first([4, 2, 5]).with_text(),
        tenants_in: None,
        if_empty: "it has not run yet; `rota cron trigger` starts a run",
        if_more: "",
    };
    list.print(cells, async |limit, at| client.cron_history(name, limit, at).await).await
}

fn cells(run: &CronRun) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let at = |time: &Option<String>| time.as_deref().map_or_else(|| "-".to_owned(), relative);
    vec![
        text(&run.job_id),
        text(&run.state),
        text(&run.trigger),
        at(&run.scheduled_at),
        at(&run.started_at),
        at(&run.completed_at),
        run.reason.clone().unwrap_or_default(),
    ]
}
