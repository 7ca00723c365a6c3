//! The test suite that every store must pass.
//!
//! A store's crate says how to open one, and [`store_tests!`](crate::store_tests) makes a test of
//! each scenario:
//!
//! ```ignore
//! rota_store::store_tests!(TemporaryDirectory::new());
//! ```

mod atomic;
mod classes;
mod delete;
mod driver;
mod errors;
mod finish;
mod history;
mod insert;
mod journal;
mod large;
mod list_by;
mod list_classes;
mod list_pages;
mod list_scan;
mod named;
mod numbering;
mod oracle;
mod overdue;
mod random_walk;
mod records;
mod refused;
mod reopen;
mod resolve;
mod revive;
mod sample;
mod sizes;
mod together;
mod usage;
mod visible;
mod working;

use std::future::Future;

use crate::Store;

pub use atomic::*;
pub use classes::*;
pub use delete::*;
pub use errors::*;
pub use finish::*;
pub use history::*;
pub use insert::*;
pub use journal::*;
pub use large::*;
pub use list_by::*;
pub use list_classes::*;
pub use list_pages::*;
pub use list_scan::*;
pub use named::*;
pub use numbering::*;
pub use overdue::*;
pub use random_walk::*;
pub use records::*;
pub use refused::*;
pub use reopen::*;
pub use resolve::*;
pub use revive::*;
pub use sizes::*;
pub use together::*;
pub use usage::*;
pub use visible::*;
pub use working::*;

/// Where a scenario gets its store from. A fresh fixture holds no data.
pub trait Fixture {
    type Store: Store;

    /// Opens the store. It is called again after the last one was closed or dropped, and then
    /// finds the same data.
    fn open(&self) -> Self::Store;

    /// Waits for a store's future on this thread.
    fn block_on<T: Future>(&self, future: T) -> T::Output;
}

/// Makes one `#[test]` of every scenario, each with a fixture of its own from the expression.
#[macro_export]
macro_rules! store_tests {
    ($fixture:expr) => {
        $crate::store_tests! { @each $fixture;
            a_new_store_is_empty
            every_field_of_a_job_is_kept
            extreme_values_are_kept
            a_claim_sets_what_it_names
            an_extension_moves_the_reservation
            a_failed_job_backs_off
            a_job_becomes_ready_again
            an_execution_that_does_not_count_is_undone
            a_ready_job_is_postponed
            a_batch_may_claim_postpone_and_undo
            jobs_claimed_at_once_keep_their_own_pools
            the_size_of_a_body_is_told_everywhere
            finishing_carries_over_what_the_job_had
            every_ending_is_kept
            a_revived_job_starts_over
            deleting_removes_all_of_a_job
            errors_are_kept_in_order
            only_the_last_errors_are_kept
            classes_and_counts_are_kept
            a_dropped_class_is_gone_with_its_counts
            named_things_of_each_kind_are_kept_apart
            journal_entries_are_kept_under_their_batch
            a_trim_removes_earlier_entries
            a_batch_has_at_most_one_journal_entry
            number_time_and_sequence_are_kept
            a_batch_that_does_not_follow_is_refused
            a_batch_is_all_or_nothing
            contradictions_are_refused
            ids_are_resolved_in_the_order_asked_for
            ids_that_hold_their_number_are_resolved
            bodies_are_read_by_sequence
            records_hold_everything
            lists_select_by_state
            lists_select_by_ending
            lists_select_the_dead_letter
            lists_select_by_class
            lists_select_by_creation
            lists_merge_living_and_finished_jobs_in_order
            pages_hold_every_job_once_while_jobs_move
            pages_end_at_the_limit
            a_few_jobs_beside_a_flood_have_full_pages
            a_deep_page_beside_a_flood_is_read_at_once
            jobs_that_trickle_in_beside_a_flood_have_full_pages
            one_of_thousands_of_classes_has_full_pages
            a_class_is_listed_while_jobs_around_it_are_deleted
            a_class_is_listed_whatever_the_order_of_its_numbers
            pages_end_at_the_scan_bound
            overdue_jobs_come_longest_overdue_first
            a_sweep_says_how_far_it_went
            a_job_that_lived_again_is_overdue_by_its_last_end
            a_job_that_lived_again_is_overdue_only_once
            jobs_without_a_purge_time_are_never_overdue
            history_is_replaced_and_read_by_range
            forgotten_history_is_gone
            usage_adds_up_by_hour_and_day
            old_usage_goes_in_slices_and_a_tenants_at_once
            forgotten_history_of_a_queue_leaves_that_of_others
            a_load_tells_the_minutes_of_the_last_hour
            a_closed_store_reopens_the_same
            a_crashed_store_reopens_the_same
            a_commit_is_visible_at_once
            a_long_body_is_kept
            ten_thousand_jobs_fit_in_a_batch
            random_walks_match_the_oracle
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
