//! Settings, from wherever they come, and what is said when they are wrong.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ended, Process, run};
use crate::support::command;

#[test]
fn flags_win_over_the_environment_over_the_file_over_the_defaults() {
    let (_dir, file) = file_with(
        "data = \"from-file\"\n\n[log]\nlevel = \"warn\"\n\n[limits]\nbatch_jobs = 7\nqueues = 8\n",
    );
    let arguments =
        ["config", "--json", "--config", file.to_str().unwrap(), "--limits-batch-jobs", "9"];
    let environment = [("ROTA_LIMITS_BATCH_JOBS", "11"), ("ROTA_LOG_LEVEL", "debug")];
    let ended = run(&arguments, &environment);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows: Value = serde_json::from_str(&ended.stdout).unwrap();
    let file_line = |line| format!("file {} line {line}", file.display());
    for (key, value, origin) in [
        ("limits.batch_jobs", "9", "flag --limits-batch-jobs"),
        ("log.level", "debug", "environment ROTA_LOG_LEVEL"),
        ("limits.queues", "8", &file_line(8)),
        ("data", "from-file", &file_line(1)),
        ("listen", "127.0.0.1:8080", "default"),
    ] {
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == key).expect(key);
        assert_eq!((row["value"].as_str(), row["origin"].as_str()), (Some(value), Some(origin)));
        assert!(row["default"].is_string() && row["help"].is_string(), "{row}");
    }
}

