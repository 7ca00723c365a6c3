//! The test suite that every store must pass.
//!
//! A store's crate implements [`Fixture`], and [`store_tests!`](crate::store_tests) generates one
//! test per scenario:
//!
//! ```ignore
//! rota_store::store_tests!(TemporaryDirectory::new());
//! ```

mod atomic;
mod audit;
mod batch_numbers;
mod body_sizes;
mod classes;
mod contradictions;
mod dead_letter;
mod delete;
mod driver;
mod errors;
mod finish;
mod history;
mod insert;
mod journal;
mod large;
mod list_classes;
mod list_filters;
mod list_pages;
mod list_scan_bound;
mod named_rows;
mod oracle;
mod overdue;
mod random_walk;
mod read_after_commit;
mod records;
mod reopen;
mod resolve;
mod revive;
mod same_batch;
pub(crate) mod sample;
mod stored_bytes;
mod transitions;
mod usage;

use std::future::Future;

use crate::View;

pub use atomic::*;
pub use audit::*;
pub use batch_numbers::*;
pub use body_sizes::*;
pub use classes::*;
pub use contradictions::*;
pub use dead_letter::*;
pub use delete::*;
pub use errors::*;
pub use finish::*;
pub use history::*;
pub use insert::*;
pub use journal::*;
pub use large::*;
pub use list_classes::*;
pub use list_filters::*;
pub use list_pages::*;
pub use list_scan_bound::*;
pub use named_rows::*;
pub use overdue::*;
pub use random_walk::*;
pub use read_after_commit::*;
pub use records::*;
pub use reopen::*;
pub use resolve::*;
pub use revive::*;
pub use same_batch::*;
pub use stored_bytes::*;
pub use transitions::*;
pub use usage::*;

/// Opens the store that a scenario tests. A new fixture has no data.
pub trait Fixture {
    type View: View;

    /// Opens the store. When called again after that store was closed or dropped, opens one with
    /// the same data.
    fn open(&self) -> Self::View;

    /// Runs a future of the store to completion on this thread.
    fn block_on<T: Future>(&self, future: T) -> T::Output;
}

/// Generates one `#[test]` per scenario. The expression is evaluated for each, so every test has
/// its own fixture.
#[macro_export]
macro_rules! store_tests {
    ($fixture:expr) => {
        $crate::store_tests! { @each $fixture;
            a_new_store_is_empty
            every_field_of_a_job_is_stored
            extreme_values_are_stored
            a_claim_sets_its_columns_only
            an_extension_moves_the_reservation
            a_requested_cancellation_is_kept
            a_failed_job_backs_off
            a_job_becomes_ready_again
            an_execution_that_does_not_count_is_undone
            a_ready_job_is_postponed
            one_batch_may_claim_postpone_and_undo
            jobs_claimed_in_one_batch_keep_their_own_pools
            every_read_reports_the_body_size
            finishing_carries_over_the_live_columns
            every_ending_is_stored
            a_revived_job_starts_over
            deleting_removes_every_row_of_a_job
            errors_are_stored_in_order
            only_the_last_errors_are_kept
            classes_and_counts_are_stored
            dropping_a_class_deletes_its_counts
            named_rows_of_different_kinds_are_separate
            journal_entries_are_stored_by_batch_number
            trimming_removes_earlier_journal_entries
            a_batch_has_at_most_one_journal_entry
            the_position_of_a_batch_is_stored
            a_batch_out_of_sequence_is_rejected
            a_batch_is_all_or_nothing
            contradictory_mutations_are_rejected
            ids_are_resolved_in_request_order
            ids_with_a_sealed_sequence_number_are_resolved
            bodies_are_read_by_sequence
            records_are_complete
            reads_end_before_they_have_too_many_bytes
            lists_select_by_state
            lists_select_by_ending
            lists_select_the_dead_letter
            lists_select_by_class
            lists_select_by_creation
            lists_merge_live_and_finished_jobs_in_order
            pages_list_every_job_once_while_jobs_change
            pages_end_at_the_limit
            pages_end_at_their_bytes
            a_small_class_beside_a_large_one_has_full_pages
            a_deep_page_beside_a_large_class_is_one_read
            sparse_jobs_beside_a_large_class_have_full_pages
            one_of_thousands_of_classes_has_full_pages
            a_class_is_listed_while_jobs_around_it_are_deleted
            a_class_is_listed_when_sequence_numbers_are_out_of_order
            pages_end_at_the_scan_bound
            overdue_jobs_are_ordered_by_purge_time
            overdue_reports_through_which_time_it_is_complete
            a_revived_job_is_overdue_by_its_last_end
            a_revived_job_is_overdue_only_once
            jobs_without_a_purge_time_are_never_overdue
            dead_jobs_are_listed_by_error_and_time
            the_oldest_dead_jobs_of_a_shard_are_found
            due_replays_are_found_with_their_count
            a_dead_job_that_is_revived_or_deleted_leaves_nothing_behind
            a_rewritten_job_has_its_new_class_and_body
            history_is_replaced_and_read_by_range
            old_history_is_deleted_in_slices
            usage_adds_up_by_hour_and_day
            old_usage_is_deleted_in_slices_and_a_tenants_at_once
            audit_entries_are_listed_in_pages_from_either_end
            audit_entries_are_filtered
            a_page_of_the_audit_log_reads_a_bounded_number_of_entries
            the_audit_log_is_trimmed_from_its_beginning
            deleting_the_history_of_one_queue_keeps_the_others
            loading_returns_the_minutes_of_the_last_hour
            a_closed_store_reopens_the_same
            a_crashed_store_reopens_the_same
            a_commit_is_visible_at_once
            a_long_body_is_stored
            ten_thousand_jobs_fit_in_a_batch
            stored_bytes_follow_every_change_of_a_job
            stored_bytes_survive_a_crash_and_a_refused_batch
            a_batch_may_reuse_the_number_of_a_class_for_another_tenant
            random_walks_match_the_oracle
            random_walks_in_portions_match_the_oracle
            batches_of_a_portion_are_all_or_none
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
