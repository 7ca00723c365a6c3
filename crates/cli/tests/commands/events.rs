use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::rota;
use crate::support::{Server, command};

#[test]
fn recent_events_are_listed() {
    let server = Server::start();
    let ran = rota(&server, &["events", "--type", "queue.*"]);
    assert!(ran.stdout.is_empty() && ran.stderr.starts_with("no events match"), "{}", ran.stderr);
    for queue in ["a", "b", "b"] {
        server.enqueue(json!({"type": "email.send", "args": [], "queue": queue}));
    }
    let count = |options: &[&str]| {
        let list = rota(&server, &[&["events", "--json"], options].concat()).json();
        list["events"].as_array().unwrap().len()
    };
    assert_eq!(count(&["--type", "job.*"]), 3);
    assert_eq!(count(&["--type", "job.*", "-n", "2"]), 2);
    assert_eq!(count(&["--type", "job.*", "--queue", "b"]), 2);
    assert_eq!(count(&["--job-type", "report.build"]), 0);
    let text = rota(&server, &["events", "--queue", "a", "--type", "job.enqueued"]).printed();
    assert!(text.starts_with("TIME ") && text.contains("  job.enqueued  "), "{text}");
    assert!(text.contains("job_type=email.send") && text.contains("queue=a"), "{text}");
}

#[test]
fn following_goes_on_after_a_restart() {
    let mut server = Server::start_apart(&[]);
    server.enqueue(json!({"type": "before", "args": []}));
    let mut child = command(&["events", "--follow", "--type", "job.enqueued", "--json"])
        .env("ROTA_URL", server.url(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        event["data"]["job_type"].as_str().map(str::to_owned)
    };
    assert_eq!(next().as_deref(), Some("before"));
    server.enqueue(json!({"type": "during", "args": []}));
    assert_eq!(next().as_deref(), Some("during"));
    server.restart_on_its_port();
    server.enqueue(json!({"type": "after", "args": []}));
    // A notice says that the events of the earlier process are gone.
    let seen =
        std::iter::from_fn(|| Some(next())).take(5).find(|kind| kind.as_deref() == Some("after"));
    assert!(seen.is_some());
    let status =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
