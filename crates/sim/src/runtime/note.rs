//! What the audit log is told of a request.

use rota_engine::Command;
use rota_model::TenantId;
use rota_model::audit::{AuditActor, AuditDetail, AuditNote, AuditOutcome};

use crate::request::Ticket;

/// The note of a request, by one of three tenants or an operator.
pub(super) fn note(ticket: Ticket, outcome: AuditOutcome) -> AuditNote {
    let tenant = (!ticket.0.is_multiple_of(4)).then(|| format!("tenant-{}", ticket.0 % 4));
    AuditNote {
        event: "sim.act".into(),
        outcome,
        actor: AuditActor {
            principal: tenant.clone().unwrap_or_else(|| "operator".into()).into(),
            method: "none".into(),
            tenant: tenant.map(|id| TenantId::parse(&id).expect("the id is valid")),
            address: None,
        },
        request: Some(format!("req-{}", ticket.0)),
        detail: AuditDetail::new(),
    }
}

/// Whether a command is an act of somebody, and neither ordinary work nor housekeeping.
pub(super) fn is_act(command: &Command) -> bool {
    !matches!(
        command,
        Command::Enqueue(_)
            | Command::Fetch(_)
            | Command::StopWaiting(_)
            | Command::EndWaiting
            | Command::Undelivered(_)
            | Command::Settle(_)
            | Command::Beat(_)
            | Command::Register(_)
            | Command::Prune(_)
            | Command::Replay(_)
            | Command::Forget(_)
            | Command::TouchKeys(_)
            | Command::Audit(_)
            | Command::TrimAudit(_)
            | Command::Tick(_)
            | Command::Resume(_)
    )
}
