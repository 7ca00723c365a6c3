//! The test suite that every log must pass.
//!
//! A log's crate implements [`Fixture`], and [`log_tests!`](crate::log_tests) generates one test per
//! scenario.

mod append;
mod base;
mod driver;
mod random_walk;
mod read;
mod reopen;
mod truncate;

use std::future::Future;

use crate::{Base, Log, LogError};

pub use append::*;
pub use base::*;
pub use random_walk::*;
pub use read::*;
pub use reopen::*;
pub use truncate::*;

/// Opens the log that a scenario tests. A new fixture has no records. Its logs should give up records
/// in portions of a few hundred kilobytes at most, so that truncation can be observed.
pub trait Fixture {
    type Log: Log;

    /// Opens the log. When called again after that log was closed or dropped, opens one with the
    /// same records.
    fn open(&self, base: Base) -> Result<Self::Log, LogError>;

    /// Runs a future of the log to completion on this thread.
    fn block_on<T: Future>(&self, future: T) -> T::Output;
}

/// Generates one `#[test]` per scenario. The expression is evaluated for each, so every test has
/// its own fixture.
#[macro_export]
macro_rules! log_tests {
    ($fixture:expr) => {
        $crate::log_tests! { @each $fixture;
            a_new_log_begins_at_its_base
            appended_records_are_read_back
            payloads_of_every_size_are_kept
            extreme_values_are_kept
            an_entry_that_does_not_follow_the_tip_is_refused
            a_term_may_rise_but_not_fall
            settling_changes_no_record
            the_checksum_of_the_tip_depends_on_all_records
            reads_are_bounded_in_bytes
            reading_starts_anywhere
            reading_past_the_tip_yields_nothing
            truncated_records_are_gone_and_the_others_are_not
            truncating_everything_keeps_the_newest_record
            a_truncated_log_goes_on
            a_closed_log_reopens_the_same
            a_dropped_log_reopens_the_same
            a_log_without_records_reopens_at_another_base
            a_base_beyond_the_tip_is_refused
            a_base_before_the_first_record_is_refused
            a_base_of_another_history_is_refused
            random_walks_match_a_model
        }
    };
    (@each $fixture:expr; $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() {
                let fixture = $fixture;
                $crate::suite::$scenario(&fixture);
            }
        )*
    };
}
