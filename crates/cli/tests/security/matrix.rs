//! Every endpoint for every kind of caller: the outcome follows from the table of routes.

use rota_identity::{KeyText, Permission, Permissions, RANDOM_BYTES};
use rota_server::http::routes;
use serde_json::{Value, json};

use crate::secured::{Secured, id_of, text_of};
use crate::support::{JSON, in_one_minute};

/// A query parameter that no route has. Permissions are checked before parameters, so a caller that may use
/// the route is told about the parameter, and nothing happens: no stream opens, nothing is deleted.
const UNKNOWN_PARAMETER: &str = "?no_such_parameter=1";

struct Caller {
    name: String,
    /// Without one, the request has no credentials.
    key: Option<String>,
    /// `None` if the credentials are not accepted.
    permissions: Option<Permissions>,
    headers: Vec<(&'static str, &'static str)>,
}

impl Caller {
    fn new(name: impl Into<String>, key: String, permissions: Option<Permissions>) -> Self {
        Self { name: name.into(), key: Some(key), permissions, headers: Vec::new() }
    }

    fn expected(&self, needs: Option<Permission>) -> u16 {
        match (needs, self.permissions) {
            (None, _) => 400,
            (Some(_), None) => 401,
            (Some(permission), Some(permissions)) if permissions.allow(permission) => 400,
            (Some(_), Some(_)) => 403,
        }
    }
}

fn one(permission: Permission) -> Permissions {
    [permission].into_iter().collect()
}

/// All kinds of callers.
fn callers(secured: &Secured) -> Vec<Caller> {
    let create = |about: Value| secured.create(about);
    let of_acme = |more: Value| {
        let mut about = json!({"name": "matrix", "tenant_id": "acme"});
        let more = more.as_object().unwrap().clone();
        about.as_object_mut().unwrap().extend(more);
        about
    };
    let wrong = KeyText::new(&[9; RANDOM_BYTES]).reveal().to_owned();
    let revoked = create(of_acme(json!({"role": "admin"})));
    let path = format!("/ojs/v1/admin/keys/{}/revoke", id_of(&revoked));
    secured.send(secured.operator(), "POST", &path, None).expect(200);
    let expired = text_of(&create(of_acme(json!({"role": "admin", "expires_at": "+PT0.2S"}))));
    in_one_minute(|| while secured.get(&expired, "/ojs/v1/queues").status != 401 {});
    let all = Permissions::of_tenant();
    let mut callers = vec![
        Caller { name: "nobody".into(), key: None, permissions: None, headers: Vec::new() },
        Caller::new("a wrong key", wrong, None),
        Caller::new("no key at all", "not-a-key".into(), None),
        Caller::new("a revoked key", text_of(&revoked), None),
        Caller::new("an expired key", expired, None),
        Caller::new("an operator", secured.operator().into(), Some(Permissions::of_operator())),
        Caller::new(
            "a tenant",
            secured.key("acme", &["enqueue", "dequeue", "cancel", "inspect", "admin"]),
            Some(all),
        ),
        Caller::new(
            "another tenant",
            text_of(&create(json!({"name": "m", "tenant_id": "beta", "role": "admin"}))),
            Some(all),
        ),
        Caller::new(
            "a key for one queue",
            text_of(&create(of_acme(json!({"role": "admin", "queues": ["mail"]})))),
            Some(all),
        ),
    ];
    // An operator who acts for a tenant has that tenant's permissions.
    callers.push(Caller {
        headers: vec![("X-OJS-Tenant", "acme")],
        ..Caller::new("an operator for a tenant", secured.operator().into(), Some(all))
    });
    for permission in Permission::ALL.into_iter().filter(|one| *one != Permission::Server) {
        let key = secured.key("acme", &[permission.name()]);
        callers.push(Caller::new(permission.name(), key, Some(one(permission))));
    }
    callers
}

#[test]
fn every_endpoint_asks_every_caller_for_its_permission() {
    let secured = Secured::start();
    let callers = callers(&secured);
    let mut count = 0;
    for (method, path, needs) in routes() {
        let path = path.replace("{action}", "retry").replace("{type}", "email.send");
        let path = path.replace(['{', '}'], "");
        for caller in &callers {
            let authorization = caller.key.as_ref().map(|key| format!("Bearer {key}"));
            let mut headers = caller.headers.clone();
            headers.extend(authorization.as_deref().map(|value| ("Authorization", value)));
            let url = format!("{path}{UNKNOWN_PARAMETER}");
            let reply = secured.server.send(method, &url, &headers, None);
            let expected = caller.expected(needs);
            let about = format!("{method} {path} by {}: {}", caller.name, reply.text);
            assert_eq!(reply.status, expected, "{about}");
            let challenge = reply.header("www-authenticate").is_some();
            assert_eq!(challenge, expected == 401, "{about}");
            count += 1;
        }
    }
    assert!(count > 1_500, "{count}");
}

/// These requests do not pass the router if they have no query string.
#[test]
fn the_fast_path_asks_for_the_same() {
    let secured = Secured::start();
    let paths =
        ["jobs", "jobs/batch", "workers/fetch", "workers/ack", "workers/nack", "workers/heartbeat"];
    for caller in callers(&secured) {
        for path in paths.map(|path| format!("/ojs/v1/{path}")) {
            let (.., needs) =
                routes().find(|(method, route, _)| *method == "POST" && *route == path).unwrap();
            let authorization = caller.key.as_ref().map(|key| format!("Bearer {key}"));
            let mut headers = vec![JSON];
            headers.extend(caller.headers.iter().copied());
            headers.extend(authorization.as_deref().map(|value| ("Authorization", value)));
            let reply =
                secured.server.send("POST", &path, &headers, Some(b"{\"no_such_member\": 1}"));
            let about = format!("POST {path} by {}: {}", caller.name, reply.text);
            match caller.expected(needs) {
                400 => assert!(matches!(reply.status, 400 | 422), "{about}"),
                status => assert_eq!(reply.status, status, "{about}"),
            }
        }
    }
}
