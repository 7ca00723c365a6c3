//! That every command has examples is tested beside the command line itself.

use crate::looks_like;
use crate::run::rota_at;

#[test]
fn the_first_help_groups_the_commands() {
    looks_like!("overview", rota_at("", &["--help"]).printed());
}

#[test]
fn the_help_of_a_command_teaches() {
    for arguments in
        [&["enqueue", "--help"][..], &["jobs", "list", "--help"], &["cron", "add", "--help"]]
    {
        let text = rota_at("", arguments).printed();
        assert!(text.contains("Examples:\n  rota "), "{text}");
        assert!(text.contains("--url <URL>") && text.contains("--json"), "{text}");
    }
}

#[test]
fn a_mistyped_command_gets_a_suggestion() {
    let message = rota_at("", &["job"]).failed(2);
    assert!(message.contains("a similar subcommand exists: 'jobs'"), "{message}");
}

#[test]
fn settings_have_one_word_values() {
    let help = rota_at("", &["serve", "--help"]).printed();
    assert!(help.contains("--tenancy-source <LIST>\n"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let list = "Separated by commas: body, header or credentials, each at most once.";
    assert!(words.contains(list), "{help}");
    assert!(!help.contains("<a "), "{help}");
}
