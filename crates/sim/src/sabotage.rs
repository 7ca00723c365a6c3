//! Faults injected on purpose, to prove that the oracle finds them.

use rota_engine::{
    Command, Config, Effects, EventKind, PutLimit, QueueSettings, Reply, TenantChange,
};
use rota_model::{
    DeadRow, FairnessScope, LimitNumbers, Millis, PoolConfig, QueueStrategy, Quota, Scope,
    TenantConfig, TenantId, Weight,
};
use rota_store::{Mutation, RowKind};

use crate::runtime::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// The store forgets a row that it has committed.
    DropRow,
    /// The store forgets an entry of the audit log.
    DropAuditEntry,
    /// An act is not in the audit log.
    UnrecordedAct,
    /// An entry of the audit log is changed before it is written.
    ForgedEntry,
    /// Entries of the audit log are deleted before their time.
    EarlyTrim,
    /// The store keeps a wrong number of finished jobs.
    Miscount,
    /// The engine is not told which bytes a commit removed.
    LostBytes,
    /// An answer goes out before its batch is committed, and the process dies.
    EarlyReply,
    /// Answers go out before the log's record is synced.
    AnswerBeforeSync,
    /// The log gives up records that a power cut can still take from the view.
    TruncateTooFar,
    /// A start does not apply the newest record.
    SkipReplayed,
    /// A start applies the newest record twice.
    RepeatReplayed,
    /// What is on its way to the view is forgotten when it is committed.
    ForgetInFlight,
    /// The same claim is handed to two fetches.
    DeliverTwice,
    /// A paused queue is resumed without a request.
    SecretResume,
    /// Reservations end an hour early.
    FastClock,
    /// An execution counts twice.
    SkipAttempt,
    /// Two jobs are handed out in the wrong order.
    SwapClaims,
    /// A failed job is retried without its wait.
    NoBackoff,
    /// A completed job is made available again.
    Resurrect,
    /// A job enters the dead letter with another error than it died of.
    WrongError,
    /// A job in the dead letter is not counted by its error type.
    OtherError,
    /// A rule plans a replay before its delay is over.
    EarlyReplay,
    /// Jobs are pruned from the dead letter before their time.
    EarlyPrune,
    /// A limit that jobs carry is lifted without a request.
    SecretOverride,
    /// A report with a tenant's credentials pauses a shared key for all tenants.
    PauseForAll,
    /// A report with a tenant's credentials pauses nothing.
    DeafKey,
    /// A key is declared without a request.
    SecretDeclaration,
    /// A throttle is treated as a rate, so that starts are not evenly spaced.
    UnevenThrottle,
    /// One tenant has a larger weight than configured.
    SecretWeight,
    /// Shares apply to each queue, although pool scope is configured.
    SecretScope,
    /// `min_dispatch_ratio` is ignored.
    NoGuarantee,
    /// Dispatches to a tenant's own workers are not charged, although that is configured.
    FreeOwnWorkers,
    /// A tenant's configuration is ignored.
    SecretTenant,
    /// A tenant's part of a queue is paused without a request.
    SecretPause,
    /// A queue's bounds are ignored.
    SecretBounds,
    /// A pool's configuration is ignored.
    SecretPool,
    /// The queues of a pool do not take turns.
    SecretOrder,
    /// Every command looks at all waiting jobs.
    Scan,
    /// The engine has a job that nobody enqueued.
    GhostJob,
    /// The store loses the journal of starts.
    LoseJournal,
    /// A soft quota rejects jobs.
    SecretHardness,
    /// A hard quota does not reject jobs.
    SecretSoftness,
    /// An exceeded soft quota is not reported.
    MuteQuota,
    /// A tenant's `max_priority` is ignored.
    SecretUrgency,
    /// A schedule is stopped without a request.
    SecretStop,
    /// Every job is charged the same, although shares are of run time.
    FlatCost,
    /// Weights are ignored.
    NoWeights,
    /// Each class of jobs gets a share, instead of each tenant.
    ClassesAsTenants,
    /// A throttle lasts longer than it should.
    LongThrottle,
    /// A throttle lowers the weight more than configured.
    HeavyThrottle,
    /// A throttle begins although the tenant is not noisy.
    RashThrottle,
    /// A throttled tenant is not served at all.
    ThrottleAsPause,
}

