//! Checks that an engine rebuilt from the store behaves exactly like the one it replaces.

use rota_engine::{
    Claimed, Command, Engine, Fetch, LimitView, PutLimit, QueueSettings, Reply, TenantChange,
    WaiterId,
};
use rota_model::{LimitNumbers, QueueName};

use crate::oracle::{Check, Rule, Violation};
use crate::runtime::Runtime;

const MOST_ROUNDS: usize = 10_000;

/// Drains the engine and a second one made from the store, and compares. Nothing may be in flight.
/// The engine is of no use afterwards and must be rebuilt.
/// While the wall clock is steady, it must not have forgotten any start either.
pub(crate) fn check(runtime: &mut Runtime, waiting: &[WaiterId], steady: bool, seed: u64) -> Check {
    let now = runtime.engine().now();
    let mut second = runtime.rebuilt(now, seed).map_err(differ)?;
    let tenants = runtime.engine().tenant_ids_after("", 0, usize::MAX);
    let stored = |engine: &Engine| -> Vec<u64> {
        let each = tenants.iter().map(|tenant| engine.stored_bytes(tenant));
        [engine.all_stored_bytes()].into_iter().chain(each).collect()
    };
    compare("stored bytes", &stored(runtime.engine()), &stored(&second))?;
    // What queues are owed of their guaranteed parts is not stored.
    let guarantees = runtime.config().starvation.enabled;
    let first = runtime.engine_mut();
    let present = Command::Tick(first.now());
    both(first, &mut second, seed, present);
    for id in waiting {
        both(first, &mut second, seed, Command::StopWaiting(*id));
    }
    compare("queues", &shown(first), &shown(&second))?;
    if steady {
        check_windows(first, &second)?;
    }
    let queues: Vec<_> =
        first.queues_after("", 0, usize::MAX).into_iter().map(|view| view.name).collect();
    let mut all_open = true;
    for command in openings(first, &queues) {
        all_open &= both(first, &mut second, seed, command);
    }
    // Among tenants it is not fixed who is first when it is nobody's turn more than another's.
    let in_order = first.tenant_count() <= 1 && steady && !guarantees;
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for round in 0..MOST_ROUNDS {
        let fetch = Fetch::of(queues.clone(), 1 + round % 3);
        let ours = fetched(first, fetch.clone(), seed);
        let theirs = fetched(&mut second, fetch, seed);
        if in_order {
            compare("next jobs", &ours, &theirs)?;
        }
        let done = ours.is_empty() && theirs.is_empty();
        all_ours.extend(ours.into_iter().map(|claim| (claim.seq, claim.attempt)));
        all_theirs.extend(theirs.into_iter().map(|claim| (claim.seq, claim.attempt)));
        if done {
            break;
        }
    }
    if !all_open || guarantees && first.tenant_count() <= 1 {
        // Some limits are as they were, and who is first there is not fixed either.
        return Ok(());
    }
    if !in_order {
        all_ours.sort_unstable();
        all_theirs.sort_unstable();
        compare("jobs in all", &all_ours, &all_theirs)?;
    }
    compare("queues, drained", &shown(first), &shown(&second))
}

/// What is due happens to both alike. Returns whether neither refused the command.
fn both(first: &mut Engine, second: &mut Engine, seed: u64, command: Command) -> bool {
    let replies = [first.apply(seed, command.clone()), second.apply(seed, command)];
    !replies.iter().any(|reply| matches!(reply, Reply::Refused(_)))
}

/// Everything that stands in the way of handing out jobs is removed.
fn openings(engine: &Engine, queues: &[QueueName]) -> Vec<Command> {
    let maintenance = Command::Maintain { enabled: false, reason: None, expected_ms: None };
    let mut commands = vec![maintenance];
    for queue in queues {
        commands.push(Command::ResumeQueue(queue.clone()));
        let open = QueueSettings::default();
        commands.push(Command::ConfigureQueue(queue.clone(), open));
    }
    commands.extend(
        engine
            .pools_after("", 0, usize::MAX)
            .into_iter()
            .map(|pool| Command::RemovePool(pool.name)),
    );
    if engine.tenant_count() <= 1 {
        return commands;
    }
    for tenant in engine.tenant_ids_after("", 0, usize::MAX) {
        let change = TenantChange { config: Default::default(), what: "put", reason: None };
        commands.push(Command::PutTenant(tenant.clone(), change));
        // A process that has just begun throttles a noisy tenant at its first look.
        commands.push(Command::ReleaseTenant(tenant.clone(), None));
        let resume = |queue: &QueueName| Command::ResumeShard(tenant.clone(), queue.clone());
        commands.extend(queues.iter().map(resume));
    }
    for limit in limits(engine) {
        let (key, tenant) = (limit.key, limit.tenant);
        commands.push(Command::ClearLimit(key.clone(), tenant.clone()));
        let end = engine.now().wall.saturating_add_ms(1_000_000);
        let numbers = Some((LimitNumbers::default().into(), Some(end)));
        let put =
            PutLimit { key, tenant, numbers, feedback: None, paused_until: None, reason: None };
        commands.push(Command::PutLimit(Box::new(put)));
    }
    commands
}

