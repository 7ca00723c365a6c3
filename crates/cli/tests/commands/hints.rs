//! At the prompt, advice names commands instead of HTTP requests.

use serde_json::json;

use crate::run::rota;
use crate::support::Server;

#[test]
fn advice_names_commands() {
    let server = Server::start();
    let said = |arguments: &[&str]| {
        let ran = rota(&server, arguments);
        let text = ran.stdout + &ran.stderr;
        assert!(!text.contains("/ojs/v1"), "{text}");
        text
    };
    assert!(said(&["cron", "show", "x"]).contains("`rota cron` lists all schedules"));
    assert!(said(&["pools", "show", "x"]).contains("`rota pools` lists all pools"));
    assert!(said(&["limits", "show", "x"]).contains("`rota limits` lists all"));
    let id = rota(&server, &["enqueue", "a", "--pending"]).printed();
    assert!(said(&["explain", id.trim()]).contains(&format!("`rota jobs activate {}`", id.trim())));
    let id = rota(&server, &["enqueue", "a", "--limit-key", "stripe", "--limit-concurrency", "0"]);
    let id = id.printed();
    let why = said(&["explain", id.trim()]);
    assert!(
        why.contains("raise 'concurrency' with `rota limits set stripe --concurrency N`"),
        "{why}"
    );
    server.post("/ojs/v1/queues/default/pause", json!({})).expect(200);
    assert!(said(&["explain", id.trim()]).contains("`rota queues resume default`"));
    let shown = said(&["jobs", "show", id.trim()]);
    assert!(shown.contains("\nlimit     stripe: concurrency 0\n"), "{shown}");
}
