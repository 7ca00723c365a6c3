//! Routes for cron jobs: register, list, show, change, remove; and their runs.

mod runs;
mod update;

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use rota_engine::{CronSpec, CronView, Overlap, Refusal, Reply};
use rota_model::cron::{CronError, Expression, Schedule, Zone};
use rota_model::{CronName, JobId, Rejection, TenantId, envelope, json};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use self::runs::{history, trigger};
use self::update::{patch, pause, resume};
use super::body::{Json, member};
use super::error::{ApiError, ApiResult};
use super::name_pages::{NameWindow, json_bytes};
use super::params::{Params, PathName};
use super::{Access, View, reply, spec_version};
use crate::http::body::NoBody;
use crate::runtime::Answer;

/// Members of a registration that describe the schedule; all others describe the job.
const SCHEDULE: &[&str] = &[
    "name",
    "cron",
    "expression",
    "schedule",
    "timezone",
    "overlap_policy",
    "enabled",
    "description",
    "job_template",
    "next_run_at",
    "last_run_at",
    "run_count",
    "skip_count",
    "created_at",
    "status",
];

/// Members of the job that are shown beside the schedule's own.
const SHOWN_OF_JOB: &[&str] = &["type", "args", "options", "meta"];

/// The longest description of a schedule, which is kept in memory with it.
const MAX_DESCRIPTION_BYTES: usize = 4_096;
/// Options that only make sense for a single job, not for a schedule.
const SINGLE_JOB_OPTIONS: &[&str] =
    &["id", "scheduled_at", "delay_until", "expires_at", "pending", "metadata"];

/// All routes for cron jobs. The specification's binding has them under `/cron`, an admin interface under
/// `/crons`.
pub(super) fn routes() -> Router<Arc<super::App>> {
    ["/cron", "/crons"].into_iter().fold(Router::new(), |router, all| {
        let of_one = |action: &str| format!("{all}/{{name}}{action}");
        router
            .route(all, get(list).post(register))
            .route(&of_one(""), get(show).delete(remove).patch(patch))
            .route(&of_one("/trigger"), post(trigger))
            .route(&of_one("/pause"), post(pause))
            .route(&of_one("/resume"), post(resume))
            .route(&of_one("/history"), get(history))
    })
}

