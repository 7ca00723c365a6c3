//! What a start says.

use std::process::Stdio;

use crate::support::command;

#[test]
fn help_teaches_with_examples() {
    let output = command(&["serve", "--help"]).stdout(Stdio::piped()).output().expect("rota runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("Examples:"), "{text}");
}
