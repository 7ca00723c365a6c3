//! No server, or one that is no job server.

use crate::fake::{answering, nobody};
use crate::looks_like;
use crate::run::rota_at;
use crate::support::Server;

/// Every command that talks to a server.
const COMMANDS: &[&[&str]] = &[
    &["enqueue", "a.b"],
    &["jobs"],
    &["jobs", "list"],
    &["jobs", "list", "--json"],
    &["jobs", "show", "x"],
    &["jobs", "cancel", "x"],
    &["jobs", "retry", "x"],
    &["jobs", "activate", "x"],
    &["jobs", "delete", "--queue", "q", "--yes"],
    &["queues"],
    &["queues", "stats", "q"],
    &["queues", "pause", "q"],
    &["queues", "resume", "q"],
    &["workers"],
    &["workers", "show", "w"],
    &["workers", "quiet", "w"],
    &["workers", "stop", "w"],
    &["workers", "resume", "w"],
    &["workers", "remove", "w"],
    &["cron"],
    &["cron", "add", "n", "@hourly", "a.b"],
    &["cron", "show", "n"],
    &["cron", "remove", "n"],
    &["cron", "enable", "n"],
    &["cron", "disable", "n"],
    &["dead-letter"],
    &["dead-letter", "show", "x"],
    &["dead-letter", "stats"],
    &["dead-letter", "retry", "x"],
    &["dead-letter", "delete", "x"],
    &["dead-letter", "purge", "--yes"],
    &["health"],
    &["explain", "x"],
    &["fairness"],
    &["fairness", "--queues"],
    &["tenants"],
    &["tenants", "list", "--sort", "depth"],
    &["tenants", "top"],
    &["tenants", "show", "t"],
    &["tenants", "set", "t", "--weight", "5"],
    &["tenants", "limits", "t"],
    &["tenants", "limits", "t", "--max-scheduled", "none"],
    &["tenants", "stats", "t"],
    &["tenants", "changes", "t"],
    &["tenants", "usage", "t"],
    &["tenants", "release", "t"],
    &["tenants", "delete", "t", "--yes"],
    &["tenants", "delete", "t", "--purge", "--yes"],
    &["pools"],
    &["pools", "show", "p"],
    &["pools", "set", "p", "--queue", "q"],
    &["pools", "delete", "p"],
    &["limits"],
    &["limits", "show", "k"],
    &["limits", "set", "k", "--rate", "1/s"],
    &["limits", "pause", "k", "--for", "1m"],
    &["limits", "resume", "k"],
    &["limits", "clear", "k"],
    &["queues", "config", "q"],
    &["queues", "config", "q", "--max-depth", "5"],
    &["queues", "limit", "q"],
    &["queues", "limit", "q", "--clear"],
    &["work", "--pool", "p", "--", "true"],
];

/// A web server with a page for every path.
fn web_server() -> String {
    answering("200 OK\r\nContent-Type: text/html", "<html>Welcome</html>")
}

#[test]
fn every_command_reports_an_unreachable_server() {
    let url = nobody();
    for arguments in COMMANDS {
        let message = rota_at(&url, arguments).failed(3);
        assert!(message.contains("no server answers at"), "{arguments:?}: {message}");
        assert!(message.contains("rota serve"), "{arguments:?}: {message}");
    }
}

#[test]
fn every_command_knows_a_web_server_from_a_job_server() {
    let url = web_server();
    for arguments in COMMANDS {
        let message = rota_at(&url, arguments).failed(3);
        assert!(message.contains("does not answer as an OJS server"), "{arguments:?}: {message}");
    }
}

#[test]
fn the_messages_say_what_to_do() {
    looks_like!("nobody", rota_at(&nobody(), &["jobs"]).failed(3));
    looks_like!("web_server", rota_at(&web_server(), &["jobs"]).failed(3));
}

#[test]
fn with_json_the_error_is_json_too() {
    let error = rota_at(&nobody(), &["jobs", "--json"]).json_error(3);
    assert!(error["message"].as_str().unwrap().contains("connection refused"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("ROTA_URL"), "{error}");
}

#[test]
fn a_bad_address_is_a_mistake_of_the_caller() {
    let message = |url: &str| rota_at(url, &["jobs"]).failed(2);
    assert!(message("ftp://127.0.0.1:8080").contains("neither http nor https"));
    assert!(message("127.0.0.1:8080").contains("must begin with http://"));
    assert!(message("http://127.0.0.1:8080/?a=b").contains("cannot be used"));
}

#[test]
fn a_wrong_path_is_a_wrong_address() {
    let server = Server::start();
    let message = rota_at(&server.url("/wrong"), &["jobs"]).failed(3);
    assert!(message.contains("There is no path '/wrong/ojs/v1/admin/jobs'"), "{message}");
}

#[test]
fn an_error_of_the_server_is_exit_code_1() {
    let url = answering(
        "503 Service Unavailable",
        r#"{"error": {"code": "backend_error", "message": "The disk is full.", "hint": "Wait."}}"#,
    );
    assert_eq!(rota_at(&url, &["enqueue", "a.b"]).failed(1), "rota: The disk is full.\nWait.\n");
    assert_eq!(rota_at(&url, &["jobs", "--json"]).json_error(1)["status"], 503);
}
