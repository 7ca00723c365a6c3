//! Routes for cron jobs: register, list, show, enable, remove.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::StatusCode;
use rota_engine::{Command, CronSpec, CronView, Engine, Overlap, Refusal, Reply};
use rota_model::cron::{CronError, Expression, Schedule, Zone};
use rota_model::{CronName, JobId, Rejection, TenantId, envelope, json};
use serde_json::json;
use serde_json::value::RawValue;

use super::body::{Json, member};
use super::caller::caller;
use super::error::{ApiError, ApiResult};
use super::name_pages::NameWindow;
use super::params::{Params, PathName};
use super::{App, Shared, reply};
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

/// Options that only make sense for a single job, not for a schedule.
const SINGLE_JOB_OPTIONS: &[&str] =
    &["id", "scheduled_at", "delay_until", "expires_at", "pending", "metadata"];

pub(super) async fn register(State(app): Shared, body: Json) -> ApiResult {
    let members = body.members()?;
    let spec = parse(&app, &members)?;
    match app.handle.command(Command::PutCron(Box::new(spec))).await? {
        Reply::Cron { cron, created } => {
            let status = if created { StatusCode::CREATED } else { StatusCode::OK };
            Ok(reply::raw(status, answer_json(&cron, "")))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

pub(super) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let more = ["enabled", "tenant", "tenant_id"];
    let mut window = NameWindow::offsets(&params, &more, 1000, 1000)?;
    let enabled = params.flag("enabled")?;
    let tenant = tenant_of(&params)?;
    // A tenant's cursors are names without the tenant's prefix.
    if let Some(tenant) = &tenant
        && let Ok(name) = CronName::parse(&window.after)
    {
        window.after = name.of_tenant(tenant).to_string();
    }
    let has_tenant = tenant.is_some();
    let look = move |engine: &Engine, after: &str, skip, most| {
        let tenant = tenant.as_ref();
        let page = engine.crons_after(tenant, enabled, after, skip, most);
        (page, engine.cron_count(tenant, enabled))
    };
    let name = |cron: &CronView| match has_tenant {
        true => cron.name.local().to_owned(),
        false => cron.name.to_string(),
    };
    let page = window.read(&app, look, name).await?;
    let shown: Vec<String> = page.items.iter().map(cron_json).collect();
    let (count, list, pagination) = (shown.len(), shown.join(","), page.pagination);
    let body = format!(
        "{{\"crons\":[{list}],\"cron_jobs\":[{list}],\"count\":{count},\"pagination\":{pagination}}}"
    );
    Ok(reply::raw(StatusCode::OK, body.into_bytes()))
}

pub(super) async fn show(State(app): Shared, name: PathName, params: Params) -> ApiResult {
    let cron = find(&app, &name, &params).await?;
    Ok(reply::raw(StatusCode::OK, answer_json(&cron, "")))
}

pub(super) async fn remove(State(app): Shared, name: PathName, params: Params) -> ApiResult {
    let full_name = find(&app, &name, &params).await?.name;
    let cron = change(&app, &name, Command::RemoveCron(full_name)).await?;
    let more = format!(",\"deleted\":true,\"name\":{}", json!(cron.name.local()));
    Ok(reply::raw(StatusCode::OK, answer_json(&cron, &more)))
}

pub(super) async fn toggle(
    State(app): Shared,
    name: PathName,
    params: Params,
    body: Json,
) -> ApiResult {
    let members = body.members()?;
    let enabled = member(&members, "enabled").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let enabled = enabled.ok_or_else(|| Rejection::field("enabled", "must be true or false"))?;
    let full_name = find(&app, &name, &params).await?.name;
    let cron = change(&app, &name, Command::EnableCron(full_name, enabled)).await?;
    Ok(reply::raw(StatusCode::OK, answer_json(&cron, "")))
}

/// The tenant whose schedules are meant: the caller, or the one that an operator names.
fn tenant_of(params: &Params) -> Result<Option<TenantId>, ApiError> {
    match caller() {
        Some(tenant) => Ok(Some(tenant)),
        None => params.tenant(),
    }
}

/// The schedule of this name. Without a tenant: the default tenant's, or else the only one.
async fn find(app: &App, name: &PathName, params: &Params) -> Result<CronView, ApiError> {
    let (cron_name, tenant) = (name.cron()?, tenant_of(params)?);
    let look = app.handle.look(move |engine| match tenant {
        Some(tenant) => Vec::from_iter(engine.cron(&cron_name.of_tenant(&tenant))),
        None => match engine.cron(&cron_name) {
            Some(cron) => vec![cron],
            None => engine.crons_named(&cron_name, 2),
        },
    });
    let mut found = look.await?;
    match (found.pop(), found.is_empty()) {
        (Some(cron), true) => Ok(cron),
        (None, _) => Err(ApiError::not_found("cron job", name.as_str())),
        (Some(_), false) => {
            Err(ApiError::conflict(format!("Several tenants have a cron job '{}'.", name.as_str()))
                .hint("Name the tenant with ?tenant=... or the header X-OJS-Tenant."))
        }
    }
}

async fn change(app: &App, name: &PathName, command: Command<JobId>) -> Result<CronView, ApiError> {
    match app.handle.command(command).await? {
        Reply::Cron { cron, .. } => Ok(*cron),
        Reply::Refused(Refusal::UnknownCron) => Err(ApiError::not_found("cron job", name.as_str())),
        reply => Err(Answer::Reply(reply).into()),
    }
}

fn parse(app: &App, members: &json::Members<'_>) -> Result<CronSpec, ApiError> {
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
    let now = app.handle.clock().now().wall;
    let job = envelope::parse(&template, &app.rules, now, JobId::v7(0, 0), caller().as_ref())?;
    Ok(CronSpec {
        name: name.of_tenant(&job.class.tenant),
        expression,
        timezone,
        schedule,
        overlap,
        enabled,
        class: job.class,
        body: job.body,
        shown: shown_members(members, &template),
    })
}

/// The job's envelope: `job_template`, or all members that do not describe the schedule.
fn template(members: &json::Members<'_>) -> Result<String, ApiError> {
    if let Some(raw) = member(members, "job_template") {
        if !raw.get().starts_with('{') {
            return Err(Rejection::field("job_template", "must be an object").into());
        }
        return Ok(with_args(raw.get()));
    }
    let job_members = members.iter().filter(|(key, _)| !SCHEDULE.contains(&&**key));
    let parts: Vec<String> =
        job_members.map(|(key, raw)| format!("{}:{}", json!(key), raw.get())).collect();
    Ok(with_args(&format!("{{{}}}", parts.join(","))))
}

/// Adds empty `args` if the template has none.
fn with_args(template: &str) -> String {
    let has_args =
        json::members(template, "the job").is_ok_and(|m| m.iter().any(|(k, _)| k == "args"));
    let rest = template.trim_start().trim_start_matches('{');
    match (has_args, rest.trim_start().starts_with('}')) {
        (true, _) => template.to_owned(),
        (false, true) => "{\"args\":[]}".to_owned(),
        (false, false) => format!("{{\"args\":[],{rest}"),
    }
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

fn shown_members(members: &json::Members<'_>, template: &str) -> bytes::Bytes {
    let mut out = format!("\"job_template\":{template}");
    let inner = json::members(template, "the job").unwrap_or_default();
    for key in ["type", "args", "options", "meta"] {
        if let Some(raw) = member(&inner, key) {
            out.push_str(&format!(",\"{key}\":{}", raw.get()));
        }
    }
    if let Some(raw) = member(members, "description") {
        out.push_str(&format!(",\"description\":{}", raw.get()));
    }
    out.into()
}

fn text(members: &json::Members<'_>, name: &'static str) -> Result<Option<String>, Rejection> {
    member(members, name).map(|raw| envelope::string(raw, name)).transpose()
}

/// The answer with one schedule, under both names that the specification's documents use. `more` is
/// appended.
fn answer_json(cron: &CronView, more: &str) -> Vec<u8> {
    let shown = cron_json(cron);
    format!("{{\"cron\":{shown},\"cron_job\":{shown}{more}}}").into_bytes()
}

/// A schedule's JSON. What the client sent is returned byte for byte, so large numbers keep their digits.
fn cron_json(cron: &CronView) -> String {
    let members = json!({
        "name": cron.name.local(),
        "tenant_id": cron.tenant,
        "cron": cron.expression,
        "expression": cron.expression,
        "timezone": cron.timezone,
        "overlap_policy": cron.overlap.as_str(),
        "enabled": cron.enabled,
        "status": if cron.enabled { "active" } else { "disabled" },
        "last_run_at": cron.last_run.map(|time| time.to_string()),
        "next_run_at": cron.next_run.map(|time| time.to_string()),
        "run_count": cron.run_count,
        "skip_count": cron.skip_count,
        "created_at": cron.created.to_string(),
    });
    let members = members.to_string();
    format!("{},{}}}", members.trim_end_matches('}'), String::from_utf8_lossy(&cron.shown))
}
