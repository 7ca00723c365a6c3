//! The one place that decides which requests go into the audit log.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{Method, Uri};
use rota_model::audit::AuditActor;

use super::acts::{self, Matched};
use super::error::ApiError;
use super::fast_path::FastRoute;
use super::service::request_id;
use super::{App, Caller};
use crate::audit::{Act, Refused, Requested};

/// A request, as far as the audit log needs it after it was answered.
pub(super) struct Audited {
    method: Method,
    target: Target,
    address: IpAddr,
    caller: Option<Caller>,
    /// Why the credentials were not accepted.
    reason: Option<String>,
    act: Option<Arc<Act>>,
}

/// What a request is for.
enum Target {
    /// The ordinary work of producers and workers, which is never an act.
    Ordinary(FastRoute),
    Other(Uri),
}

impl Audited {
    pub fn new(method: &Method, uri: &Uri, address: IpAddr) -> Self {
        Self::with(method.clone(), Target::Other(uri.clone()), address)
    }

    /// A request of the fast path, of which nothing has to be copied.
    pub fn ordinary(route: FastRoute, address: IpAddr) -> Self {
        Self::with(Method::POST, Target::Ordinary(route), address)
    }

    fn with(method: Method, target: Target, address: IpAddr) -> Self {
        Self { method, target, address, caller: None, reason: None, act: None }
    }

    /// The caller is known. Returns the act that the request is, if it is one.
    pub fn begin(&mut self, caller: &Caller, app: &App) -> Option<Arc<Act>> {
        if let Some(identity) = caller.identity() {
            let actor = || caller.actor(Some(self.address));
            app.audit.signed_in(identity, actor, app.now());
        }
        let is_read = matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS);
        if let Target::Other(uri) = &self.target
            && !is_read
        {
            let Matched { route, name } = acts::matched(uri.path());
            self.act = acts::event_of(&self.method, route).map(|event| {
                let requested = self.requested(route);
                let actor = caller.actor(Some(self.address));
                let is_bounded = !caller.has_server_permission();
                app.audit.begin(event, actor, is_bounded, requested, name, request_id())
            });
        }
        self.caller = Some(caller.clone());
        self.act.clone()
    }

    /// The caller is not known.
    pub fn denied(&mut self, error: &ApiError) {
        self.reason = Some(error.message().to_owned());
    }

    /// The request was answered with this status.
    pub fn end(self, status: u16, app: &App) {
        let is_refusal = matches!(status, 401 | 403);
        if !is_refusal && self.act.is_none() {
            return;
        }
        match &self.act {
            Some(act) if !is_refusal => app.audit.end(act, status, app.now()),
            _ => {
                let route = match &self.target {
                    Target::Ordinary(route) => route.path(),
                    Target::Other(uri) => acts::matched(uri.path()).route,
                };
                let requested = self.requested(route);
                let actor = match &self.caller {
                    Some(caller) => caller.actor(Some(self.address)),
                    None => AuditActor {
                        principal: "unknown".into(),
                        method: "none".into(),
                        tenant: None,
                        address: Some(self.address),
                    },
                };
                let request_id = request_id();
                let reason = self.reason;
                app.audit
                    .refused(Refused { actor, requested, request_id, status, reason }, app.now());
            }
        }
    }

    fn requested(&self, route: &'static str) -> Requested {
        Requested { method: method_name(&self.method), route }
    }
}

/// Methods that the API does not have are not taken over: strangers choose their length.
fn method_name(method: &Method) -> Cow<'static, str> {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other").into()
}
