//! `rota jobs cancel`, `set`, `retry`, `activate` and `delete`.

use serde_json::json;

use crate::jobs::discarded;
use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

const MISSING: &str = "01936c7e-1111-7abc-8def-0123456789ab";

fn waiting(server: &Server, queue: &str) -> String {
    server.enqueue(json!({"type": "a.b", "args": [], "queue": queue}))
}

#[test]
fn several_jobs_are_cancelled() {
    let server = Server::start();
    let (one, two) = (waiting(&server, "q"), waiting(&server, "q"));
    let printed = rota(&server, &["jobs", "cancel", &one, &two]).printed();
    assert_eq!(printed, format!("{one} cancelled\n{two} cancelled\n"));
    assert_eq!(server.job(&one)["state"], "cancelled");
    assert_eq!(server.job(&two)["state"], "cancelled");
}

#[test]
fn the_worker_of_an_active_job_is_asked_if_that_is_wanted() {
    let server = Server::start();
    let id = waiting(&server, "q");
    assert_eq!(server.fetch("q", 1).len(), 1);
    let cancel = |mode| rota(&server, &["jobs", "cancel", &id, "--mode", mode]).printed();
    assert_eq!(cancel("cooperative"), format!("{id} runs until its worker ends it\n"));
    assert_eq!(server.job(&id)["cancel_requested"], true);
    assert_eq!(cancel("immediate"), format!("{id} cancelled\n"));
    rota(&server, &["jobs", "cancel", "--queue", "q", "--mode", "immediate"]).failed(2);
}

#[test]
fn a_waiting_job_gets_another_priority() {
    let server = Server::start();
    let (one, two) = (waiting(&server, "q"), waiting(&server, "q"));
    let printed = rota(&server, &["jobs", "set", &one, &two, "--priority", "-7"]).printed();
    assert_eq!(printed, format!("{one} changed\n{two} changed\n"));
    assert_eq!(server.job(&one)["priority"], -7);
    let changed = rota(&server, &["jobs", "set", &two, "--priority", "high", "--json"]).json();
    let job = &changed["jobs"][0];
    assert_eq!((&job["priority"], &job["previous_priority"]), (&json!(10), &json!(-7)));
    let message = rota(&server, &["jobs", "set", &one, "--priority", "101"]).failed(2);
    assert!(message.contains("from -100 to 100"), "{message}");
    rota(&server, &["jobs", "cancel", &one]).printed();
    let message = rota(&server, &["jobs", "set", &one, "--priority", "1"]).failed(5);
    assert!(message.contains("can be changed; the state of this one is"), "{message}");
}

#[test]
fn cancelling_goes_on_after_a_failure() {
    let server = Server::start();
    let (one, two) = (waiting(&server, "q"), waiting(&server, "q"));
    let ran = rota(&server, &["jobs", "cancel", &one, MISSING, &two]);
    assert_eq!((ran.code, ran.stdout), (4, format!("{one} cancelled\n{two} cancelled\n")));
    looks_like!("one_of_three", ran.stderr);

    let ran = rota(&server, &["jobs", "cancel", &one, MISSING, "--json"]);
    assert_eq!(ran.stdout, "{\"jobs\":[]}\n");
    let error = ran.json_error(1);
    assert_eq!(error["failures"][0]["id"], *one);
    assert_eq!(error["failures"][0]["exit_code"], 5);
    assert_eq!(error["failures"][1]["exit_code"], 4);
}

#[test]
fn a_job_that_has_ended_cannot_be_cancelled() {
    let server = Server::start();
    let id = waiting(&server, "q");
    rota(&server, &["jobs", "cancel", &id]).printed();
    looks_like!("ended", rota(&server, &["jobs", "cancel", &id]).failed(5));
    rota(&server, &["jobs", "cancel", MISSING]).failed(4);
}

#[test]
fn json_has_the_changed_jobs_as_the_server_shows_them() {
    let server = Server::start();
    let id = rota(&server, &["enqueue", "a.b", "--args", "[12345678901234567890123]"]).printed();
    let text = rota(&server, &["jobs", "cancel", id.trim_end(), "--json"]).printed();
    assert!(text.contains("[12345678901234567890123]"), "{text}");
    let changed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(changed["jobs"][0]["id"], id.trim_end());
    assert_eq!(changed["jobs"][0]["state"], "cancelled");
}

#[test]
fn a_failed_job_is_retried() {
    let server = Server::start();
    let id = discarded(&server, "email", 1);
    assert_eq!(rota(&server, &["jobs", "retry", &id]).printed(), format!("{id} retried\n"));
    assert_eq!(
        (&server.job(&id)["state"], &server.job(&id)["attempt"]),
        (&json!("available"), &json!(0))
    );
    let message = rota(&server, &["jobs", "retry", &id]).failed(5);
    assert!(message.contains("Only discarded and cancelled jobs"), "{message}");
}

#[test]
fn a_pending_job_is_activated() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a.b", "args": [], "pending": true}));
    assert_eq!(rota(&server, &["jobs", "activate", &id]).printed(), format!("{id} activated\n"));
    assert_eq!(server.job(&id)["state"], "available");
    rota(&server, &["jobs", "activate", &id]).failed(5);
}

#[test]
fn all_that_match_are_changed_only_when_confirmed() {
    let server = Server::start();
    let (mine, other) = (waiting(&server, "mine"), waiting(&server, "other"));
    looks_like!("unconfirmed", rota(&server, &["jobs", "cancel", "--queue", "mine"]).failed(2));
    assert_eq!(server.job(&mine)["state"], "available");

    let printed = rota(&server, &["jobs", "cancel", "--queue", "mine", "--yes"]).printed();
    assert_eq!(printed, "cancelled 1 job\n");
    assert_eq!(server.job(&mine)["state"], "cancelled");
    assert_eq!(server.job(&other)["state"], "available");

    let retry = ["jobs", "retry", "--state", "cancelled", "--type", "a.*", "--yes", "--json"];
    assert_eq!(rota(&server, &retry).json()["succeeded"], 1);
    assert_eq!(server.job(&mine)["state"], "available");
}

#[test]
fn ended_jobs_are_deleted() {
    let server = Server::start();
    let id = discarded(&server, "email", 1);
    let kept = waiting(&server, "email");
    rota(&server, &["jobs", "delete", "--queue", "email"]).failed(2);
    let printed = rota(&server, &["jobs", "delete", "--queue", "email", "--yes"]).printed();
    assert_eq!(printed, "deleted 1 job\n");
    server.get(&format!("/ojs/v1/jobs/{id}")).expect(404);
    assert_eq!(server.job(&kept)["state"], "available");
}

#[test]
fn everything_at_once_must_be_asked_for_by_a_filter() {
    let server = Server::start();
    for action in ["cancel", "retry", "delete"] {
        let message = rota(&server, &["jobs", action, "--yes"]).failed(2);
        assert!(message.contains("no jobs are named"), "{message}");
    }
    let message = rota(&server, &["jobs", "cancel", MISSING, "--queue", "q"]).failed(2);
    assert!(message.contains("cannot be used with"), "{message}");
    rota(&server, &["jobs", "delete", "--state", "active", "--yes"]).failed(5);
}
