//! The program itself: its exit codes, what it prints, and the servers it starts.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    stub::{self, Asked, answer},
};

fn command(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rota-conformance"))
        .arg("--suites")
        .arg(folder.suites())
        .args(arguments)
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn expecting(status: u16) -> Folder {
    Folder::with_steps(json!([{"action": "GET", "path": "/", "assertions": {"status": status}}]))
}

#[test]
fn the_exit_code_tells_success_from_failure_from_misuse() {
    let url = stub::start(|_| answer(200, "{}"));
    let passing = command(&expecting(200), &["--url", &url]);
    assert_eq!(passing.status.code(), Some(0));
    assert_eq!(printed(&passing).lines().last(), Some("1 passed, 0 failed"));
    let failing = command(&expecting(404), &["--url", &url]);
    assert_eq!(failing.status.code(), Some(1));
    assert_eq!(printed(&failing).lines().last(), Some("0 passed, 1 failed"));

    let misuse: [&[&str]; 5] = [
        &[],
        &["--url", &url, "--server-bin", "/bin/true"],
        &["--url", &url, "--only", "level-8"],
        &["--url", &url, "--known", "/does/not/exist"],
        &["--server-bin", "/does/not/exist"],
    ];
    for arguments in misuse {
        let output = command(&expecting(200), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    assert_eq!(command(&Folder::new(), &["--url", &url]).status.code(), Some(2));
}

#[test]
fn json_is_one_document() {
    let url = stub::start(|_| answer(200, "{}"));
    let output = command(&expecting(404), &["--url", &url, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["failed"], 1);
    assert_eq!(report["cases"][0]["verdict"], "fail");
    assert_eq!(report["cases"][0]["failures"][0]["problems"][0]["actual"], "200");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0 passed, 1 failed\n");
}

/// A program that a test can start as a server.
fn program(folder: &Folder, script: &str) -> PathBuf {
    let path = folder.home().join("server");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Not a test but the server that the next one starts, by way of this very program.
#[test]
#[ignore = "serves until it is killed"]
fn stub_server() {
    let Ok(listen) = std::env::var("STUB_LISTEN") else {
        return;
    };
    let directives = std::env::var("ROTA_TESTING_DIRECTIVES").unwrap_or_default();
    stub::serve(TcpListener::bind(listen).unwrap(), move |asked: &Asked| {
        match asked.path.as_str() {
            "/ojs/v1/health" => answer(200, "{}"),
            _ => answer(200, json!({"directives": directives})),
        }
    });
}

#[test]
fn each_case_has_a_server_and_a_data_folder_of_its_own() {
    let folder = Folder::new();
    for name in ["one", "two", "three"] {
        let step =
            json!({"action": "GET", "path": "/", "assertions": {"body": {"$.directives": "true"}}});
        folder.add(&format!("{name}.json"), &json!({"steps": [step]}));
    }
    let seen = folder.home().join("seen");
    let itself = std::env::current_exe().unwrap();
    let server = program(
        &folder,
        &format!(
            "test \"$1 $2 $4\" = 'serve --listen --data' && test -d \"$5\" || exit 1\n\
             echo \"$$ $5\" >> '{}'\n\
             STUB_LISTEN=\"$3\" exec '{}' --exact command::stub_server --ignored --nocapture",
            seen.display(),
            itself.display()
        ),
    );
    let output = command(&folder, &["--server-bin", server.to_str().unwrap(), "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));

    let seen = fs::read_to_string(seen).unwrap();
    let servers: Vec<_> = seen.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(servers.len(), 3);
    for (process, data) in servers {
        assert!(!Path::new(data).exists(), "{data} should be removed");
        assert!(!Path::new("/proc").join(process).exists(), "{process} should have ended");
    }
}

#[test]
fn a_server_that_does_not_start_is_told_with_its_words() {
    let folder = expecting(200);
    let server = program(&folder, "echo 'no such disk' >&2; exit 3");
    let output = command(&folder, &["--server-bin", server.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed(&output).contains("no such disk"), "{}", printed(&output));
}