impl Sabotage {
    /// The configuration that the engine gets.
    pub(crate) fn misread(self, mut config: Config) -> Config {
        match self {
            Sabotage::SecretScope => config.fairness.scope = FairnessScope::Queue,
            Sabotage::NoGuarantee => config.starvation.enabled = false,
            Sabotage::FreeOwnWorkers => config.fairness.charge_own_workers = false,
            Sabotage::EarlyTrim => (config.audit.max_age_ms, config.audit.max_entries) = (0, 0),
            Sabotage::EarlyPrune => {
                (config.dead_letter.max_age_ms, config.dead_letter.max_count) = (0, 0);
                config.prune_interval_ms = 1;
            }
            _ => {}
        }
        config
    }

    /// A command that the engine gets without the oracle knowing.
    pub(crate) fn secret(self, step: &Step) -> Option<Command> {
        let nothing = |config| TenantChange { config, what: "put", reason: None };
        Some(match (self, &step.command) {
            (Sabotage::SecretResume, Command::PauseQueue(queue)) => {
                Command::ResumeQueue(queue.clone())
            }
            (Sabotage::SecretOverride, Command::Enqueue(enqueue)) => {
                let class = &enqueue.jobs.first()?.class;
                let limit = class.policy.limit.as_ref()?;
                let tenant = (limit.scope == Scope::Tenant).then(|| class.tenant.clone());
                let end = step.now.wall.saturating_add_ms(1_000_000);
                Command::PutLimit(Box::new(PutLimit {
                    key: limit.key.clone(),
                    tenant,
                    numbers: Some((LimitNumbers::default().into(), Some(end))),
                    feedback: None,
                    paused_until: None,
                    reason: None,
                }))
            }
            (Sabotage::DeafKey, Command::Settle(_)) => {
                let paused = step.events.iter().find_map(|event| match &event.kind {
                    EventKind::LimitAdjusted { key, tenant, .. } => Some((key, tenant.as_ref()?)),
                    _ => None,
                });
                let (key, tenant) = paused?;
                Command::PutLimit(Box::new(PutLimit {
                    key: key.clone(),
                    tenant: Some(tenant.clone()),
                    numbers: None,
                    feedback: None,
                    paused_until: Some(Millis::ZERO),
                    reason: None,
                }))
            }
            (Sabotage::SecretDeclaration, Command::Enqueue(enqueue)) => {
                let job = enqueue.jobs.iter().find(|job| job.proven)?;
                let limit = job.class.policy.limit.as_ref()?;
                Command::PutLimit(Box::new(PutLimit {
                    key: limit.key.clone(),
                    tenant: None,
                    numbers: Some((limit.numbers.into(), None)),
                    feedback: None,
                    paused_until: None,
                    reason: None,
                }))
            }
            (Sabotage::UnevenThrottle, Command::Enqueue(enqueue)) => {
                let class = &enqueue.jobs.first()?.class;
                let limit = class.policy.limit.as_ref()?;
                let LimitNumbers { concurrency, rate, throttle } = limit.numbers;
                let rate = throttle.filter(|_| rate.is_none())?;
                let numbers = LimitNumbers { concurrency, rate: Some(rate), throttle: None };
                let tenant = (limit.scope == Scope::Tenant).then(|| class.tenant.clone());
                let end = step.now.wall.saturating_add_ms(1_000_000);
                Command::PutLimit(Box::new(PutLimit {
                    key: limit.key.clone(),
                    tenant,
                    numbers: Some((numbers.into(), Some(end))),
                    feedback: None,
                    paused_until: None,
                    reason: None,
                }))
            }
            (Sabotage::SecretWeight, Command::Enqueue(enqueue)) => {
                let tenant = enqueue.jobs.first()?.class.tenant.clone();
                let weight = Weight::new(50.0).filter(|_| tenant == TenantId::default_tenant())?;
                let config = TenantConfig { weight: Some(weight), ..TenantConfig::default() };
                Command::PutTenant(tenant, nothing(config))
            }
            (Sabotage::SecretTenant, Command::PutTenant(tenant, _)) => {
                Command::PutTenant(tenant.clone(), nothing(TenantConfig::default()))
            }
            (
                Sabotage::SecretHardness | Sabotage::SecretSoftness,
                Command::PutTenant(id, change),
            ) => {
                let quota = match self {
                    Sabotage::SecretSoftness => Quota::Soft,
                    _ => Quota::Hard,
                };
                let config = TenantConfig { quota: Some(quota), ..change.config.clone() };
                Command::PutTenant(id.clone(), nothing(config))
            }
            (Sabotage::SecretUrgency, Command::PutTenant(id, change)) => {
                let config = TenantConfig { max_priority: None, ..change.config.clone() };
                Command::PutTenant(id.clone(), nothing(config))
            }
            (Sabotage::SecretStop, Command::PutCron(spec)) => {
                Command::EnableCron(spec.name.clone(), false)
            }
            (Sabotage::SecretPause, Command::Enqueue(enqueue)) => {
                let class = &enqueue.jobs.first()?.class;
                Command::PauseShard(class.tenant.clone(), class.queue.clone())
            }
            (Sabotage::SecretBounds, Command::ConfigureQueue(queue, settings)) => {
                let settings = QueueSettings { bounds: None, ..settings.clone() };
                Command::ConfigureQueue(queue.clone(), settings)
            }
            (Sabotage::SecretPool, Command::PutPool(name, config)) => {
                let config = PoolConfig {
                    concurrency: None,
                    strategy: QueueStrategy::Strict,
                    isolated: false,
                    starvation: None,
                    ..(**config).clone()
                };
                Command::PutPool(name.clone(), Box::new(config))
            }
            (Sabotage::SecretOrder, Command::PutPool(name, config)) => {
                let config = PoolConfig { strategy: QueueStrategy::Strict, ..(**config).clone() };
                Command::PutPool(name.clone(), Box::new(config))
            }
            (Sabotage::GhostJob, Command::Enqueue(enqueue)) => Command::Enqueue(enqueue.clone()),
            _ => return None,
        })
    }

