//! What goes into the audit log: acts, refusals and sign-ins, each by its own rule.
//!
//! An act that changed something has an entry of its own, which is committed with the change. All else
//! is counted for a minute (`audit.interval`) and then written together, so nobody can fill the disk by
//! being refused.

mod act;
mod act_budget;
mod sign_ins;
mod tallies;
mod writer;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rota_identity::Identity;
use rota_model::Millis;
use rota_model::audit::{AuditActor, AuditDetail, AuditNote, AuditOutcome};
use tokio::sync::Notify;

pub use act::Act;
pub(crate) use writer::{run, write_rest};

use act_budget::ActBudget;
use sign_ins::SignIns;
use tallies::Tallies;

/// What was requested.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Requested {
    pub method: Cow<'static, str>,
    /// The pattern of the route, such as `/ojs/v1/queues/{name}/pause`.
    pub route: &'static str,
}

/// A request that was refused.
pub(crate) struct Refused {
    pub actor: AuditActor,
    pub requested: Requested,
    pub request_id: String,
    pub status: u16,
    /// Why its credentials were not accepted.
    pub reason: Option<String>,
}

/// Collects what is to be written.
pub(crate) struct Audit {
    state: Mutex<State>,
    sign_ins: Mutex<SignIns>,
    /// Tells the writer that there are entries that should not wait for the end of the interval.
    wake: Notify,
}

struct State {
    tallies: Tallies,
    budget: ActBudget,
    /// Entries to be written at once, at most [`MAX_NOTES`].
    notes: Vec<AuditNote>,
}

/// Beyond it, such entries are counted together with others.
const MAX_NOTES: usize = 1_000;

impl Audit {
    /// `acts_per_tenant` is how many entries of their own one tenant's acts get in an interval.
    pub fn new(acts_per_tenant: usize) -> Self {
        let state = State {
            tallies: Tallies::default(),
            budget: ActBudget::new(acts_per_tenant),
            notes: Vec::new(),
        };
        Self { state: Mutex::new(state), sign_ins: Mutex::default(), wake: Notify::new() }
    }

    /// Begins an act of `actor`, who gets a bounded number of entries if `is_bounded`. `name` is the thing
    /// that its path names.
    pub fn begin(
        &self,
        event: &'static str,
        actor: AuditActor,
        is_bounded: bool,
        requested: Requested,
        name: Option<String>,
        request_id: String,
    ) -> Arc<Act> {
        let is_own_entry = self.state().budget.take(actor.tenant.as_ref().filter(|_| is_bounded));
        let mut detail = described(&requested);
        if let Some(name) = name {
            detail.insert("resource".into(), name.into());
        }
        let outcome = AuditOutcome::Success;
        let request = Some(request_id);
        let note = AuditNote { event: event.into(), outcome, actor, request, detail };
        Arc::new(Act::new(note, requested, is_own_entry))
    }

    /// Ends an act with the status of its answer.
    pub fn end(&self, act: &Act, status: u16, now: Millis) {
        let progress = act.progress();
        if status >= 400 {
            let note = act.note(AuditOutcome::Failure);
            if progress.is_recorded {
                // It has an entry that says otherwise, so this one is not counted with others.
                self.write_soon(note, act.requested(), status, now);
            } else {
                self.state().tallies.count(note, act.requested(), status, now);
            }
        } else if !progress.is_recorded {
            // It changed nothing, or its tenant has had its share of entries.
            let note = act.note(AuditOutcome::Success);
            self.state().tallies.count(note, act.requested(), status, now);
        } else if progress.commands > 1 {
            let mut note = act.note(AuditOutcome::Success);
            note.detail.insert("jobs".into(), progress.jobs.into());
            note.detail.insert("completes".into(), true.into());
            self.write_soon(note, act.requested(), status, now);
        }
    }

    /// Counts a request that was refused.
    pub fn refused(&self, refused: Refused, now: Millis) {
        let Refused { actor, requested, request_id, status, reason } = refused;
        let event = if status == 401 { "auth.login_failure" } else { "auth.permission_denied" };
        let mut detail = described(&requested);
        if let Some(reason) = reason {
            detail.insert("reason".into(), reason.into());
        }
        let (event, outcome, request) = (event.into(), AuditOutcome::Failure, Some(request_id));
        let note = AuditNote { event, outcome, actor, request, detail };
        self.state().tallies.count(note, &requested, status, now);
    }

    /// Counts a TLS handshake that has failed.
    pub fn handshake_failed(&self, address: IpAddr, now: Millis) {
        let requested = Requested { method: "TLS".into(), route: "handshake" };
        let actor = AuditActor {
            principal: "unknown".into(),
            method: "none".into(),
            tenant: None,
            address: Some(address.to_canonical()),
        };
        let mut detail = described(&requested);
        detail.insert("reason".into(), "The TLS handshake failed.".into());
        let (event, outcome) = ("auth.login_failure".into(), AuditOutcome::Failure);
        let note = AuditNote { event, outcome, actor, request: None, detail };
        self.state().tallies.count(note, &requested, None, now);
    }

    /// Notes that a request came with credentials that were accepted.
    pub fn signed_in(&self, identity: &Identity, actor: impl FnOnce() -> AuditActor, now: Millis) {
        let mut sign_ins = self.sign_ins.lock().unwrap_or_else(PoisonError::into_inner);
        let note =
            sign_ins.note((identity.method, &*identity.subject, &identity.tenant), actor, now);
        drop(sign_ins);
        if let Some(note) = note {
            self.state().notes.push(note);
            self.wake.notify_one();
        }
    }

    fn write_soon(&self, mut note: AuditNote, requested: &Requested, status: u16, now: Millis) {
        let mut state = self.state();
        if state.notes.len() < MAX_NOTES {
            note.detail.insert("status".into(), status.into());
            state.notes.push(note);
            self.wake.notify_one();
        } else {
            state.tallies.count(note, requested, status, now);
        }
    }

    /// Entries that should not wait.
    fn take_notes(&self) -> Vec<AuditNote> {
        std::mem::take(&mut self.state().notes)
    }

    /// What was counted in the interval that ends.
    fn take_counted(&self) -> Vec<AuditNote> {
        let mut state = self.state();
        state.budget.renew();
        state.tallies.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn described(requested: &Requested) -> AuditDetail {
    AuditDetail::from([
        ("method".into(), requested.method.as_ref().into()),
        ("route".into(), requested.route.into()),
    ])
}
