//! Every command can act as one tenant.

use std::process::Stdio;

use crate::fake::scripted;
use crate::run::{Ran, rota_at};
use crate::support::{Server, command};

const NO_QUEUES: &str = r#"{"queues": [], "pagination": {"has_more": false}}"#;

#[test]
fn the_flag_and_the_variable_name_the_tenant() {
    let server = scripted(&[(200, NO_QUEUES)]);
    assert_eq!(rota_at(&server.url, &["queues", "--tenant", "acme"]).code, 0);
    assert_eq!(rota_at(&server.url, &["queues"]).code, 0);
    let ran = command(&["queues", "list"])
        .env("ROTA_URL", &server.url)
        .env("ROTA_TENANT", "globex")
        .stdin(Stdio::null())
        .output();
    assert_eq!(Ran::from(ran.unwrap()).code, 0);
    let asked = "GET /ojs/v1/queues?limit=200";
    let expected = [format!("{asked} as acme"), asked.to_owned(), format!("{asked} as globex")];
    assert_eq!(server.asked(), expected);
}

#[test]
fn what_cannot_be_a_tenant_is_a_mistake_of_the_caller() {
    let server = scripted(&[(200, NO_QUEUES)]);
    let message = rota_at(&server.url, &["queues", "--tenant", ""]).failed(2);
    assert!(message.contains("'' cannot be used as a tenant: it is empty"), "{message}");
    rota_at(&server.url, &["queues", "--tenant", "grüße"]).failed(2);
    rota_at(&server.url, &["queues", "--tenant", "a\nb"]).failed(2);
    assert!(server.asked().is_empty());
}

#[test]
fn a_server_is_not_confused_by_the_variable() {
    let ran = command(&["config"]).env("ROTA_TENANT", "acme").output().unwrap();
    assert_eq!(Ran::from(ran).code, 0);
}

#[test]
fn a_tenant_too_few_or_too_many_is_told_in_flags() {
    let server = Server::start_in_env(&[], &[("ROTA_TENANCY_ISOLATION", "namespace")]);
    let url = server.url("");
    let message = rota_at(&url, &["queues"]).failed(5);
    assert!(message.contains("--tenant ID or ROTA_TENANT"), "{message}");
    let set = ["tenants", "limits", "acme", "--max-concurrency", "3", "--tenant", "acme"];
    let message = rota_at(&url, &set).failed(5);
    assert!(message.contains("Leave --tenant and ROTA_TENANT out"), "{message}");
}
