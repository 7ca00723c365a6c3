//! The oracle can fail: each fault that is put in on purpose is found, and for the right reason.

use rota_sim::{Options, Rule, Sabotage, run_seed};

/// Enough seeds that one of them gives the fault its chance.
const SEEDS: std::ops::Range<u64> = 1..60;

/// All that the oracle says of runs with this fault.
fn objections(sabotage: Sabotage) -> Vec<Rule> {
    let options = Options { steps: 400, sabotage: Some(sabotage), ..Options::default() };
    SEEDS
        .filter_map(|seed| run_seed(seed, &options).err())
        .map(|failed| failed.violation.rule)
        .collect()
}

#[test]
fn a_store_that_drops_a_committed_row() {
    assert!(objections(Sabotage::DropRow).contains(&Rule::Lost));
}

#[test]
fn a_store_that_miscounts() {
    assert!(objections(Sabotage::Miscount).contains(&Rule::Counts));
}

#[test]
fn an_answer_before_its_commit() {
    assert!(objections(Sabotage::EarlyReply).contains(&Rule::Lost));
}

#[test]
fn a_job_handed_to_two_fetches() {
    assert!(objections(Sabotage::DeliverTwice).contains(&Rule::HandedTwice));
}

#[test]
fn a_reservation_cut_short() {
    assert!(objections(Sabotage::FastClock).contains(&Rule::HandedTwice));
}

#[test]
fn a_pause_that_does_not_hold() {
    assert!(objections(Sabotage::SecretResume).contains(&Rule::Gate));
}

#[test]
fn an_execution_that_counts_twice() {
    assert!(objections(Sabotage::SkipAttempt).contains(&Rule::Attempts));
}

#[test]
fn jobs_out_of_turn() {
    assert!(objections(Sabotage::SwapClaims).contains(&Rule::Order));
}

#[test]
fn a_retry_without_its_wait() {
    assert!(objections(Sabotage::NoBackoff).contains(&Rule::Time));
}

#[test]
fn a_completed_job_that_runs_again() {
    assert!(objections(Sabotage::Resurrect).contains(&Rule::Transition));
}

#[test]
fn a_limit_that_does_not_hold() {
    assert!(objections(Sabotage::SecretOverride).contains(&Rule::Limit));
}

#[test]
fn a_tenant_that_gets_more_than_its_share() {
    assert!(objections(Sabotage::SecretWeight).contains(&Rule::Fair));
}

#[test]
fn a_tenant_beyond_its_limits() {
    let objections = objections(Sabotage::SecretTenant);
    assert!(objections.contains(&Rule::Gate) && objections.contains(&Rule::Quota));
}

#[test]
fn a_job_that_nobody_is_given() {
    assert!(objections(Sabotage::SecretPause).contains(&Rule::Waiting));
}

#[test]
fn a_queue_beyond_its_bounds() {
    assert!(objections(Sabotage::SecretBounds).contains(&Rule::Quota));
}

#[test]
fn a_pool_beyond_its_limits() {
    let objections = objections(Sabotage::SecretPool);
    assert!(objections.contains(&Rule::Gate) && objections.contains(&Rule::Starved));
}

#[test]
fn a_job_too_many() {
    assert!(objections(Sabotage::GhostJob).contains(&Rule::Counts));
}

#[test]
fn starts_that_a_restart_forgets() {
    let objections = objections(Sabotage::LoseJournal);
    assert!(objections.contains(&Rule::Rebuild) || objections.contains(&Rule::Limit));
}
