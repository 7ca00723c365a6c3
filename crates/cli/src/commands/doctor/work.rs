//! Checks queues and workers: whether work is being done.

use rota_client::{Client, Error, Totals};

use super::finding::Finding;
use crate::output::plural;

/// Beyond this number, queues or workers are not checked one by one.
const MOST_PAGES: usize = 20;
const PER_PAGE: u32 = 100;
/// Some jobs always fail; this many need attention.
const MANY_DEAD: u64 = 100;
const NAMED: usize = 5;

pub(super) async fn look(client: &Client) -> Result<Vec<Finding>, Error> {
    let totals = client.totals().await?;
    let mut findings = Vec::new();
    findings.extend(maintenance(client).await?);
    findings.extend(nobody_works(&totals));
    findings.extend(paused(client).await?);
    findings.extend(lost_workers(client).await?);
    findings.extend(dead_letters(client).await?);
    if findings.is_empty() {
        let waiting = plural(totals.jobs.available, "job", "jobs");
        let workers = plural(totals.workers, "worker", "workers");
        let what = format!("{waiting} waiting, {} active, {workers}.", totals.jobs.active);
        findings.push(Finding::ok("work", what));
    }
    Ok(findings)
}

async fn maintenance(client: &Client) -> Result<Option<Finding>, Error> {
    let now = client.maintenance().await?;
    Ok(now.maintenance.then(|| {
        let reason = now.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        Finding::warning(
            "maintenance",
            format!("It is in maintenance and hands out no jobs{reason}."),
            "End it when the work is done; it does not end by itself.",
        )
    }))
}

fn nobody_works(totals: &Totals) -> Option<Finding> {
    let waiting = totals.jobs.available;
    let nobody = totals.workers == 0 && totals.waiting_fetches == 0 && totals.jobs.active == 0;
    (waiting > 0 && nobody).then(|| {
        let what = match waiting {
            1 => "1 job waits, and no worker is there.".to_owned(),
            _ => format!("{} wait, and no worker is there.", plural(waiting, "job", "jobs")),
        };
        Finding::warning("workers", what, "Start a worker, or look why yours does not fetch.")
    })
}

async fn paused(client: &Client) -> Result<Option<Finding>, Error> {
    let (mut names, mut next, mut of_tenants) = (Vec::new(), None, false);
    for _ in 0..MOST_PAGES {
        let page = client.all_queues(PER_PAGE, next.as_ref()).await?;
        let paused = page.items.iter().filter(|queue| queue.status == "paused");
        of_tenants |= page.items.iter().any(|queue| queue.tenant_id.is_some());
        names.extend(paused.map(|queue| named(&queue.name, queue.tenant_id.as_deref())));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let whose = if of_tenants { " --tenant ID" } else { "" };
    Ok((!names.is_empty()).then(|| {
        Finding::warning(
            "queues",
            format!("Paused, so that their jobs wait: {}.", some(&names)),
            format!(
                "Resume one with `rota queues resume NAME{whose}`, unless the pause is intended."
            ),
        )
    }))
}

async fn lost_workers(client: &Client) -> Result<Option<Finding>, Error> {
    let (mut names, mut next) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = client.workers(PER_PAGE, next.as_ref()).await?;
        let lost = page.items.iter().filter(|worker| worker.state == "stale");
        names.extend(lost.map(|worker| named(&worker.id, worker.tenant_id.as_deref())));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    Ok((!names.is_empty()).then(|| {
        Finding::warning(
            "workers",
            format!("Not heard of for too long: {}.", some(&names)),
            "Look at the machines that they ran on. They are forgotten by themselves after a while.",
        )
    }))
}

async fn dead_letters(client: &Client) -> Result<Option<Finding>, Error> {
    let (total, worst) = dead(client).await?;
    Ok((total >= MANY_DEAD).then(|| {
        let (most, whose) = match worst {
            Some((name, n)) => (format!(", {n} of them in {name}"), ""),
            None => (String::new(), " --tenant ID"),
        };
        Finding::warning(
            "dead letter",
            format!("{} failed for good{most}.", plural(total, "job", "jobs")),
            format!(
                "Look at their errors with `rota dead-letter list{whose}`; retry or delete them."
            ),
        )
    }))
}

/// How many jobs failed permanently, and the queue with most of them, unless queues belong to tenants.
async fn dead(client: &Client) -> Result<(u64, Option<(String, u64)>), Error> {
    match client.dead_letter_stats().await {
        Ok(stats) => {
            let worst = stats.by_queue.iter().max_by_key(|(_, count)| **count);
            Ok((stats.total, worst.map(|(name, count)| (name.clone(), *count))))
        }
        // There are no figures across tenants in this case, but the operator's list has a total.
        Err(error) if wants_a_tenant(&error) => {
            Ok((client.all_dead_letters().await?.unwrap_or_default(), None))
        }
        Err(error) => Err(error),
    }
}

fn wants_a_tenant(error: &Error) -> bool {
    let field = error.refusal().and_then(|refusal| refusal.details.get("field"));
    field.is_some_and(|field| field == "X-OJS-Tenant")
}

/// `email of acme`, if the name alone is ambiguous.
fn named(name: &str, tenant: Option<&str>) -> String {
    match tenant {
        Some(tenant) => format!("{name} of {tenant}"),
        None => name.to_owned(),
    }
}

fn some(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
