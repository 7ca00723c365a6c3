//! Errors of failed executions.

use bytes::Bytes;
use rota_model::Ending;

use super::Fixture;
use super::driver::Driver;
use super::sample::{claim, error, error_json, finish, insert};
use crate::ERRORS_KEPT;

pub fn errors_are_stored_in_order<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1), insert(2), insert(3)]);
    driver.commit(vec![claim(2), error(2, 1), error(3, 1)]);
    driver.commit(vec![error(2, 2), error(2, 3)]);
    let mut driver = driver.crash_and_reopen();
    driver.commit(vec![error(2, 4), finish(2, Ending::DeadLetter)]);
    assert_eq!(driver.record(1).errors, [] as [Bytes; 0]);
    assert_eq!(driver.record(2).errors, [1, 2, 3, 4].map(error_json));
    assert_eq!(driver.record(3).errors, [error_json(1)]);
}

pub fn only_the_last_errors_are_kept<F: Fixture>(fixture: &F) {
    let mut driver = Driver::open(fixture);
    driver.commit(vec![insert(1), insert(2), error(2, 1)]);
    let kept = ERRORS_KEPT as u32;
    driver.commit((1..=kept).map(|attempt| error(1, attempt)).collect());
    assert_eq!(driver.record(1).errors, (1..=kept).map(error_json).collect::<Vec<_>>());
    driver.commit((kept + 1..=kept + 5).map(|attempt| error(1, attempt)).collect());
    assert_eq!(driver.record(1).errors, (6..=kept + 5).map(error_json).collect::<Vec<_>>());
    assert_eq!(driver.record(2).errors, [error_json(1)]);
}
