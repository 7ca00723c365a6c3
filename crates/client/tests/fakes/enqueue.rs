//! Enqueueing, and sending requests again.

use std::time::Duration;

use rota_client::{Client, JobId, NewJob, Retries};
use serde_json::{Value, json};

use super::server::{Answer, Fake};

fn stored(id: &Value, args: &Value) -> Value {
    json!({"id": id, "type": "a", "queue": "default", "args": args, "state": "available"})
}

fn busy(status: u16) -> Answer {
    let error = json!({"code": "unavailable", "message": "busy", "retryable": true});
    Some((status, json!({"error": error})))
}

/// A server that has the job `id` with the argument 1.
fn taken() -> Answer {
    let error = json!({"code": "duplicate", "message": "taken", "retryable": false});
    Some((409, json!({"error": error, "job": stored(&json!(ID), &json!([1]))})))
}

const ID: &str = "01234567-89ab-7000-8000-000000000000";

#[tokio::test]
async fn a_lost_answer_makes_one_job() {
    let fake = Fake::new(|_, nth| match nth {
        1 => None,
        _ => taken(),
    });
    let client = fake.start().await;
    let job = client.enqueue(&NewJob::new("a").id(ID).arg(1)).await.unwrap();
    assert_eq!((job.id.as_str(), job.state.as_str()), (ID, "available"));
    let sent = fake.asked("jobs");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1]);
}

#[tokio::test]
async fn a_job_without_an_id_keeps_the_one_it_gets() {
    let fake = Fake::new(|_, nth| match nth {
        1 | 2 => None,
        _ => Some((201, json!({"job": stored(&json!(ID), &json!([]))}))),
    });
    fake.start().await.enqueue(&NewJob::new("a")).await.unwrap();
    let sent = fake.asked("jobs");
    assert!(JobId::parse(sent[0]["id"].as_str().unwrap()).is_some());
    assert_eq!((&sent[0]["id"], sent.len()), (&sent[2]["id"], 3));
}

#[tokio::test]
async fn an_id_that_another_job_has_is_an_error() {
    let client = Fake::new(|_, _| taken()).start().await;
    let error = client.enqueue(&NewJob::new("a").id(ID).arg(2)).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().code, "duplicate");
    let same = client.enqueue(&NewJob::new("a").id(ID).arg(1)).await;
    assert_eq!(same.unwrap().id, ID);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_an_answer_is_not() {
    let fake = Fake::new(|_, nth| match nth {
        1 => busy(503),
        2 => busy(429),
        _ => Some((201, json!({"job": stored(&json!(ID), &json!([]))}))),
    });
    assert!(fake.start().await.enqueue(&NewJob::new("a")).await.is_ok());
    assert_eq!(fake.asked("jobs").len(), 3);

    let refusing = Fake::new(|_, _| busy(400));
    assert!(refusing.start().await.enqueue(&NewJob::new("a")).await.is_err());
    assert_eq!(refusing.asked("jobs").len(), 1);
}

#[tokio::test]
async fn what_may_have_been_done_is_not_done_again() {
    let fake = Fake::new(|_, _| None);
    assert!(fake.start().await.retry("j").await.is_err());
    assert_eq!(fake.asked("retry").len(), 1);
}

#[tokio::test]
async fn retries_can_be_switched_off() {
    let fake = Fake::new(|_, _| busy(503));
    let url = fake.start().await.url();
    let none = Client::builder().retries(Retries::none()).build(&url).unwrap();
    assert!(none.enqueue(&NewJob::new("a")).await.is_err());
    let many = Retries { attempts: 5, first_wait: Duration::from_millis(1), ..Retries::default() };
    assert!(Client::builder().retries(many).build(&url).unwrap().health().await.is_err());
    assert_eq!((fake.asked("jobs").len(), fake.asked("health").len()), (1, 5));
}

#[tokio::test]
async fn a_limit_is_told_with_its_numbers() {
    let fake = Fake::new(|_, _| {
        let error = json!({
            "code": "TENANT_LIMIT_EXCEEDED", "message": "full", "retryable": false,
            "limit": "max_queue_depth", "current": 10, "maximum": 10,
        });
        Some((429, json!({"error": error})))
    });
    let error = fake.start().await.enqueue(&NewJob::new("a")).await.unwrap_err();
    let reached = error.refusal().unwrap().limit_reached().unwrap();
    assert_eq!((reached.limit, reached.current, reached.maximum), ("max_queue_depth", 10, 10));
}
