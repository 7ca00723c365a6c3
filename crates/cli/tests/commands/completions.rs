use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::run::rota_at;

fn script(shell: &str) -> String {
    rota_at("", &["completions", shell]).printed()
}

/// What bash says to this on its standard input; as an argument it would be too long.
fn bash(arguments: &[&str], input: &str) -> Output {
    let mut bash = Command::new("bash")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash runs");
    bash.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    bash.wait_with_output().unwrap()
}

#[test]
fn bash_takes_its_script() {
    assert!(bash(&["-n"], &script("bash")).status.success());
}

#[test]
fn bash_completes_commands() {
    let completed = |words: &str, place: usize, word: &str| {
        let probe = format!(
            "{}\nCOMP_WORDS=({words}); COMP_CWORD={place}; _rota rota {word} rota; \
             echo \"${{COMPREPLY[@]}}\"\n",
            script("bash")
        );
        String::from_utf8_lossy(&bash(&[], &probe).stdout).trim().to_owned()
    };
    assert_eq!(completed("rota dead", 1, "dead"), "dead-letter");
    assert_eq!(completed("rota tenants cha", 2, "cha"), "changes");
    assert_eq!(completed("rota limits pa", 2, "pa"), "pause");
}

#[test]
fn other_shells_have_theirs() {
    assert!(script("zsh").starts_with("#compdef rota"));
    assert!(script("fish").contains("complete -c rota"));
    let message = rota_at("", &["completions", "dos"]).failed(2);
    assert!(message.contains("possible values: bash"), "{message}");
}
