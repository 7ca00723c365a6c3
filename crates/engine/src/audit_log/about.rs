//! What a command and its reply say for the audit log.

use std::borrow::Cow;

use rota_model::audit::AuditDetail;
use serde_json::Value;

use crate::{Command, Reply};

/// The most characters of a reason. Clients choose its length.
const MAX_REASON: usize = 200;

/// Adds the thing that a command names, unless the route has named one, and the reason.
pub(super) fn describe(command: &Command, detail: &mut AuditDetail) {
    if let Some(name) = name_of(command) {
        detail.entry("resource".into()).or_insert_with(|| Value::from(&*name));
    }
    let reason = match command {
        Command::PutTenant(_, change) => change.reason.as_deref(),
        Command::DeleteTenant(_, reason) | Command::ReleaseTenant(_, reason) => reason.as_deref(),
        Command::PutLimit(put) => put.reason.as_deref(),
        Command::Maintain { reason, .. } => reason.as_deref(),
        _ => None,
    };
    if let Some(reason) = reason {
        let reason: String = reason.chars().take(MAX_REASON).collect();
        detail.insert("reason".into(), reason.into());
    }
    if let Command::Maintain { enabled, .. } = command {
        detail.insert("enabled".into(), (*enabled).into());
    }
}

fn name_of(command: &Command) -> Option<Cow<'_, str>> {
    Some(match command {
        Command::CreateQueue(queue, _)
        | Command::PauseQueue(queue)
        | Command::ResumeQueue(queue)
        | Command::ConfigureQueue(queue, _)
        | Command::DeleteQueue(queue)
        | Command::PauseShard(_, queue)
        | Command::ResumeShard(_, queue) => queue.local().into(),
        Command::PutTenant(tenant, _)
        | Command::DeleteTenant(tenant, _)
        | Command::ReleaseTenant(tenant, _) => (&**tenant).into(),
        Command::PutPool(pool, _) | Command::RemovePool(pool) => pool.local().into(),
        Command::PutLimit(put) => put.key.local().to_string().into(),
        Command::ClearLimit(key, _) => key.local().to_string().into(),
        Command::PutCron(spec) => spec.name.local().into(),
        Command::RemoveCron(name)
        | Command::EnableCron(name, _)
        | Command::TriggerCron { name, .. } => name.local().into(),
        Command::Deregister(worker, _)
        | Command::DropStaleWorker(worker)
        | Command::Direct(worker, _) => worker.local().into(),
        Command::CreateKey(key) => key.id.as_str().into(),
        Command::RotateKey(rotate) => rotate.old.as_str().into(),
        Command::RevokeKey(id) | Command::RemoveKey(id) => id.as_str().into(),
        _ => return None,
    })
}

/// Whether anything was done. Doing what had been done already counts.
pub(super) fn has_changed(reply: &Reply) -> bool {
    match reply {
        Reply::Refused(_) => false,
        Reply::Changed(all) => all.iter().any(Result::is_ok),
        _ => true,
    }
}

pub(super) fn jobs_changed(reply: &Reply) -> u64 {
    match reply {
        Reply::Changed(all) => all.iter().filter(|one| one.is_ok()).count() as u64,
        _ => 0,
    }
}
