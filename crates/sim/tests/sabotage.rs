//! The oracle can fail: each fault that is put in on purpose is found, and for the right reason.

use rota_sim::{Options, Rule, Sabotage, Theme, run_seed, run_trials};

/// Enough seeds that one of them gives the fault its chance.
const SEEDS: std::ops::Range<u64> = 1..240;

/// Whether the oracle says all of this of runs with this fault, sooner or later.
fn finds(sabotage: Sabotage, rules: &[Rule]) -> bool {
    let options = Options { steps: 400, sabotage: Some(sabotage), ..Options::default() };
    all_found(&options, rules)
}

/// The same of runs that are about what the fault concerns.
fn finds_by(theme: Theme, sabotage: Sabotage, rules: &[Rule]) -> bool {
    let (theme, sabotage) = (Some(theme), Some(sabotage));
    all_found(&Options { steps: 400, theme, sabotage, ..Options::default() }, rules)
}

fn all_found(options: &Options, rules: &[Rule]) -> bool {
    let mut left = rules.to_vec();
    for seed in SEEDS {
        if let Err(failed) = run_seed(seed, options) {
            left.retain(|rule| *rule != failed.violation.rule);
        }
        if left.is_empty() {
            return true;
        }
    }
    println!("{options:?} does not lead to {left:?}");
    false
}

/// The same of trials.
fn a_trial_finds(sabotage: Sabotage, rule: Rule) -> bool {
    let options = Options { sabotage: Some(sabotage), ..Options::default() };
    let found =
        |seed| run_trials(seed, &options).is_err_and(|failed| failed.violation.rule == rule);
    SEEDS.take(10).any(found)
}

#[test]
fn a_store_that_drops_a_committed_row() {
    assert!(finds(Sabotage::DropRow, &[Rule::Lost]));
}

#[test]
fn a_store_that_miscounts() {
    assert!(finds(Sabotage::Miscount, &[Rule::Counts]));
}

#[test]
fn removed_bytes_that_go_on_counting() {
    assert!(finds(Sabotage::LostBytes, &[Rule::Counts]));
}

#[test]
fn an_answer_before_its_commit() {
    assert!(finds(Sabotage::EarlyReply, &[Rule::Lost]));
}

#[test]
fn an_answer_before_the_logs_sync() {
    assert!(finds(Sabotage::AnswerBeforeSync, &[Rule::Lost]));
}

#[test]
fn a_log_that_gives_up_what_the_view_can_lose() {
    assert!(finds(Sabotage::TruncateTooFar, &[Rule::Rebuild]));
}

#[test]
fn a_start_that_leaves_a_record_out() {
    assert!(finds(Sabotage::SkipReplayed, &[Rule::Lost]));
}

#[test]
fn a_start_that_applies_a_record_twice() {
    assert!(finds(Sabotage::RepeatReplayed, &[Rule::Rebuild]));
}

#[test]
fn changes_that_are_forgotten_before_the_view_has_them() {
    assert!(finds(Sabotage::ForgetInFlight, &[Rule::InFlight]));
}

#[test]
fn a_job_handed_to_two_fetches() {
    assert!(finds(Sabotage::DeliverTwice, &[Rule::HandedTwice]));
}

#[test]
fn a_reservation_cut_short() {
    assert!(finds(Sabotage::FastClock, &[Rule::HandedTwice]));
}

#[test]
fn a_pause_that_does_not_hold() {
    assert!(finds(Sabotage::SecretResume, &[Rule::Gate]));
}

#[test]
fn an_execution_that_counts_twice() {
    assert!(finds(Sabotage::SkipAttempt, &[Rule::Attempts]));
}

#[test]
fn jobs_out_of_turn() {
    assert!(finds(Sabotage::SwapClaims, &[Rule::Order]));
}

#[test]
fn a_retry_without_its_wait() {
    assert!(finds(Sabotage::NoBackoff, &[Rule::Time]));
}

#[test]
fn a_completed_job_that_runs_again() {
    assert!(finds(Sabotage::Resurrect, &[Rule::Transition]));
}

#[test]
fn a_dead_letter_with_the_wrong_error() {
    assert!(finds(Sabotage::WrongError, &[Rule::Reply]));
}

#[test]
fn a_dead_letter_that_miscounts() {
    assert!(finds(Sabotage::OtherError, &[Rule::Counts]));
}

#[test]
fn a_dead_letter_that_replays_too_early() {
    assert!(finds(Sabotage::EarlyReplay, &[Rule::Time]));
}

#[test]
fn a_dead_letter_that_is_pruned_too_early() {
    assert!(finds_by(Theme::KeyPerJob, Sabotage::EarlyPrune, &[Rule::Lost]));
}

#[test]
fn a_limit_that_does_not_hold() {
    assert!(finds_by(Theme::AllLimited, Sabotage::SecretOverride, &[Rule::Limit]));
}

#[test]
fn a_throttle_that_is_not_even() {
    assert!(finds_by(Theme::AllLimited, Sabotage::UnevenThrottle, &[Rule::Limit]));
}

#[test]
fn a_tenant_that_gets_more_than_its_share() {
    assert!(finds_by(Theme::EverythingUrgent, Sabotage::SecretWeight, &[Rule::Fair]));
}

#[test]
fn shares_of_each_queue_where_they_should_be_of_all() {
    let rules = [Rule::FairAcross, Rule::Order];
    assert!(finds_by(Theme::PoolScope, Sabotage::SecretScope, &rules));
}

