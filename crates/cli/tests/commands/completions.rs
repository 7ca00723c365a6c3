use std::io::Write;
use std::process::{Command, Stdio};

use crate::run::rota_at;

fn script(shell: &str) -> String {
    rota_at("", &["completions", shell]).printed()
}

#[test]
fn bash_takes_its_script() {
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash runs");
    bash.stdin.take().unwrap().write_all(script("bash").as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn bash_completes_commands() {
    let probe = format!(
        "{}\nCOMP_WORDS=(rota dead); COMP_CWORD=1; _rota rota dead rota; echo \"${{COMPREPLY[@]}}\"",
        script("bash")
    );
    let output = Command::new("bash").args(["-c", &probe]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "dead-letter");
}

#[test]
fn other_shells_have_theirs() {
    assert!(script("zsh").starts_with("#compdef rota"));
    assert!(script("fish").contains("complete -c rota"));
    let message = rota_at("", &["completions", "dos"]).failed(2);
    assert!(message.contains("possible values: bash"), "{message}");
}
