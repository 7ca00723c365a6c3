use serde_json::json;

use crate::run::{Ran, rota};
use crate::support::Server;

#[test]
fn maintenance_stops_dispatch_until_it_is_turned_off() {
    let server = Server::start();
    let run =
        |arguments: &[&str]| -> Ran { rota(&server, &[&["maintenance"], arguments].concat()) };
    assert_eq!(run(&[]).printed(), "maintenance  off\n");
    let text = run(&["on", "--reason", "database upgrade", "--for", "30m"]).printed();
    let lines: Vec<&str> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(lines, ["maintenance", "since", "expected end", "reason"], "{text}");
    assert!(text.contains("(in 30m)") || text.contains("(in 29m"), "{text}");
    let id = server.enqueue(json!({"type": "a", "args": []}));
    assert!(server.fetch("default", 1).is_empty());
    let why = rota(&server, &["explain", &id]).printed();
    assert!(why.contains("end that with `rota maintenance off`"), "{why}");
    assert_eq!(run(&["off", "--json"]).json()["maintenance"], false);
    assert_eq!(server.fetch("default", 1).len(), 1);
    assert!(run(&["on", "--for", "0s"]).failed(2).contains("longer than 0"));
}
