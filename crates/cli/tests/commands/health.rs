use crate::fake::answering;
use crate::looks_like;
use crate::run::{rota, rota_at};
use crate::support::Server;

#[test]
fn a_server_that_is_well_is_summed_up() {
    let server = Server::start();
    let text = rota(&server, &["health"]).printed();
    let text = text.lines().filter(|line| !line.starts_with("uptime")).collect::<Vec<_>>();
    looks_like!("well", text.join("\n"));
}

#[test]
fn json_is_the_answer_of_the_server() {
    let server = Server::start();
    let health = rota(&server, &["health", "--json"]).json();
    assert_eq!(health["status"], "ok");
    assert_eq!(health["backend"]["type"], "sqlite");
    assert_eq!(health["server_version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_address_comes_from_the_flag_before_the_variable() {
    let server = Server::start();
    let nobody = "http://127.0.0.1:9";
    rota_at(nobody, &["health", "--url", &server.url("")]).printed();
    rota_at(&server.url(""), &["health", "--url", nobody]).failed(3);
}

#[test]
fn the_address_of_the_endpoints_is_understood_too() {
    let server = Server::start();
    rota_at(&server.url("/ojs/v1/"), &["health"]).printed();
}

#[test]
fn a_server_that_is_not_well_is_shown_and_is_a_failure() {
    let url = answering(
        "503 Service Unavailable",
        r#"{"status": "degraded", "backend": {"type": "sqlite", "status": "full"}}"#,
    );
    let ran = rota_at(&url, &["health"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("storage  sqlite, full"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("rota: the server is degraded"), "{}", ran.stderr);
    let ran = rota_at(&url, &["health", "--json"]);
    assert!(ran.stdout.contains("\"degraded\""), "{}", ran.stdout);
    ran.json_error(1);
}
