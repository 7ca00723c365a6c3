//! How long finished jobs are kept.

use serde_json::{Value, json};

use crate::shorthand::{ack, eventually, job_on, take, text};
use crate::states::job_in;
use crate::support::Server;

fn jobs_by_state(server: &Server) -> Value {
    server.get("/ojs/v1/admin/stats").expect(200)["jobs"].clone()
}

#[track_caller]
fn wait_until_gone(server: &Server, id: &str) {
    eventually("the job is removed", || {
        (server.get(&format!("/ojs/v1/jobs/{id}")).status == 404).then_some(())
    });
}

fn complete_one(server: &Server, queue: &str) -> String {
    server.enqueue(job_on(queue));
    let id = text(&take(server, queue)["id"]);
    ack(server, &id);
    id
}

#[test]
fn finished_jobs_are_removed_at_once_when_nothing_is_to_be_kept() {
    let server = Server::start_with(&["--retention-completed", "0"]);
    let id = complete_one(&server, "q");
    wait_until_gone(&server, &id);
    assert_eq!(jobs_by_state(&server)["completed"], 0);
    assert_eq!(server.get("/ojs/v1/queues/q").expect(200)["stats"]["completed"], 0);
    let kept = job_in(&server, "discarded");
    assert_eq!(server.job(&kept)["state"], "discarded");
}

#[test]
fn each_ending_has_its_own_time() {
    let flags = [
        "--retention-completed",
        "never",
        "--retention-cancelled",
        "0",
        "--retention-discarded",
        "0",
    ];
    let server = Server::start_with(&flags);
    let kept = complete_one(&server, "q");
    for state in ["cancelled", "discarded"] {
        // The job may be gone before its state can be looked at.
        let queue = crate::shorthand::fresh_queue();
        let more = json!({"retry": {"max_attempts": 1, "on_exhaustion": "discard"}});
        let id = server.enqueue(crate::shorthand::job_with(&queue, more));
        if state == "cancelled" {
            server.delete(&format!("/ojs/v1/jobs/{id}")).expect(200);
        } else {
            take(&server, &queue);
            crate::shorthand::nack(&server, &id, crate::shorthand::boom());
        }
        wait_until_gone(&server, &id);
    }
    let counts = jobs_by_state(&server);
    assert_eq!((&counts["completed"], &counts["cancelled"]), (&json!(1), &json!(0)));
    assert_eq!(counts["discarded"], 0);
    assert_eq!(server.job(&kept)["state"], "completed");
}

#[test]
fn a_queue_may_have_its_own_retention() {
    let server = Server::start();
    let config = json!({"retention": {"completed": "PT0S"}});
    let body = server.put("/ojs/v1/admin/queues/brief/config", config).expect(200);
    assert_eq!(body["configuration"]["retention"]["completed"], "PT0S");
    let kept = complete_one(&server, "q");
    let id = complete_one(&server, "brief");
    wait_until_gone(&server, &id);
    assert_eq!(server.job(&kept)["state"], "completed");
}

#[test]
fn an_id_may_be_used_again_when_its_job_is_gone() {
    let server = Server::start_with(&["--retention-completed", "0"]);
    let job = crate::shorthand::job_with("q", json!({"id": crate::shorthand::NOBODY}));
    server.enqueue(job.clone());
    take(&server, "q");
    ack(&server, crate::shorthand::NOBODY);
    wait_until_gone(&server, crate::shorthand::NOBODY);
    server.enqueue(job);
}