async fn register(app: Access, headers: HeaderMap, body: Json) -> ApiResult {
    let members = body.members()?;
    let spec = parse(&app, &members, app.sender())?;
    let _guard = app.cron_changes.lock().await;
    match app.put_cron(spec).await? {
        Reply::Cron { cron, created } => {
            let status = if created { StatusCode::CREATED } else { StatusCode::OK };
            Ok(match spec_version::is_named(&headers) {
                true => reply::json(status, &Flat::new(&cron)),
                false => reply::json(status, &Wrapped::new(&cron)),
            })
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

async fn list(app: Access, params: Params) -> ApiResult {
    let mut window = NameWindow::from_params(&params, 1000, 1000)?;
    let enabled = params.flag("enabled")?;
    let tenant = tenant_of(&app, &params)?;
    // A tenant's cursors are names without the tenant's prefix.
    if let Some(tenant) = &tenant
        && let Ok(name) = CronName::parse(&window.after)
    {
        window.after = name.of_tenant(tenant).to_string();
    }
    let has_tenant = tenant.is_some();
    let look = move |view: View<'_>, after: &str, skip, most| {
        view.crons_after(tenant.as_ref(), enabled, after, skip, most)
    };
    let name = |cron: &CronView| match has_tenant {
        true => cron.name.local().to_owned(),
        false => cron.name.to_string(),
    };
    let size = |cron: &CronView| json_bytes(&Shown::new(cron), 3);
    let page = window.read(&app, look, name, size).await?;
    let crons: Vec<Shown<'_>> = page.items.iter().map(Shown::new).collect();
    let count = crons.len();
    Ok(reply::ok(&List {
        cron_jobs: &crons,
        crons: &crons,
        items: &crons,
        count,
        pagination: page.pagination,
    }))
}

async fn show(app: Access, name: PathName, params: Params) -> ApiResult {
    let cron = find(&app, &name, &params).await?;
    Ok(reply::ok(&Wrapped::new(&cron)))
}

async fn remove(app: Access, name: PathName, params: Params, _: NoBody) -> ApiResult {
    let full_name = find(&app, &name, &params).await?.name;
    let cron = changed(app.remove_cron(full_name).await?, &name)?;
    Ok(reply::ok(&Wrapped { deleted: Some(true), ..Wrapped::new(&cron) }))
}

/// The tenant whose schedules are meant: the caller, or the one that an operator names.
fn tenant_of(app: &Access, params: &Params) -> Result<Option<TenantId>, ApiError> {
    let named = params.tenant()?;
    app.tenant_or(named.clone())
        .ok_or_else(|| ApiError::not_found("tenant", named.as_deref().unwrap_or_default()))
}

/// The schedule of this name. Without a tenant: the default tenant's, or else the only one.
async fn find(app: &Access, name: &PathName, params: &Params) -> Result<CronView, ApiError> {
    let (cron_name, tenant) = (name.cron()?, tenant_of(app, params)?);
    let look = app.look(move |view| match tenant {
        Some(tenant) => Vec::from_iter(view.cron(&cron_name.of_tenant(&tenant))),
        None => match (view.cron(&cron_name), view.operator()) {
            (Some(cron), _) => vec![cron],
            (None, Some(engine)) => engine.crons_named(&cron_name, 2),
            (None, None) => Vec::new(),
        },
    });
    let mut found = look.await?;
    match (found.pop(), found.is_empty()) {
        (Some(cron), true) => Ok(cron),
        (None, _) => Err(ApiError::not_found("cron job", name.as_str())),
        (Some(_), false) => {
            Err(ApiError::conflict(format!("Several tenants have a cron job '{}'.", name.as_str()))
                .detail("cron", name.as_str())
                .hint("Name the tenant with ?tenant=... or the header X-OJS-Tenant."))
        }
    }
}

/// The schedule in the reply to a change.
fn changed(reply: Reply, name: &PathName) -> Result<CronView, ApiError> {
    match reply {
        Reply::Cron { cron, .. } => Ok(*cron),
        Reply::Refused(Refusal::UnknownCron) => Err(ApiError::not_found("cron job", name.as_str())),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Parses a registration on behalf of its sender.
fn parse(
    app: &Access,
    members: &json::Members<'_>,
    sender: envelope::Sender<'_>,
) -> Result<CronSpec, ApiError> {
    if member(members, "description").is_some_and(|raw| raw.get().len() > MAX_DESCRIPTION_BYTES) {
        let problem = format!("must have at most {MAX_DESCRIPTION_BYTES} bytes");
        return Err(Rejection::value("description", problem).into());
    }
    let name = text(members, "name")?.ok_or_else(|| Rejection::field("name", "is required"))?;
    let name = CronName::parse(&name).map_err(|e| Rejection::field("name", e.to_string()))?;
    let expression = match (text(members, "expression")?, text(members, "cron")?) {
        (Some(a), Some(b)) if a != b => {
            return Err(Rejection::field("expression", "and 'cron' differ").into());
        }
        (a, b) => a.or(b).or(text(members, "schedule")?),
    };
    let expression = expression.ok_or_else(|| {
        Rejection::field("expression", "is required").hint("Such as \"0 9 * * *\" or \"@hourly\".")
    })?;
    let timezone = text(members, "timezone")?.unwrap_or_else(|| "UTC".to_owned());
    let unusable =
        |field, cause: CronError| Rejection::field(field, format!("cannot be used: {cause}"));
    let schedule = Schedule {
        expression: Expression::parse(&expression).map_err(|e| unusable("expression", e))?,
        zone: Zone::parse(&timezone).map_err(|e| unusable("timezone", e))?,
    };
    let overlap = match text(members, "overlap_policy")? {
        Some(word) => Overlap::parse(&word).ok_or_else(|| {
            Rejection::field("overlap_policy", "must be skip, allow, cancel_previous or enqueue")
        })?,
        None => Overlap::Skip,
    };
    let enabled = match member(members, "enabled") {
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|_| Rejection::field("enabled", "must be true or false"))?,
        None => true,
    };
    let template = template(members)?;
    refuse_single_options(&template)?;
    let now = app.now();
    let job = envelope::parse(&template, &app.rules, now, JobId::v7(0, 0), sender)?;
    app.check_class(&job.class)?;
    Ok(CronSpec {
        name: name.of_tenant(&job.class.tenant),
        expression,
        timezone,
        schedule,
        overlap,
        enabled,
        class: job.class,
        body: job.body,
        proven: job.proven,
        shown: sent_members(members, &template),
    })
}

/// The job's envelope: `job_template`, or all members that do not describe the schedule; its `args` are optional.
fn template(members: &json::Members<'_>) -> Result<String, ApiError> {
    let mut job = match member(members, "job_template") {
        Some(raw) if !raw.get().starts_with('{') => {
            return Err(Rejection::field("job_template", "must be an object").into());
        }
        Some(raw) => {
            // Without a template these members would describe the job; beside one they would be lost.
            let names = members.iter().map(|(name, _)| &**name);
            json::check_members(names, SCHEDULE, "", "a schedule with 'job_template'")?;
            json::members(raw.get(), "the job")?
        }
        None => members.iter().filter(|(key, _)| !SCHEDULE.contains(&&**key)).cloned().collect(),
    };
    let no_args = RawValue::from_string("[]".to_owned()).expect("an empty array is valid JSON");
    if member(&job, "args").is_none() {
        job.insert(0, ("args".into(), &no_args));
    }
    Ok(to_json(&json::Object(job)))
}

fn refuse_single_options(template: &str) -> Result<(), ApiError> {
    let top = json::members(template, "the job")?;
    let options = member(&top, "options").map(RawValue::get);
    let nested = match options {
        Some(text) if text.starts_with('{') => json::members(text, "'options'")?,
        _ => Vec::new(),
    };
    let keys: Vec<Cow<'_, str>> = top.into_iter().chain(nested).map(|(key, _)| key).collect();
    match SINGLE_JOB_OPTIONS.iter().find(|name| keys.iter().any(|key| key == **name)) {
        Some(name) => Err(Rejection::value(*name, "cannot be set for a recurring job").into()),
        None => Ok(()),
    }
}

/// What is shown of a registration as the client sent it, including numbers that Rota could not represent.
fn sent_members(members: &json::Members<'_>, template: &str) -> Bytes {
    let whole: &RawValue = serde_json::from_str(template).expect("the template was just written");
    let job = json::members(template, "the job").unwrap_or_default();
    let of_job = SHOWN_OF_JOB.iter().map(|name| (*name, member(&job, name)));
    let description = ("description", member(members, "description"));
    let mut sent: json::Members<'_> = vec![("job_template".into(), whole)];
    let given = of_job.chain([description]).filter_map(|(name, raw)| Some((name.into(), raw?)));
    sent.extend(given);
    to_json(&json::Object(sent)).into()
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("JSON can be written to memory")
}

fn text(members: &json::Members<'_>, name: &'static str) -> Result<Option<String>, Rejection> {
    member(members, name).map(|raw| envelope::string(raw, name)).transpose()
}

#[derive(Serialize)]
struct List<'a> {
    crons: &'a [Shown<'a>],
    cron_jobs: &'a [Shown<'a>],
    items: &'a [Shown<'a>],
    count: usize,
    pagination: Value,
}

