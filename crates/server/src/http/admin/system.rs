//! Routes for maintenance mode and the effective settings.

use rota_engine::{Command, Maintenance, Reply};
use rota_model::{Rejection, duration};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::body::Json;
use crate::http::error::ApiResult;
use crate::http::{Access, reply};
use crate::runtime::Answer;

pub(in crate::http) async fn maintenance(app: Access) -> ApiResult {
    let maintenance = app.look(|view| view.maintenance().clone()).await?;
    Ok(reply::ok(&show(&maintenance)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MaintenanceBody {
    enabled: bool,
    reason: Option<String>,
    #[serde(alias = "duration")]
    estimated_duration: Option<String>,
}

pub(in crate::http) async fn set_maintenance(app: Access, body: Json) -> ApiResult {
    let operator = app.operator("Changing the maintenance mode")?;
    let body: MaintenanceBody = body.parse()?;
    let expected_ms = match body.estimated_duration.as_deref() {
        Some(text) => {
            let ms = duration::parse_any(text)
                .map_err(|e| Rejection::value("estimated_duration", format!("is '{text}': {e}")))?;
            Some(u64::try_from(ms).unwrap_or(0))
        }
        None => None,
    };
    let command = Command::Maintain { enabled: body.enabled, reason: body.reason, expected_ms };
    match operator.command(command).await? {
        Reply::Maintenance(maintenance) => Ok(reply::ok(&show(&maintenance))),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// For operators only: the settings include the configuration of each tenant.
pub(in crate::http) async fn config(app: Access) -> ApiResult {
    app.operator("Reading the settings")?;
    let rows = app.settings.table();
    let values: serde_json::Map<String, Value> =
        rows.iter().map(|row| (row.key.to_owned(), json!(row.value))).collect();
    Ok(reply::ok(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        // The setting may be relative to a directory that only the server knows.
        "data_directory": std::fs::canonicalize(&app.settings.data).ok(),
        "config": values,
        "settings": rows,
    })))
}

fn show(maintenance: &Maintenance) -> Value {
    json!({
        "maintenance": maintenance.enabled(),
        "enabled": maintenance.enabled(),
        "reason": maintenance.reason,
        "enabled_at": maintenance.since.map(|time| time.to_string()),
        "started_at": maintenance.since.map(|time| time.to_string()),
        "estimated_end": maintenance.expected_end.map(|time| time.to_string()),
        "ends_at": maintenance.expected_end.map(|time| time.to_string()),
    })
}
