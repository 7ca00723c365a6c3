//! Negative numbers, zero and other nonsense get a message that says what is accepted.

use crate::run::rota_at;

#[test]
fn numbers_out_of_bounds_are_explained() {
    let one = "a whole number of at least 1 is expected";
    let none = "a whole number of at least 0, or none, is expected";
    let cases: [(&str, &[&str], &str); 22] = [
        ("jobs list --limit", &["0", "-3", "x"], one),
        ("fairness --limit", &["0", "-3"], one),
        ("events --limit", &["-1"], "a whole number from 0 to 10000"),
        ("enqueue a --max-attempts", &["0", "-1"], one),
        ("enqueue a --priority", &["101", "-101"], "from -100 to 100"),
        ("enqueue a --timeout", &["0s"], "it must be longer than 0"),
        ("enqueue a --timeout", &["-5s"], "it must not be negative"),
        ("enqueue a --in", &["-5s"], "it must not be negative"),
        ("enqueue a --expires-in", &["0s"], "it must be longer than 0"),
        ("enqueue a --limit-concurrency", &["-1"], "a whole number of at least 0"),
        ("enqueue a --limit-rate", &["-1/1m", "5/0s", "5/-1s"], "a rate such as 100/1m"),
        ("work --concurrency", &["0", "-1", "1001"], "a whole number from 1 to 1000"),
        ("work --max-jobs", &["0"], one),
        ("queues config q --max-depth", &["-1"], "a whole number of at least 0"),
        ("queues config q --max-size-bytes", &["-1"], "a size such as 512mb"),
        ("queues config q --warning-threshold", &["-0.5", "2"], "a number from 0 to 1"),
        ("pools set p --queue q --concurrency", &["0", "-1"], one),
        ("pools set p --queue q --min-dispatch-ratio", &["-1"], "a number from 0 to 1"),
        ("tenants set t --max-concurrency", &["-1"], none),
        ("tenants set t --weight", &["0", "-1"], "a number above 0"),
        ("limits pause k --for", &["0s"], "it must be longer than 0"),
        ("jobs list --since", &["-2h"], "how long ago"),
    ];
    for (line, values, expected) in cases {
        for value in values {
            let arguments: Vec<&str> = line.split(' ').chain([*value]).collect();
            let message = rota_at("http://127.0.0.1:9", &arguments).failed(2);
            assert!(message.contains(expected), "{line} {value}: {message}");
        }
    }
    let message = rota_at("", &["serve", "--limits-batch-jobs", "-5"]).failed(2);
    assert!(message.contains("expected a whole number from 1 to 1000"), "{message}");
}
