//! The command `rota-sim`: runs many seeds, or one seed with its trace.

use std::io::{IsTerminal, Write as _};
use std::process::ExitCode;

use rota_sim::{Failed, Options, Theme, run_seed, run_seed_twice, run_trials};

const USAGE: &str = "\
Usage: rota-sim [--seeds N] [--from SEED] [--seed SEED] [--steps N] [--theme NAME]

  --seeds N     how many seeds to run (100)
  --from SEED   the first of them (1)
  --seed SEED   run just this one and print its trace
  --steps N     how long each run is (600)
  --theme NAME  the theme of all runs, such as Hostile or PoolScope (default: each seed has its own)";

/// Every so many seeds, one is run twice to check that both runs are equal.
const TWICE: u64 = 16;

struct Arguments {
    seeds: u64,
    from: u64,
    only: Option<u64>,
    options: Options,
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let (first, count) = match arguments.only {
        Some(seed) => (seed, 1),
        None => (arguments.from, arguments.seeds),
    };
    let (mut passed, mut failed) = (0, 0);
    for n in 0..count {
        match run(first.wrapping_add(n), &arguments) {
            Ok(()) => passed += 1,
            Err(failure) => {
                failed += 1;
                report(&failure, &arguments.options);
            }
        }
        progress(n + 1, count, failed);
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(seed: u64, arguments: &Arguments) -> Result<(), Failed> {
    let options = &arguments.options;
    run_trials(seed, options)?;
    let outcome = if arguments.only.is_none() && seed.is_multiple_of(TWICE) {
        run_seed_twice(seed, options)
    } else {
        run_seed(seed, options)
    };
    let passed = outcome?;
    if options.verbose {
        println!("seed {seed}: {} lines, hash {:016x}", passed.lines, passed.hash);
    }
    Ok(())
}

fn report(failure: &Failed, options: &Options) {
    println!("\nseed {} failed: {}", failure.seed, failure.violation);
    if !options.verbose {
        failure.tail.iter().for_each(|line| println!("  {line}"));
    }
    let (seed, steps) = (failure.seed, options.steps);
    println!("repeat with: cargo run -p rota-sim -- --seed {seed} --steps {steps}\n");
}

fn progress(done: u64, count: u64, failed: u64) {
    let mut stderr = std::io::stderr();
    if count > 1 && stderr.is_terminal() {
        // A progress line that cannot be written is no reason to stop.
        let _ = write!(stderr, "\r{done}/{count} seeds, {failed} failed ");
        let _ = stderr.flush();
        if done == count {
            let _ = writeln!(stderr);
        }
    }
}

impl Arguments {
    fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { seeds: 100, from: 1, only: None, options: Options::default() };
        while let Some(name) = given.next() {
            if name == "--theme" {
                let text = given.next().unwrap_or_default();
                let theme = Theme::ALL.into_iter().find(|theme| format!("{theme:?}") == text);
                let names = || format!("'{text}' is not a theme; there are {:?}", Theme::ALL);
                arguments.options.theme = Some(theme.ok_or_else(names)?);
                continue;
            }
            let mut number = || {
                let text = given.next().ok_or(format!("{name} needs a number"))?;
                text.parse::<u64>().map_err(|_| format!("{name} needs a number, not '{text}'"))
            };
            match name.as_str() {
                "--seeds" => arguments.seeds = number()?,
                "--from" => arguments.from = number()?,
                "--seed" => arguments.only = Some(number()?),
                "--steps" => arguments.options.steps = number()?,
                other => return Err(format!("'{other}' is not an option")),
            }
        }
        arguments.options.verbose = arguments.only.is_some();
        Ok(arguments)
    }
}