#[test]
fn the_table_for_people_says_the_same() {
    let (_dir, file) = file_with("limits.queues = 8\n");
    let ended = run(&["config", "--config", file.to_str().unwrap(), "--data", "here"], &[]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    let line = |key: &str| {
        let found = ended.stdout.lines().find(|line| line.split_whitespace().next() == Some(key));
        found.unwrap_or_else(|| panic!("{key} is not in {}", ended.stdout)).to_owned()
    };
    assert!(line("data").contains("here") && line("data").contains("flag --data"));
    assert!(line("limits.queues").contains(&format!("file {} line 1", file.display())));
    assert!(line("listen").contains("default"));
    assert_eq!(ended.stdout.lines().next().unwrap().split_whitespace().count(), 3);
}

#[test]
fn a_server_runs_with_what_config_shows() {
    let (dir, file) = file_with("[limits]\nbatch_jobs = 7\nqueues = 8\nfetch_jobs = 6\n");
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--limits-batch-jobs", "9"]);
    command.env("ROTA_CONFIG", &file).env("ROTA_LIMITS_QUEUES", "11");
    let mut server = Process::spawn(command.arg("--data").arg(dir.path().join("data")));
    let answer = server.connect().get("/ojs/v1/admin/system/config").unwrap().json();
    let config = &answer["config"];
    assert_eq!(config["limits.batch_jobs"], "9");
    assert_eq!(config["limits.queues"], "11");
    assert_eq!(config["limits.fetch_jobs"], "6");
    let manifest = server.connect().get("/ojs/manifest").unwrap().json();
    assert_eq!(manifest["limits"]["batch_jobs"], 9);
}

#[test]
fn an_unknown_flag_is_named() {
    for name in ["serve", "config"] {
        let ended = run(&[name, "--limits-batch-job", "9"], &[]);
        assert_wrong(&ended, &["--limits-batch-job"]);
        assert!(ended.stderr.contains("--limits-batch-jobs"), "{}", ended.stderr);
    }
}

#[test]
fn an_unknown_variable_is_named() {
    for name in ["serve", "config"] {
        let ended = run(&[name], &[("ROTA_LIMITS_BATCH_JOB", "9")]);
        assert_wrong(&ended, &["ROTA_LIMITS_BATCH_JOB", "\"9\"", "did you mean"]);
        assert!(ended.stderr.contains("ROTA_LIMITS_BATCH_JOBS"), "{}", ended.stderr);
    }
}

#[test]
fn an_unknown_key_in_the_file_is_named_with_its_line() {
    let (_dir, file) = file_with("[limits]\n\nbatch_job = 9\n");
    let place = format!("file {} line 3", file.display());
    let ended = run(&["serve", "--config", file.to_str().unwrap()], &[]);
    assert_wrong(&ended, &[&place, "limits.batch_job ", "did you mean limits.batch_jobs"]);
}

#[test]
fn a_bad_value_is_named_with_what_was_expected_and_where_it_came_from() {
    for (key, flag, variable, bad) in [
        ("listen", "--listen", "ROTA_LISTEN", "8080"),
        ("durability", "--durability", "ROTA_DURABILITY", "perhaps"),
        ("limits.batch_jobs", "--limits-batch-jobs", "ROTA_LIMITS_BATCH_JOBS", "1001"),
        ("limits.body_bytes", "--limits-body-bytes", "ROTA_LIMITS_BODY_BYTES", "-1"),
        ("engine.commands", "--engine-commands", "ROTA_ENGINE_COMMANDS", "15"),
        ("shutdown.grace", "--shutdown-grace", "ROTA_SHUTDOWN_GRACE", "soon"),
        ("retention.completed", "--retention-completed", "ROTA_RETENTION_COMPLETED", "12"),
        ("log.level", "--log-level", "ROTA_LOG_LEVEL", "loud"),
        (
            "http.cors_origins",
            "--http-cors-origins",
            "ROTA_HTTP_CORS_ORIGINS",
            "https://example.com/",
        ),
        ("testing.directives", "--testing-directives", "ROTA_TESTING_DIRECTIVES", "yes"),
    ] {
        let said = format!("{key} = \"{bad}\", expected ");
        // With `=`, so that a value may begin with a dash.
        let ended = run(&["serve", &format!("{flag}={bad}")], &[]);
        assert_wrong(&ended, &[&format!("flag {flag}"), &said]);
        let ended = run(&["serve"], &[(variable, bad)]);
        assert_wrong(&ended, &[&format!("environment {variable}"), &said]);
        let (_dir, file) = file_with(&format!("{key} = \"{bad}\"\n"));
        let ended = run(&["serve", "--config", file.to_str().unwrap()], &[]);
        assert_wrong(&ended, &[&format!("file {} line 1", file.display()), &said]);
    }
}

#[test]
fn all_problems_are_listed_at_once() {
    let (_dir, file) = file_with("colour = \"red\"\nlisten = \"nowhere\"\n[log]\nlevel = 5\n");
    let arguments = [
        "serve",
        "--config",
        file.to_str().unwrap(),
        "--engine-batch",
        "0",
        "--limits-job-bytes",
        "1GiB",
    ];
    let ended = run(&arguments, &[("ROTA_DATUM", "x"), ("ROTA_CACHE_BODIES", "much")]);
    let words =
        ["colour", "listen", "log.level", "engine.batch", "limits.job_bytes", "ROTA_DATUM", "much"];
    assert_wrong(&ended, &words);
    assert!(ended.stderr.contains("7 problems"), "{}", ended.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let (dir, file) = file_with("listen = \n");
    let ended = run(&["serve", "--config", file.to_str().unwrap()], &[]);
    assert_wrong(&ended, &[&file.display().to_string(), "line 1"]);
    for path in [dir.path().join("missing.toml"), dir.path().to_owned()] {
        let ended = run(&["serve", "--config", path.to_str().unwrap()], &[]);
        assert_wrong(&ended, &[&path.display().to_string(), "cannot be read"]);
    }
    fs::write(&file, b"listen = \"\xff\"").unwrap();
    let ended = run(&["serve", "--config", file.to_str().unwrap()], &[]);
    assert_wrong(&ended, &[&file.display().to_string()]);
}

#[test]
fn without_a_command_it_says_what_there_is() {
    let ended = run(&[], &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let said = ended.stdout + &ended.stderr;
    assert!(said.contains("serve") && said.contains("config"), "{said}");
    let ended = run(&["--version"], &[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains(env!("CARGO_PKG_VERSION")), "{ended:?}");
    assert_eq!(run(&["dance"], &[]).code, Some(2));
}

#[track_caller]
fn assert_wrong(ended: &Ended, words: &[&str]) {
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "{word} is not in: {}", ended.stderr);
    }
}

fn file_with(text: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("rota.toml");
    fs::write(&file, text).unwrap();
    (dir, file)
}
