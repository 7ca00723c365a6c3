//! Requests that race for the same job: exactly one of them wins.

use std::sync::Barrier;

use serde_json::json;

use crate::shorthand::{boom, ids, job_on, job_with, take, try_ack, try_nack};
use crate::support::Server;

type Contestant<'a> = &'a (dyn Fn() -> u16 + Sync);

/// Lets all of these begin at once, and tells their statuses.
fn race(contestants: &[Contestant<'_>]) -> Vec<u16> {
    let start = Barrier::new(contestants.len());
    let start = &start;
    std::thread::scope(|scope| {
        let run = |one: Contestant<'_>| {
            start.wait();
            one()
        };
        let all: Vec<_> = contestants.iter().map(|one| scope.spawn(move || run(*one))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[track_caller]
fn assert_one_winner(statuses: &[u16]) {
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
}

#[test]
fn one_of_many_acks_wins() {
    let server = Server::start();
    for _ in 0..10 {
        let id = server.enqueue(job_on("q"));
        take(&server, "q");
        let ack = || try_ack(&server, &id).status;
        assert_one_winner(&race(&[&ack, &ack, &ack, &ack, &ack, &ack]));
        assert_eq!(server.job(&id)["state"], "completed");
    }
}

#[test]
fn an_ack_a_nack_and_a_cancellation_exclude_each_other() {
    let server = Server::start();
    for _ in 0..10 {
        let id = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
        take(&server, "q");
        let ack = || try_ack(&server, &id).status;
        let nack = || try_nack(&server, &id, boom()).status;
        let cancel = || server.delete(&format!("/ojs/v1/jobs/{id}")).status;
        let statuses = race(&[&ack, &nack, &cancel]);
        assert_one_winner(&statuses);
        let winner = statuses.iter().position(|status| *status == 200).unwrap();
        let state = ["completed", "discarded", "cancelled"][winner];
        assert_eq!(server.job(&id)["state"], state);
    }
}

#[test]
fn one_of_many_activations_and_retries_wins() {
    let server = Server::start();
    for _ in 0..10 {
        let id = server.enqueue(job_with("q", json!({"pending": true})));
        let activate = || server.post(&format!("/ojs/v1/jobs/{id}/activate"), json!({})).status;
        assert_one_winner(&race(&[&activate, &activate, &activate, &activate]));
        let cancel = || server.delete(&format!("/ojs/v1/jobs/{id}")).status;
        assert_one_winner(&race(&[&cancel, &cancel, &cancel, &cancel]));
        let retry = || server.post(&format!("/ojs/v1/admin/jobs/{id}/retry"), json!({})).status;
        assert_one_winner(&race(&[&retry, &retry, &retry, &retry]));
        assert_eq!(ids(&server.fetch("q", 10)), [id]);
    }
}

#[test]
fn a_cancellation_and_a_fetch_leave_the_job_in_one_hand() {
    let server = Server::start();
    for _ in 0..20 {
        let id = server.enqueue(job_on("q"));
        let fetch = || server.fetch("q", 1).len() as u16;
        let cancel = || server.delete(&format!("/ojs/v1/jobs/{id}")).status;
        let outcome = race(&[&fetch, &cancel]);
        // Cancelling works before and after the fetch; either way nobody may run it any more.
        assert_eq!(outcome[1], 200);
        try_ack(&server, &id).expect_error(409, "conflict");
        assert_eq!(server.job(&id)["state"], "cancelled");
        assert!(server.fetch("q", 1).is_empty());
    }
}
