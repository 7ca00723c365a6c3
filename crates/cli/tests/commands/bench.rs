//! `rota bench` measures, says what it found, and leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{FILTERS, Ran};
use crate::support::command;

/// Short. A machine that is held up meanwhile has nothing to show, and is given longer.
fn bench(arguments: &[&str]) -> Ran {
    let mut all = ["300ms", "3s", "15s"].into_iter().map(|duration| bench_for(duration, arguments));
    all.find(|ran| !is_too_short(ran)).expect("time enough")
}

pub fn is_too_short(ran: &Ran) -> bool {
    ran.code == 1 && ran.stderr.contains("Choose a longer --duration.")
}

/// With its data in a directory of its own, which must be empty in the end.
fn bench_for(duration: &str, arguments: &[&str]) -> Ran {
    let dir = TempDir::new().unwrap();
    let ran = command(&["bench", "--duration", duration, "--connections", "4", "--batch", "20"])
        .args(arguments)
        .arg("--dir")
        .arg(dir.path())
        // No matter what a server in use is told.
        .env("ROTA_LIMITS_BATCH_JOBS", "1")
        .output()
        .expect("rota runs")
        .into();
    let left: Vec<_> = dir.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    ran
}

/// What was found, without the numbers.
macro_rules! reports {
    ($name:literal, $text:expr) => {
        let mut filters = FILTERS.to_vec();
        filters.push((r"(?m)(^|\s)\d[\d,]*(\.\d+)?", "${1}N"));
        filters.push((" {2,}", "  "));
        insta::with_settings!({ filters => filters, omit_expression => true }, {
            insta::assert_snapshot!($name, $text);
        })
    };
}

#[track_caller]
fn results(report: &Value) -> &[Value] {
    let results = report["results"].as_array().unwrap();
    for result in results {
        assert!(result["name"].is_string(), "{result}");
        assert!(result["unit"].is_string(), "{result}");
        // A difference may be negative: on a busy machine, the slower way may win.
        let is_difference = result["name"].as_str().is_some_and(|name| name.starts_with("added "));
        assert!(is_difference || result["value"].as_f64().unwrap() >= 0.0, "{result}");
    }
    results
}

