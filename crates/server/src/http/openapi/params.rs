//! Parameters in paths and query strings.

use serde_json::{Map, Value, json};

use super::notation::{self, Problem, Schemas};

/// Name, type and meaning of query parameters, wherever an operation says nothing else.
const USUAL: &[(&str, &str, &str)] = &[
    ("page", "integer(1..)", "The number of the page, from 1."),
    ("per_page", "integer(1..)", "The length of a page. Too large a number is reduced."),
    ("limit", "integer(1..)", "The length of a page. Too large a number is reduced."),
    ("offset", "integer(0..)", "Entries to skip; not together with 'page'."),
    ("cursor", "Cursor", "Where to go on: 'next_cursor' of the answer before."),
    ("tenant", "TenantId", "The tenant that an operator means."),
    ("tenant_id", "TenantId", "The same as 'tenant'."),
    ("queue", "QueueName", "Only of this queue."),
    ("type", "string", "Only jobs of this type; a prefix may be followed by *."),
    ("state", "State", "Only jobs in this state."),
    ("since", "time", "Not older than this."),
    ("until", "time", "Older than this."),
    ("order", "'asc' | 'desc'", "By default 'desc'."),
    ("sort", "'created_at' | 'scheduled_at' | 'priority'", "By default 'created_at'."),
    ("exclude_terminal", "boolean", "Leaves out finished jobs."),
    ("error_type", "string", "Only jobs whose last error has this type."),
    ("older_than", "string", "Only jobs older than this: a time, or a duration such as 7d."),
    ("purge", "boolean", "Also removes unfinished jobs; needs 'confirm'."),
    ("confirm", "boolean", "Must be true for a purge."),
    ("enabled", "boolean", "Only those that are enabled, or are not."),
    ("prefix", "string", "Only keys that start with this."),
    ("format", "'prometheus'", "The format of the metrics."),
    ("detail", "boolean", "Lists the deepest queues one by one."),
    ("period", "'1m' | '5m' | '1h' | '1d'", "The step; by default '5m'."),
    ("per", "'hour' | 'day'", "By default 'hour'."),
    ("from", "time", "The start of the first period."),
    ("to", "time", "The end, which is not included."),
    ("channel", "string", "'all', 'queue:NAME' or 'job:ID', in a stream only."),
];

/// The same for filters of events, where lists are separated by commas.
const OF_EVENTS: &[(&str, &str, &str)] = &[
    ("types", "string", "Types of events, separated by commas; job.* is all of a group."),
    ("event_types", "string", "The same as 'types'."),
    ("type", "string", "The same as 'types'."),
    ("queues", "string", "Queues, separated by commas."),
    ("queue", "string", "The same as 'queues'."),
    ("job_types", "string", "Types of jobs, separated by commas."),
    ("job_type", "string", "The same as 'job_types'."),
    ("tenants", "string", "Tenants, separated by commas."),
    ("tenant", "string", "The same as 'tenants'."),
    ("tenant_id", "string", "The same as 'tenants'."),
    ("after", "string", "The id of the event behind which to go on."),
    ("cursor", "string", "The same as 'after'."),
    ("last_event_id", "string", "The same as 'after'."),
];

/// The parameter in a path: type and meaning, by the segment before it.
const IN_PATHS: &[(&str, &str, &str)] = &[
    ("jobs", "JobId", "The id of the job."),
    ("dead-letter", "JobId", "The id of the job."),
    ("bulk", "'retry' | 'cancel' | 'delete'", "What to do."),
    ("workers", "WorkerId", "The id of the worker."),
    ("queues", "QueueName", "The name of the queue."),
    ("cron", "CronName", "The name of the cron job."),
    ("crons", "CronName", "The name of the cron job."),
    ("rate-limits", "LimitKey", "The key of the rate limit."),
    ("job-types", "JobType", "The job type."),
    ("pools", "PoolName", "The name of the pool."),
    ("tenants", "TenantId", "The id of the tenant."),
    ("keys", "KeyId", "The id of the key."),
];

/// A parameter of a query string, as OpenAPI has it: a reference, unless the operation has its own.
pub(super) fn in_query(
    name: &str,
    path: &str,
    own: &[(&'static str, &'static str, &'static str)],
    schemas: &Schemas,
) -> Result<Value, Problem> {
    let has = |all: &[(&str, &str, &str)]| all.iter().any(|(known, ..)| *known == name);
    let is_about_events = path.contains("/events");
    match own.iter().find(|(known, ..)| *known == name) {
        Some(own) => describe(own, schemas),
        None if is_about_events && has(OF_EVENTS) => Ok(reference("events", name)),
        None if has(USUAL) => Ok(reference("query", name)),
        None => Err(format!("the parameter '{name}' of {path} has no description")),
    }
}

fn describe((name, kind, about): &(&str, &str, &str), schemas: &Schemas) -> Result<Value, Problem> {
    let schema = notation::parse(kind, schemas)?;
    Ok(json!({"name": name, "in": "query", "description": about, "schema": schema}))
}

fn reference(group: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{group}.{name}")})
}

/// The parameters that operations refer to, as components of the document.
pub(super) fn components(schemas: &Schemas) -> Result<Map<String, Value>, Problem> {
    let groups = [("query", USUAL), ("events", OF_EVENTS)];
    let all = groups.into_iter().flat_map(|(group, all)| all.iter().map(move |one| (group, one)));
    let component = |(group, one): (&str, &(&str, &str, &str))| {
        Ok((format!("{group}.{}", one.0), describe(one, schemas)?))
    };
    all.map(component).collect()
}

pub(super) fn in_header(
    (name, kind, about): (&str, &str, &str),
    schemas: &Schemas,
) -> Result<Value, Problem> {
    Ok(json!({
        "name": name, "in": "header", "description": about,
        "schema": notation::parse(kind, schemas)?,
    }))
}

/// The parameter in a path, if it has one. No path has more.
pub(super) fn in_path(path: &str, schemas: &Schemas) -> Result<Option<Value>, Problem> {
    let Some((before, rest)) = path.split_once("/{") else { return Ok(None) };
    let name = rest.split('}').next().unwrap_or_default();
    let segment = before.rsplit('/').next().unwrap_or_default();
    let found = IN_PATHS.iter().find(|(known, ..)| *known == segment);
    let (_, kind, about) =
        found.ok_or_else(|| format!("the parameter in {path} has no description"))?;
    Ok(Some(json!({
        "name": name, "in": "path", "required": true, "description": about,
        "schema": notation::parse(kind, schemas)?,
    })))
}
