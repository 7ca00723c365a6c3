//! Some dozens of runs of moderate length. `ROTA_SIM_SEEDS` sets how many, `ROTA_SIM_FROM` the
//! first of them.

use rota_sim::{Options, run_seed, run_seed_twice, run_trials};

const STEPS: u64 = 400;
const TRIALS: u64 = 20;

#[test]
fn runs_hold_what_is_promised() {
    let from = number("ROTA_SIM_FROM").unwrap_or(1);
    let seeds = number("ROTA_SIM_SEEDS").unwrap_or(80);
    let options = Options { steps: STEPS, ..Options::default() };
    for seed in from..from + seeds {
        if let Err(failed) = run_seed(seed, &options) {
            panic!(
                "seed {seed} failed: {}\n  {}\nrepeat with: cargo run -p rota-sim -- --seed {seed} --steps {STEPS}",
                failed.violation,
                failed.tail.join("\n  ")
            );
        }
    }
}

/// Seeds that once found a fault in the engine, at the length at which they did.
#[test]
fn faults_that_were_found_stay_fixed() {
    let options = Options { steps: 600, ..Options::default() };
    for seed in
        [110_002_270, 110_002_669, 120_002_063, 120_003_939, 170_004_243, 400_002_742, 500_001_863]
    {
        if let Err(failed) = run_seed(seed, &options) {
            panic!("seed {seed} failed: {}", failed.violation);
        }
    }
}

#[test]
fn trials_hold_what_is_derived() {
    let from = number("ROTA_SIM_FROM").unwrap_or(1);
    for seed in from..from + TRIALS {
        if let Err(failed) = run_trials(seed, &Options::default()) {
            panic!("trial {seed} failed: {}", failed.violation);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let options = Options { steps: STEPS, ..Options::default() };
    for seed in 1_000..1_006 {
        let passed = run_seed_twice(seed, &options).unwrap();
        let other = run_seed(seed + 100_000, &options).unwrap();
        assert_ne!(passed.hash, other.hash, "another seed is another run");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
