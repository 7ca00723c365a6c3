//! Figures over all queues, and the settings in force.

use serde_json::{Value, json};

use crate::shorthand::{ack, eventually, job_on, register, take};
use crate::states::{STATES, job_in};
use crate::support::{Server, in_one_minute};

#[test]
fn the_totals_count_jobs_queues_and_workers() {
    let stats = in_one_minute(|| {
        let server = Server::start();
        STATES.iter().for_each(|state| drop(job_in(&server, state)));
        register(&server, "w1", json!({}));
        server.get("/ojs/v1/admin/stats").expect(200)
    });
    for state in STATES {
        assert_eq!(stats["jobs"][state], 1, "{state}: {stats}");
    }
    assert_eq!((&stats["queues"], &stats["workers"]), (&json!(8), &json!(1)));
    for key in ["processed_per_minute", "failed_per_minute"] {
        assert!(stats["throughput"][key].as_f64() > Some(0.0), "{stats}");
    }
    assert!(stats["uptime_seconds"].is_u64());
}

#[test]
fn the_totals_survive_a_restart() {
    let mut server = Server::start();
    STATES.iter().for_each(|state| drop(job_in(&server, state)));
    let before = server.get("/ojs/v1/admin/stats").expect(200)["jobs"].clone();
    server.kill();
    server.restart();
    assert_eq!(server.get("/ojs/v1/admin/stats").expect(200)["jobs"], before);
}

/// Throughput of the server and of a queue, and jobs processed and enqueued by the history.
fn figures(server: &Server) -> (Value, Value, [[u64; 2]; 3]) {
    let stats = server.get("/ojs/v1/admin/stats").expect(200)["throughput"].clone();
    let queue = server.get("/ojs/v1/queues/a/stats").expect(200)["stats"].clone();
    let history = ["", "&queue=a", "&queue=b"].map(|queue| {
        let path = format!("/ojs/v1/admin/stats/history?period=1m{queue}");
        let history = server.get(&path).expect(200);
        ["processed", "enqueued"].map(|key| sum(&history, key))
    });
    (stats, queue, history)
}

#[test]
fn statistics_survive_a_kill() {
    let (before, after) = in_one_minute(|| {
        let mut server = Server::start();
        for queue in ["a", "a", "b"] {
            let id = server.enqueue(job_on(queue));
            take(&server, queue);
            ack(&server, &id);
        }
        server.enqueue(job_on("b"));
        let before = figures(&server);
        server.kill();
        server.restart();
        (before, figures(&server))
    });
    assert_eq!(before.2, [[3, 4], [2, 2], [1, 2]]);
    assert_eq!(after, before);
}

fn sum(history: &Value, key: &str) -> u64 {
    let points = history["data"].as_array().expect("points");
    points.iter().filter_map(|point| point[key].as_u64()).sum()
}

/// A minute that has just ended is on its way to the history.
#[track_caller]
fn await_processed(server: &Server, query: &str, jobs: u64) -> Value {
    eventually(&format!("{jobs} were processed"), || {
        let history = server.get(&format!("/ojs/v1/admin/stats/history{query}")).expect(200);
        Some(history).filter(|history| sum(history, "processed") == jobs)
    })
}

#[test]
fn the_history_has_a_point_for_each_period() {
    let server = Server::start();
    for queue in ["a", "a", "b"] {
        let id = server.enqueue(job_on(queue));
        take(&server, queue);
        ack(&server, &id);
    }
    for period in ["1m", "5m", "1h", "1d"] {
        let history = await_processed(&server, &format!("?period={period}"), 3);
        assert_eq!(history["period"], period);
        assert_eq!(sum(&history, "enqueued"), 3, "{history}");
        let point = &history["data"][0];
        for key in ["timestamp", "failed", "latency_p50_ms", "latency_p99_ms", "wait_p50_ms"] {
            assert!(point.get(key).is_some(), "{key} of {point}");
        }
    }
    await_processed(&server, "?period=1m&queue=a", 2);
    let past = "since=2020-01-01T00:00:00Z&until=2020-01-01T01:00:00Z";
    let past = server.get(&format!("/ojs/v1/admin/stats/history?period=1m&{past}")).expect(200);
    assert_eq!(past["data"], json!([]));
    for bad in [
        "admin/stats/history?period=2m",
        "admin/stats/history?perod=1m",
        "admin/stats?limit=1",
        "admin/fairness?tenant=a",
        "cron?enabled=maybe",
        "admin/tenants?cursor=a&page=2",
        "admin/workers?cursor=a&page=2",
        "cron?cursor=a&offset=2",
    ] {
        server.get(&format!("/ojs/v1/{bad}")).expect_error(400, "invalid_request");
    }
    let endless = "/ojs/v1/admin/stats/history?period=1m&since=2000-01-01T00:00:00Z";
    server.get(endless).expect_error(422, "invalid_request");
}

#[test]
fn the_history_survives_a_restart() {
    let mut server = Server::start();
    let id = server.enqueue(job_on("q"));
    take(&server, "q");
    ack(&server, &id);
    assert!(server.terminate().success());
    server.restart();
    await_processed(&server, "?period=1m", 1);
}

#[test]
fn the_history_of_a_minute_survives_two_restarts() {
    let mut server = Server::start();
    for _ in 0..2 {
        let id = server.enqueue(job_on("q"));
        take(&server, "q");
        ack(&server, &id);
        assert!(server.terminate().success());
        server.restart();
    }
    await_processed(&server, "?period=5m", 2);
}

#[test]
fn the_settings_in_force_are_shown() {
    let server = Server::start_with(&["--retention-completed", "3h"]);
    let body = server.get("/ojs/v1/admin/system/config").expect(200);
    assert_eq!(body["config"]["retention.completed"], "3h");
    assert!(
        body["config"]["limits.batch_jobs"].is_string()
            || body["config"]["limits.batch_jobs"].is_number()
    );
    assert!(body["settings"].as_array().is_some_and(|rows| rows.len() > 20));
    assert!(body["version"].is_string());
}