#[track_caller]
fn named<'a>(report: &'a Value, name: &str) -> &'a Value {
    let found = results(report).iter().find(|result| result["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[track_caller]
fn assert_times(result: &Value) {
    let times = ["p50_ms", "p99_ms", "p999_ms", "max_ms"].map(|name| result[name].as_f64());
    let times = times.map(|time| time.unwrap_or_else(|| panic!("a time is missing: {result}")));
    assert!(times[0] > 0.0 && times.is_sorted(), "{result}");
}

#[test]
fn engine() {
    reports!("bench_engine", bench(&["engine"]).printed());
}

#[test]
fn store() {
    reports!("bench_store", bench(&["store"]).printed());
}

#[test]
fn rates() {
    reports!("bench_rates", bench(&["rates"]).printed());
}

#[test]
fn latency() {
    reports!("bench_latency", bench(&["latency"]).printed());
}

#[test]
fn depth() {
    reports!("bench_depth", bench(&["depth", "--jobs", "10000"]).printed());
}

#[test]
fn scheduler() {
    reports!("bench_scheduler", bench(&["scheduler", "--lanes", "100"]).printed());
}

#[test]
fn scheduler_as_json_compares_each_load_with_a_small_one() {
    let report = bench(&["scheduler", "--lanes", "200", "--json"]).json();
    assert_eq!(results(&report).len(), SCHEDULER_LOADS.len());
    for (load, small) in SCHEDULER_LOADS {
        let result = named(&report, &format!("engine alone, {load}"));
        assert_eq!(result["unit"], "µs");
        assert!(result["value"].as_f64().unwrap() > 0.0, "{result}");
        assert!(result["ratio"]["value"].as_f64().unwrap() > 0.0, "{result}");
        let of = result["ratio"]["of"].as_str().unwrap();
        assert!(of.starts_with(&format!("{small}, ")) && of.ends_with(" µs"), "{result}");
    }
}

/// The loads with 200 lanes, and what each is compared with.
const SCHEDULER_LOADS: [(&str, &str); 11] = [
    ("start with 200 types at one key", "one type"),
    ("start with 200 lanes at a second limit", "10 lanes"),
    ("enqueue in a batch of 20 beside 20 waiting fetches", "none waiting"),
    ("start with 200 queues at one key", "one queue"),
    ("start with 20 sets of numbers at one key", "one set"),
    ("enqueue and start with 20000 finished classes", "10 finished classes"),
    ("change of a tenant with 20000 finished classes", "10 finished classes"),
    ("start from a pool of 20 queues, strict", "2 queues"),
    ("start from a pool of 20 queues, round-robin", "2 queues"),
    ("start from a pool of 20 queues, weighted", "2 queues"),
    ("start from a pool of 20 queues, least-loaded", "2 queues"),
];

#[test]
fn several_are_one_report() {
    let report = bench(&["engine", "store", "--durability", "os", "--json"]).json();
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["durability"], "os");
    assert_eq!(report["connections"], 4);
    assert_eq!(report["payload_bytes"], 200);
    assert_eq!(report["batch"], 20);
    assert!([0.3, 3.0, 15.0].map(Value::from).contains(&report["seconds_each"]), "{report}");
    assert!(report["cores"].as_u64().unwrap() > 0);
    assert_eq!(results(&report).len(), 4);
    assert!(named(&report, "engine alone, claim and ack")["p50_ms"].is_null());
    let store = named(&report, "log and view alone, 512 operations a commit");
    assert_eq!(store["unit"], "cycles per second");
    assert_times(store);
}

#[test]
fn rates_as_json_have_times_and_a_baseline() {
    let report = bench(&["rates", "--json"]).json();
    let enqueue = named(&report, "enqueue");
    assert_eq!(enqueue["unit"], "per second");
    assert_times(enqueue);
    let echo = named(&report, "bare echo");
    let ratio = enqueue["value"].as_f64().unwrap() / echo["value"].as_f64().unwrap();
    assert_eq!(enqueue["ratio"]["of"], "the echo");
    assert!((enqueue["ratio"]["value"].as_f64().unwrap() - ratio).abs() < 1e-9, "{enqueue}");
    for result in results(&report) {
        assert!(result["value"].as_f64().unwrap() > 0.0, "{result}");
    }
    // On a machine that is held up, the last fetches may still be under way: then they have no times.
    for name in ["  fetch", "  ack"] {
        if named(&report, name)["p50_ms"].is_number() {
            assert_times(named(&report, name));
        }
    }
}

#[test]
fn latency_as_json_is_at_half_of_the_most() {
    // A machine may be held up while one of the two is measured, but not each time.
    for duration in ["300ms", "1s", "3s", "10s"] {
        let ran = bench_for(duration, &["latency", "--json"]);
        if is_too_short(&ran) {
            continue;
        }
        let report = ran.json();
        let rate = |name| named(&report, name)["value"].as_f64().unwrap();
        let (most, half) = (rate("the most, enqueue to ack"), rate("enqueue at half of it"));
        assert_times(named(&report, "enqueue at half of it"));
        assert_times(named(&report, "from enqueue to a waiting worker"));
        if (half / most - 0.5).abs() < 0.25 {
            return;
        }
    }
    panic!("it is never half of the most");
}

#[test]
fn depth_as_json_says_how_many_wait() {
    let report = bench(&["depth", "--jobs", "10001", "--json"]).json();
    // A thousand more, and three times 500 were fetched.
    let deep = named(&report, "fetch with 9501 waiting, median");
    assert_times(deep);
    assert_eq!(deep["value"], deep["p50_ms"]);
    assert_eq!(deep["ratio"]["of"], "that with 1,000");
    assert_eq!(named(&report, "restart with 9501 waiting")["unit"], "s");
    assert_eq!(named(&report, "memory for each further waiting job")["unit"], "bytes");
}

#[test]
fn credentials() {
    reports!("bench_credentials", bench(&["credentials"]).printed());
}

#[test]
fn credentials_as_json_are_compared_with_none() {
    let report = bench(&["credentials", "--json"]).json();
    assert!(named(&report, "enqueue")["ratio"].is_null());
    for name in ["with an API key", "with a token", "over TLS", "over TLS with an API key"] {
        let result = named(&report, &format!("enqueue {name}"));
        assert_eq!(result["ratio"]["of"], "that without", "{result}");
        assert!(result["ratio"]["value"].as_f64().unwrap() > 0.0, "{result}");
        assert_times(result);
    }
}

#[test]
fn a_gateway_is_compared_with_its_region() {
    let report = bench(&["federation", "--json"]).json();
    assert!(named(&report, "enqueue")["ratio"].is_null());
    let through = named(&report, "enqueue through a gateway");
    assert!(through["ratio"]["value"].as_f64().unwrap() > 0.0, "{through}");
    assert_times(through);
    assert!(named(&report, "added at the median")["value"].is_number(), "{report}");
    for regions in [100, 1000] {
        let routed = named(&report, &format!("route by affinity, {regions} regions"));
        assert!(routed["value"].as_f64().unwrap() > 0.0, "{routed}");
    }
}

#[test]
fn a_hostile_tenant_refuses_nothing_to_a_quiet_one() {
    let report = bench(&["hostile", "--json"]).json();
    let quiet: Vec<&Value> = results(&report)
        .iter()
        .filter(|result| result["name"].as_str().unwrap().starts_with("quiet tenant beside "))
        .collect();
    assert_eq!(quiet.len(), 9, "{report}");
    for result in quiet {
        assert_times(result);
        assert!(result["ratio"]["of"].as_str().unwrap().starts_with("its p99 alone, "), "{result}");
    }
    let accepted = |attack: usize| results(&report)[attack * 4 + 2]["value"].as_f64().unwrap();
    assert!(accepted(0) > 0.0, "the flood was served too: {report}");
}

#[test]
fn the_baseline_answers_with_what_it_was_sent() {
    let mut echo = command(&["bench", "echo-server"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(echo.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("{}/echo", line.trim().trim_start_matches("listening on  "));
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = vec![b'x'; 5 << 20];
    for body in [b"".as_slice(), b"{ \"a\": [1.0,\r\n\t2] }", &every_byte, &large] {
        let answer = ureq::post(&url).send(body).unwrap();
        let echoed = answer.into_body().with_config().limit(10 << 20).read_to_vec().unwrap();
        assert!(echoed == body, "{} bytes became {}", body.len(), echoed.len());
    }
    echo.kill().unwrap();
    echo.wait().unwrap();
}
