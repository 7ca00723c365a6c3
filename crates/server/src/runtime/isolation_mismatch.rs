//! The error of a start whose data was written under another `tenancy.isolation`.

use std::fmt;

/// Lists the jobs and schedules that this server could not serve, and says what to do about them.
#[derive(Debug)]
pub struct IsolationMismatch(pub(super) rota_engine::IsolationMismatch);

impl fmt::Display for IsolationMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rota_engine::IsolationMismatch {
            jobs,
            schedules,
            queues,
            ref examples,
            queues_per_tenant,
        } = self.0;
        let (current, owners, previous) = match queues_per_tenant {
            true => ("'namespace'", "all tenants", "sharded"),
            false => ("not 'namespace'", "single tenants", "namespace"),
        };
        write!(f, "tenancy.isolation is {current}, and the data has ")?;
        if jobs > 0 {
            let names: Vec<_> = examples.iter().map(|name| format!("'{name}'")).collect();
            let more = if queues > names.len() { ", ..." } else { "" };
            let (jobs, queues) = (count(jobs, "unfinished job"), count(queues as u64, "queue"));
            write!(f, "{jobs} in {queues} ({}{more})", names.join(", "))?;
        }
        if schedules > 0 {
            let and = if jobs > 0 { " and " } else { "" };
            write!(f, "{and}{}", count(schedules, "schedule"))?;
        }
        write!(
            f,
            " belonging to {owners}: nobody could reach them. Start with the isolation that they were made \
             under (--tenancy-isolation {previous}), let the jobs finish or cancel them, remove the \
             schedules, and then change it"
        )
    }
}

fn count(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{plural}")
}