/// All limits that an engine knows.
pub(crate) fn limits(engine: &Engine) -> Vec<LimitView> {
    let names = engine.limits_after(None, "", usize::MAX);
    names.iter().filter_map(|name| engine.limit(&name.key, name.tenant.as_ref())).collect()
}

/// A limit that held before holds afterwards.
fn check_windows(first: &Engine, second: &Engine) -> Check {
    for limit in limits(first) {
        let theirs = second.limit(&limit.key, limit.tenant.as_ref());
        let started = |view: &LimitView| view.started.map_or(0, |(count, _)| count);
        // A key whose last job of some numbers has just finished shows those until it is looked at
        // again. Counts over other periods cannot be compared, nor those of keys at which jobs without
        // a period start as well: such starts are not written down.
        let comparable = !limit.mixed
            && theirs.as_ref().is_none_or(|theirs| theirs.numbers.rate == limit.numbers.rate);
        let kept = !comparable || theirs.as_ref().map_or(0, started) >= started(&limit);
        let same = theirs.as_ref().is_some_and(|theirs| {
            (theirs.active, theirs.paused_until, theirs.declared, theirs.replaced)
                == (limit.active, limit.paused_until, limit.declared, limit.replaced)
        });
        let forgettable = started(&limit) == 0 || !comparable;
        let blank = limit.active == 0 && forgettable && is_plain(&limit) && theirs.is_none();
        if !(blank || kept && same) {
            return Err(differ(format!("limits differ: {limit:?}, {theirs:?}")));
        }
    }
    Ok(())
}

/// No operator has said anything about it, and no worker has paused it.
fn is_plain(limit: &LimitView) -> bool {
    limit.paused_until.is_none() && limit.declared.is_none() && limit.replaced.is_none()
}

fn fetched(engine: &mut Engine, fetch: Fetch, seed: u64) -> Vec<Claimed> {
    match engine.apply(seed, Command::Fetch(fetch)) {
        // Fresh means that no process has ended since, so a rebuilt engine must differ in that.
        Reply::Fetched(claims) => {
            claims.into_iter().map(|c| Claimed { fresh: false, ..c }).collect()
        }
        _ => Vec::new(),
    }
}

/// What people see of an engine, statistics and times of sight left out.
fn shown(engine: &Engine) -> Vec<String> {
    let queues = engine.queues_after("", 0, usize::MAX).into_iter().map(|view| {
        let (name, totals) = (view.name, view.totals);
        format!("{name} {:?} {:?} {totals:?}", view.paused, view.settings)
    });
    let workers = engine.workers_after(None, "", 0, usize::MAX).into_iter().map(|view| {
        let jobs: Vec<_> = engine.held_by(&view.about.worker, None).collect();
        let about = view.about;
        format!("{about:?} {:?} {} {jobs:?}", view.directive, view.beats)
    });
    let crons = engine
        .crons_after(None, None, "", 0, usize::MAX)
        .into_iter()
        .map(|view| format!("{view:?}"));
    let active = engine.active().into_iter().map(|view| format!("{view:?}"));
    let frozen = format!("{:?}", engine.maintenance());
    queues
        .chain(workers)
        .chain(crons)
        .chain(active)
        .chain([frozen, format!("{:?} {:?}", engine.next_seq(), engine.audit_head())])
        .collect()
}

fn compare<T: std::fmt::Debug + PartialEq>(what: &str, ours: &[T], theirs: &[T]) -> Check {
    if ours == theirs {
        return Ok(());
    }
    let pair = ours.iter().zip(theirs).find(|(a, b)| a != b);
    let lengths = (ours.len(), theirs.len());
    Err(differ(format!("{what} differ: {pair:?}, lengths {lengths:?}")))
}

fn differ(message: String) -> Violation {
    Violation::new(Rule::Rebuild, message)
}
