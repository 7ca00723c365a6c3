//! Commands and the client, over TLS and with credentials.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::authority::Authority;
use crate::secure::start;
use crate::support::{Server, command};

/// A command in a home directory of its own.
fn rota(home: &Path, arguments: &[&str]) -> Command {
    let mut command = command(arguments);
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command
}

fn url(server: &Server, host: &str) -> String {
    format!("https://{host}:{}", server.address().port())
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn assert_ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", error_of(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn commands_speak_tls_and_say_what_is_wrong_with_a_certificate() {
    let (authority, others) = (Authority::new(), Authority::new());
    let server = start(&authority, &[]);
    let (ca, other) = (authority.file(), others.file());
    let (ca, other) = (ca.to_str().unwrap(), other.to_str().unwrap());
    let home = tempfile::TempDir::new().unwrap();
    let run = |arguments: &[&str]| rota(home.path(), arguments).output().unwrap();
    let address = url(&server, "127.0.0.1");
    let local = url(&server, "localhost");
    let data = server.dir().to_str().unwrap();

    assert_ok(&run(&["enqueue", "a.b", "--url", &address, "--ca-file", ca]));
    let listed = assert_ok(&run(&["--ca-file", ca, "--url", &local, "jobs", "--json"]));
    assert!(listed.contains("\"a.b\""), "{listed}");
    assert_ok(&run(&["doctor", "--url", &address, "--ca-file", ca, "--data", data]));

    for trusted in [&["--ca-file", other][..], &[]] {
        let failed = run(&[&["jobs", "--url", &address], trusted].concat());
        let error = error_of(&failed);
        assert_eq!(failed.status.code(), Some(3), "{error}");
        assert!(error.contains("an authority that is not trusted"), "{error}");
        assert!(error.contains("--ca-file"), "{error}");
    }
    let failed = run(&["jobs", "--url", &address, "--ca-file", "/nowhere.pem"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(error_of(&failed).contains("/nowhere.pem cannot be read"), "{}", error_of(&failed));

    // Plain HTTP to TLS.
    let failed = run(&["jobs", "--url", &address.replace("https", "http")]);
    assert!(error_of(&failed).contains("https://"), "{}", error_of(&failed));
    // TLS to plain HTTP.
    let plain = Server::start();
    let failed = run(&["jobs", "--url", &url(&plain, "127.0.0.1"), "--ca-file", ca]);
    assert!(error_of(&failed).contains("does not speak TLS"), "{}", error_of(&failed));
}

#[test]
fn certificates_that_have_expired_or_are_for_others_are_refused() {
    let authority = Authority::new();
    let ca = authority.file();
    let home = tempfile::TempDir::new().unwrap();
    let expired = authority.expired("expired");
    let elsewhere = authority.issue("elsewhere", &["jobs.example.com"], |_| {});
    for (pair, expected) in [(expired, "has expired"), (elsewhere, "jobs.example.com")] {
        let (certificate, key) = (pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap());
        let server = Server::start_with(&["--tls-certificate", certificate, "--tls-key", key]);
        let address = url(&server, "127.0.0.1");
        let arguments = ["jobs", "--url", &address, "--ca-file", ca.to_str().unwrap()];
        let failed = rota(home.path(), &arguments).output().unwrap();
        let error = error_of(&failed);
        assert_eq!(failed.status.code(), Some(3), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_client_certificate_is_shown() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let client_ca = clients.file();
    let flags = ["--tls-client-auth", "required", "--tls-client-ca", client_ca.to_str().unwrap()];
    let server = start(&authority, &flags);
    let home = tempfile::TempDir::new().unwrap();
    let run = |more: &[&str]| {
        let (address, ca) = (url(&server, "localhost"), authority.file());
        let arguments = ["jobs", "--url", &address, "--ca-file", ca.to_str().unwrap()];
        rota(home.path(), &[&arguments[..], more].concat()).output().unwrap()
    };
    let good = clients.client("good", "good.example");
    let (certificate, key) = (good.certificate.to_str().unwrap(), good.key.to_str().unwrap());
    assert_ok(&run(&["--client-cert", certificate, "--client-key", key]));
    let failed = error_of(&run(&[]));
    assert!(failed.contains("asks for a client's certificate"), "{failed}");
    let unknown = authority.client("unknown", "unknown.example");
    let (certificate, key) = (unknown.certificate.to_str().unwrap(), unknown.key.to_str().unwrap());
    let failed = error_of(&run(&["--client-cert", certificate, "--client-key", key]));
    assert!(failed.contains("does not accept the client's certificate"), "{failed}");
    let failed = error_of(&run(&["--client-cert", certificate]));
    assert!(failed.contains("--client-cert needs --client-key"), "{failed}");
}

/// A server that asks for keys, and its first key.
fn with_keys(authority: &Authority) -> (Server, String) {
    let made = assert_ok(&command(&["keys", "generate"]).output().unwrap());
    let key = made.split_whitespace().next().unwrap().to_owned();
    let file = authority.dir().join("first-key");
    std::fs::write(&file, &key).unwrap();
    let flags = ["--auth-modes", "keys", "--auth-bootstrap-key-file", file.to_str().unwrap()];
    (start(authority, &flags), key)
}

#[test]
fn a_token_comes_from_the_flag_the_variable_or_the_file() {
    let authority = Authority::new();
    let (server, key) = with_keys(&authority);
    let (address, ca) = (url(&server, "localhost"), authority.file());
    let home = tempfile::TempDir::new().unwrap();
    let run = |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["jobs", "--url", &address][..], more].concat();
        rota(home.path(), &arguments)
            .env("ROTA_CA_FILE", &ca)
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    };
    let refused = run(&[], &[]);
    assert_eq!(refused.status.code(), Some(5), "{}", error_of(&refused));
    assert_ok(&run(&["--token", &key], &[]));
    assert_ok(&run(&[], &[("ROTA_TOKEN", &key)]));
    let help = assert_ok(&run(&["--help"], &[("ROTA_TOKEN", &key)]));
    assert!(help.contains("ROTA_TOKEN") && !help.contains(&key), "{help}");

    let file = home.path().join(".config/rota/credentials.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let entry = format!("[\"{address}/\"]\ntoken = \"{key}\"\n[\"https://other.example\"]\n");
    std::fs::write(&file, entry).unwrap();
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let open = run(&[], &[]);
    assert_eq!(open.status.code(), Some(2));
    assert!(error_of(&open).contains("chmod 600"), "{}", error_of(&open));
    mode(0o600);
    assert_ok(&run(&[], &[]));
    // What was given explicitly wins.
    assert_eq!(run(&["--token", "rota_wrong"], &[]).status.code(), Some(5));

    std::fs::write(&file, format!("[\"{address}\"]\ntoken = [\"{key}\"\n")).unwrap();
    let broken = run(&[], &[]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(!error_of(&broken).contains(&key), "a secret is never printed");
    let elsewhere = home.path().join("elsewhere.toml");
    let missing = run(&["--credentials", elsewhere.to_str().unwrap()], &[]);
    assert!(error_of(&missing).contains("elsewhere.toml cannot be read"), "{}", error_of(&missing));
}

#[test]
fn a_worker_runs_jobs_over_tls_with_its_token() {
    let authority = Authority::new();
    let (server, key) = with_keys(&authority);
    let address = url(&server, "localhost");
    let home = tempfile::TempDir::new().unwrap();
    let run = |arguments: &[&str]| {
        rota(home.path(), arguments)
            .env("ROTA_URL", &address)
            .env("ROTA_CA_FILE", authority.file())
            .env("ROTA_TOKEN", &key)
            .output()
            .unwrap()
    };
    assert_ok(&run(&["enqueue", "a.b", "--queue", "q", "--args", &json!([1]).to_string()]));
    assert_ok(&run(&["work", "--queue", "q", "--max-jobs", "1", "--", "true"]));
    let listed = assert_ok(&run(&["jobs", "--state", "completed", "--json"]));
    assert!(listed.contains("\"a.b\""), "{listed}");
}
