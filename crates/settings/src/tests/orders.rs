use super::Sources;

#[test]
fn a_job_fits_in_a_body() {
    let equal = Sources { flags: &[("limits.body_bytes", "1MiB")], ..Sources::default() };
    assert!(equal.resolve().is_ok());

    let smaller = Sources { flags: &[("limits.body_bytes", "512KiB")], ..Sources::default() };
    assert_eq!(
        smaller.problems(),
        ["limits.job_bytes = \"1MiB\" (default) must not be greater than \
          limits.body_bytes = \"512KiB\" (flag --limits-body-bytes)"]
    );
}

#[test]
fn a_worker_has_time_for_a_heartbeat() {
    let sources = Sources {
        environment: &[("ROTA_WORKERS_HEARTBEAT_TIMEOUT", "PT5S")],
        ..Sources::default()
    };
    assert_eq!(
        sources.problems(),
        ["workers.heartbeat_interval = \"5s\" (default) must be less than \
          workers.heartbeat_timeout = \"PT5S\" (environment ROTA_WORKERS_HEARTBEAT_TIMEOUT)"]
    );
}

#[test]
fn orders_are_checked_beside_other_problems_but_not_against_bad_values() {
    let sources = Sources {
        flags: &[
            ("listen", "x"),
            ("limits.job_bytes", "32MiB"),
            ("workers.heartbeat_interval", "1h"),
            ("workers.heartbeat_timeout", "later"),
        ],
        ..Sources::default()
    };
    let problems = sources.problems();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[2].starts_with("limits.job_bytes"), "{problems:?}");
}