    /// Falsifies what the engine decided.
    pub(crate) fn falsify(self, effects: &mut Effects, reply: &mut Reply) {
        let mutations = &mut effects.mutations;
        match self {
            Sabotage::SkipAttempt => {
                for mutation in mutations {
                    if let Mutation::Claim(claim) = mutation {
                        claim.attempt += 1;
                    }
                }
                let replies = effects.woken.iter_mut().map(|(_, reply)| reply);
                for reply in replies.chain([reply]) {
                    if let Reply::Fetched(claims) = reply {
                        claims.iter_mut().for_each(|c| c.attempt += 1);
                    }
                }
            }
            Sabotage::UnrecordedAct => {
                mutations.retain(|mutation| !matches!(mutation, Mutation::Audit(_)));
            }
            Sabotage::ForgedEntry => {
                for mutation in mutations {
                    if let Mutation::Audit(row) = mutation {
                        let forged = row.json.iter().map(|byte| byte.to_ascii_uppercase());
                        row.json = forged.collect::<Vec<u8>>().into();
                    }
                }
            }
            Sabotage::SwapClaims => swap_claims(mutations, reply),
            Sabotage::MuteQuota => {
                if let Reply::Enqueued(admission) = reply {
                    admission.over_quota.clear();
                }
            }
            Sabotage::WrongError | Sabotage::OtherError | Sabotage::EarlyReplay => {
                for mutation in mutations {
                    if let Mutation::Bury(_, dead) = mutation {
                        self.falsify_dead(dead);
                    }
                }
            }
            Sabotage::PauseForAll => {
                for mutation in mutations {
                    if let Mutation::Put(RowKind::Limit, name, _) = mutation
                        && let Some((_, key)) = name.clone().split_once('/')
                    {
                        *name = format!("/{key}").into();
                    }
                }
            }
            Sabotage::NoBackoff => {
                for mutation in mutations {
                    if let Mutation::Backoff(backoff) = mutation {
                        backoff.due.0 -= 100_000;
                    }
                }
            }
            Sabotage::Resurrect => {
                let finished = mutations.iter().find_map(|mutation| match mutation {
                    Mutation::Finish(f) if f.ending == rota_model::Ending::Completed => {
                        Some((f.seq, f.at))
                    }
                    _ => None,
                });
                mutations
                    .extend(finished.map(|(seq, enqueued)| Mutation::Revive { seq, enqueued }));
            }
            _ => {}
        }
    }

    fn falsify_dead(self, dead: &mut DeadRow) {
        match self {
            Sabotage::WrongError => dead.error = "another".into(),
            Sabotage::OtherError => dead.other = !dead.other,
            _ => dead.replay_at = dead.replay_at.map(|at| at.saturating_sub_ms(1)),
        }
    }
}

fn swap_claims(mutations: &mut [Mutation], reply: &mut Reply) {
    let Reply::Fetched(claims) = reply else {
        return;
    };
    let [first, second, ..] = &mut claims[..] else {
        return;
    };
    std::mem::swap(first, second);
    let at: Vec<_> =
        (0..mutations.len()).filter(|&i| matches!(mutations[i], Mutation::Claim(_))).collect();
    if let [a, b, ..] = at[..] {
        mutations.swap(a, b);
    }
}