#[test]
fn queues_that_do_not_take_turns() {
    assert!(finds_by(Theme::PoolScope, Sabotage::SecretOrder, &[Rule::PassedOver]));
}

#[test]
fn own_workers_that_cost_nothing_where_they_should() {
    assert!(finds_by(Theme::Everything, Sabotage::FreeOwnWorkers, &[Rule::Fair]));
}

#[test]
fn own_workers_that_cost_nothing_over_several_queues() {
    assert!(finds_by(Theme::PoolScope, Sabotage::FreeOwnWorkers, &[Rule::FairAcross]));
}

#[test]
fn a_tenant_beyond_its_limits() {
    assert!(finds(Sabotage::SecretTenant, &[Rule::Gate, Rule::Quota]));
}

#[test]
fn a_quota_that_refuses_where_it_should_warn() {
    assert!(finds(Sabotage::SecretHardness, &[Rule::Quota]));
}

#[test]
fn a_quota_that_warns_where_it_should_refuse() {
    assert!(finds(Sabotage::SecretSoftness, &[Rule::Quota]));
}

#[test]
fn a_quota_that_is_crossed_without_a_word() {
    assert!(finds(Sabotage::MuteQuota, &[Rule::Quota]));
}

#[test]
fn a_tenant_more_urgent_than_it_may_be() {
    assert!(finds_by(Theme::EverythingUrgent, Sabotage::SecretUrgency, &[Rule::Order]));
}

#[test]
fn a_shared_key_that_one_tenant_pauses_for_all() {
    assert!(finds_by(Theme::SharedKeys, Sabotage::PauseForAll, &[Rule::Limit]));
}

#[test]
fn a_pause_of_a_tenants_own_part_that_does_not_hold() {
    // Few reports pause a key for which jobs wait, so each run is longer.
    let (theme, sabotage) = (Some(Theme::SharedKeys), Some(Sabotage::DeafKey));
    let options = Options { steps: 1_000, theme, sabotage, ..Options::default() };
    assert!(all_found(&options, &[Rule::Limit]));
}

#[test]
fn a_shared_key_that_no_operator_declared() {
    assert!(finds(Sabotage::SecretDeclaration, &[Rule::Quota]));
}

#[test]
fn a_schedule_that_does_not_run() {
    assert!(finds(Sabotage::SecretStop, &[Rule::Cron]));
}

#[test]
fn a_job_that_nobody_is_given() {
    assert!(finds(Sabotage::SecretPause, &[Rule::Waiting]));
}

#[test]
fn a_queue_beyond_its_bounds() {
    assert!(finds(Sabotage::SecretBounds, &[Rule::Quota]));
}

#[test]
fn a_pool_beyond_its_limits() {
    assert!(finds_by(Theme::Pools, Sabotage::SecretPool, &[Rule::Gate, Rule::Starved]));
}

#[test]
fn a_queue_that_gets_less_than_it_is_guaranteed_without_a_pool() {
    assert!(finds_by(Theme::Giant, Sabotage::NoGuarantee, &[Rule::Starved]));
}

#[test]
fn a_job_too_many() {
    assert!(finds(Sabotage::GhostJob, &[Rule::Counts]));
}

#[test]
fn starts_that_a_restart_forgets() {
    assert!(finds(Sabotage::LoseJournal, &[Rule::Rebuild]));
}

#[test]
fn slow_jobs_that_cost_no_more_than_quick_ones() {
    assert!(a_trial_finds(Sabotage::FlatCost, Rule::Fair));
}

#[test]
fn a_key_that_is_shared_without_regard_to_weights() {
    assert!(a_trial_finds(Sabotage::NoWeights, Rule::Fair));
}

#[test]
fn a_tenant_that_gains_by_having_many_kinds_of_jobs() {
    assert!(a_trial_finds(Sabotage::ClassesAsTenants, Rule::Fair));
}

#[test]
fn a_throttle_beyond_its_time() {
    assert!(a_trial_finds(Sabotage::LongThrottle, Rule::Throttle));
}

#[test]
fn a_throttle_that_takes_too_much() {
    assert!(a_trial_finds(Sabotage::HeavyThrottle, Rule::Throttle));
}

#[test]
fn commands_that_cost_more_as_more_jobs_wait() {
    assert!(finds(Sabotage::Scan, &[Rule::Cost]));
    assert!(a_trial_finds(Sabotage::Scan, Rule::Cost));
}

#[test]
fn a_throttle_without_a_reason() {
    assert!(a_trial_finds(Sabotage::RashThrottle, Rule::Throttle));
}

#[test]
fn a_throttled_tenant_that_is_not_served() {
    assert!(a_trial_finds(Sabotage::ThrottleAsPause, Rule::Waiting));
}

#[test]
fn an_entry_of_the_audit_log_that_is_lost() {
    assert!(finds(Sabotage::DropAuditEntry, &[Rule::Audit]));
}

#[test]
fn an_act_that_is_not_in_the_audit_log() {
    assert!(finds(Sabotage::UnrecordedAct, &[Rule::Audit]));
}

#[test]
fn an_entry_of_the_audit_log_that_was_changed() {
    assert!(finds(Sabotage::ForgedEntry, &[Rule::Audit]));
}

#[test]
fn an_audit_log_that_forgets_too_early() {
    assert!(finds(Sabotage::EarlyTrim, &[Rule::Audit]));
}
