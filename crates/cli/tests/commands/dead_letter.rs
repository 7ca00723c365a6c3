use serde_json::json;

use crate::jobs::discarded;
use crate::looks_like;
use crate::run::rota;
use crate::support::Server;

fn total(server: &Server) -> u64 {
    server.get("/ojs/v1/dead-letter/stats").expect(200)["total"].as_u64().unwrap()
}

#[test]
fn failed_jobs_are_listed() {
    let server = Server::start();
    discarded(&server, "email", 1);
    discarded(&server, "reports", 2);
    server.enqueue(json!({"type": "a.b", "args": []}));
    looks_like!("list", rota(&server, &["dead-letter"]).printed());
    let list = rota(&server, &["dead-letter", "list", "--queue", "email", "--json"]).json();
    assert_eq!((&list["total"], &list["jobs"][0]["queue"]), (&json!(1), &json!("email")));
    let list = rota(&server, &["dead-letter", "--all", "--type", "email.*", "--json"]).json();
    assert_eq!(list["jobs"].as_array().unwrap().len(), 2);
    rota(&server, &["dead-letter", "--queue", "email", "list"]).failed(2);
    let error = list["jobs"][0]["error"]["type"].as_str().unwrap();
    let list = rota(&server, &["dead-letter", "list", "--error", error, "--json"]).json();
    assert_eq!(list["jobs"].as_array().unwrap().len(), 2);
    let list = rota(&server, &["dead-letter", "list", "--error", "none.such", "--json"]).json();
    assert_eq!(list["jobs"], json!([]));
}

#[test]
fn a_failed_job_is_shown() {
    let server = Server::start();
    let id = discarded(&server, "email", 1);
    let text = rota(&server, &["dead-letter", "show", &id]).printed();
    assert_eq!(text, rota(&server, &["jobs", "show", &id]).printed());
    assert_eq!(rota(&server, &["dead-letter", "show", &id, "--json"]).json()["id"], *id);
}

#[test]
fn failed_jobs_are_counted() {
    let server = Server::start();
    discarded(&server, "email", 1);
    discarded(&server, "email", 1);
    discarded(&server, "reports", 1);
    looks_like!("stats", rota(&server, &["dead-letter", "stats"]).printed());
    assert_eq!(rota(&server, &["dead-letter", "stats", "--json"]).json()["by_queue"]["email"], 2);
}

#[test]
fn failed_jobs_are_retried() {
    let server = Server::start();
    let (one, two) = (discarded(&server, "email", 1), discarded(&server, "email", 1));
    let printed = rota(&server, &["dead-letter", "retry", &one, &two]).printed();
    assert_eq!(printed, format!("{one} retried\n{two} retried\n"));
    assert_eq!((total(&server), &server.job(&one)["state"]), (0, &json!("available")));
    rota(&server, &["dead-letter", "retry", &one]).failed(4);
}

#[test]
fn one_job_is_deleted_at_once_and_many_when_confirmed() {
    let server = Server::start();
    let ids: Vec<String> = (0..3).map(|_| discarded(&server, "email", 1)).collect();
    let printed = rota(&server, &["dead-letter", "delete", &ids[0]]).printed();
    assert_eq!((printed, total(&server)), (format!("{} deleted\n", ids[0]), 2));
    let message = rota(&server, &["dead-letter", "delete", &ids[1], &ids[2]]).failed(2);
    assert!(message.contains("this would delete 2 jobs"), "{message}");
    assert_eq!(total(&server), 2);
    let deleted =
        rota(&server, &["dead-letter", "delete", &ids[1], &ids[2], "--yes", "--json"]).json();
    assert_eq!((&deleted["jobs"][1]["id"], total(&server)), (&json!(ids[2]), 0));
}

#[test]
fn a_purge_says_what_it_would_do_and_then_does_it() {
    let server = Server::start();
    discarded(&server, "email", 1);
    discarded(&server, "email", 1);
    discarded(&server, "reports", 1);
    looks_like!("purge_unconfirmed", rota(&server, &["dead-letter", "purge"]).failed(2));
    let message = rota(&server, &["dead-letter", "purge", "--queue", "email"]).failed(2);
    assert!(message.contains("delete 2 jobs in the dead letter of queue email"), "{message}");
    assert_eq!(total(&server), 3);

    let old = ["dead-letter", "purge", "--older-than", "1h", "--yes"];
    assert_eq!(rota(&server, &old).printed(), "deleted 0 jobs\n");
    let email = ["dead-letter", "purge", "--queue", "email", "--yes"];
    assert_eq!(rota(&server, &email).printed(), "deleted 2 jobs\n");
    let rest = rota(&server, &["dead-letter", "purge", "--yes", "--json"]).json();
    assert_eq!((rest, total(&server)), (json!({"deleted": 1, "failed": 0}), 0));
}

#[test]
fn jobs_outside_of_the_dead_letter_are_exit_code_4() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a.b", "args": []}));
    for action in ["show", "retry", "delete"] {
        let message = rota(&server, &["dead-letter", action, &id]).failed(4);
        assert!(message.contains("There is no dead letter job"), "{message}");
    }
}

#[test]
fn an_empty_dead_letter_is_explained() {
    let server = Server::start();
    let ran = rota(&server, &["dead-letter"]);
    assert_eq!((ran.code, &*ran.stdout), (0, ""));
    assert!(ran.stderr.starts_with("no jobs in the dead letter"), "{}", ran.stderr);
}

#[test]
fn failed_jobs_are_retried_by_their_error() {
    let server = Server::start();
    discarded(&server, "email", 1);
    discarded(&server, "reports", 1);
    let retry = |options: &[&str]| rota(&server, &[&["dead-letter", "retry"], options].concat());
    assert!(retry(&[]).failed(2).contains("no jobs are named"));
    let would = "this would retry all jobs in the dead letter with error=x, queue=email";
    assert!(retry(&["--error", "x", "--queue", "email"]).failed(2).contains(would));
    assert_eq!(retry(&["--error", "x", "--yes"]).printed(), "retried 0 jobs\n");
    let by_error =
        ["--error", "smtp_timeout", "--queue", "email", "--since", "1h", "--yes", "--json"];
    assert_eq!(retry(&by_error).json()["succeeded"], 1);
    assert_eq!(total(&server), 1);
    assert_eq!(retry(&["--all", "--yes"]).printed(), "retried 1 job\n");
    assert_eq!(total(&server), 0);
    assert!(retry(&["--all", "some-id"]).failed(2).contains("cannot be used with"));
}
