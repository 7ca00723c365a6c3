//! Flags that many commands share may stand before the command.

use serde_json::json;

use crate::run::rota_at;
use crate::support::Server;

#[test]
fn flags_before_the_command_count() {
    let server = Server::start();
    let url = server.url("");
    let job = json!({"type": "a.b", "args": [], "queue": "q"});
    let as_acme = [crate::support::JSON, ("X-OJS-Tenant", "acme")];
    server.send("POST", "/ojs/v1/jobs", &as_acme, Some(job.to_string().as_bytes())).expect(201);
    let nowhere = "http://127.0.0.1:9";
    let list = rota_at(nowhere, &["--url", &url, "--json", "queues"]).json();
    assert_eq!(list["queues"][0]["name"], "q");
    let total = |tenant: &str| {
        let ran = rota_at(&url, &["--json", "--tenant", tenant, "jobs", "list", "--queue", "q"]);
        ran.json()["jobs"].as_array().unwrap().len()
    };
    assert_eq!((total("acme"), total("globex")), (1, 0));
    let url = format!("--url={url}");
    assert!(rota_at(nowhere, &[&url, "health"]).printed().starts_with("status   ok\n"));
    let dir = server.dir().display().to_string();
    let doctor = rota_at(nowhere, &["--data", &dir, "--json", &url, "doctor", "--quick"]).json();
    assert_eq!(doctor["problems"], 0, "{doctor}");
}

#[test]
fn a_flag_that_a_command_does_not_take_is_rejected() {
    let message = rota_at("", &["--tenant", "acme", "serve"]).failed(2);
    assert!(message.starts_with("rota: unexpected argument '--tenant' found"), "{message}");
    rota_at("", &["--json", "completions", "bash"]).json_error(2);
    let message = rota_at("", &["--url", "http://127.0.0.1:9"]).failed(2);
    assert!(message.contains("requires a subcommand"), "{message}");
}