/// The answer with one schedule: its members at the top level, and under both names that the
/// specification's documents use.
#[derive(Serialize)]
struct Wrapped<'a> {
    cron: Shown<'a>,
    cron_job: Shown<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
    #[serde(flatten)]
    members: Members<'a>,
}

impl<'a> Wrapped<'a> {
    fn new(cron: &'a CronView) -> Self {
        let (members, deleted) = (Members::new(cron), None);
        Self { cron: Shown::new(cron), cron_job: Shown::new(cron), deleted, members }
    }
}

/// A schedule as an object of its own.
#[derive(Serialize)]
struct Shown<'a> {
    cron: &'a str,
    #[serde(flatten)]
    members: Members<'a>,
}

impl<'a> Shown<'a> {
    fn new(cron: &'a CronView) -> Self {
        Self { cron: &cron.expression, members: Members::new(cron) }
    }
}

/// The answer to a client that names the version of the specification, as the SDKs do: some read the
/// schedule in `cron_job`, and others at the top level, where `cron` is its expression.
#[derive(Serialize)]
struct Flat<'a> {
    #[serde(flatten)]
    cron: Shown<'a>,
    cron_job: Shown<'a>,
}

impl<'a> Flat<'a> {
    fn new(cron: &'a CronView) -> Self {
        Self { cron: Shown::new(cron), cron_job: Shown::new(cron) }
    }
}

#[derive(Serialize)]
struct Members<'a> {
    created_at: String,
    enabled: bool,
    expression: &'a str,
    id: &'a str,
    last_run_at: Option<String>,
    name: &'a str,
    next_run_at: Option<String>,
    overlap_policy: &'a str,
    queue: &'a str,
    run_count: u64,
    schedule: &'a str,
    skip_count: u64,
    status: &'a str,
    tenant_id: &'a TenantId,
    timezone: &'a str,
    #[serde(flatten)]
    sent: json::Object<'a>,
}

impl<'a> Members<'a> {
    fn new(cron: &'a CronView) -> Self {
        let sent = std::str::from_utf8(&cron.shown).unwrap_or_default();
        Self {
            created_at: cron.created.to_string(),
            enabled: cron.enabled,
            expression: &cron.expression,
            id: cron.name.local(),
            last_run_at: cron.last_run.map(|time| time.to_string()),
            name: cron.name.local(),
            next_run_at: cron.next_run.map(|time| time.to_string()),
            overlap_policy: cron.overlap.as_str(),
            queue: cron.queue.local(),
            run_count: cron.run_count,
            schedule: &cron.expression,
            skip_count: cron.skip_count,
            status: if cron.enabled { "active" } else { "disabled" },
            tenant_id: &cron.tenant,
            timezone: &cron.timezone,
            sent: json::Object(json::members(sent, "the schedule").unwrap_or_default()),
        }
    }
}
