//! Checks rate limits: how many jobs of a key start in a period, and how many are active at once.
//!
//! Every start of a key is recorded. A start is checked against all starts of its key, by the numbers that
//! applied to its job at that time and by the times that users see: `started` of the claims. Whether a job
//! should have been let in is checked by the slower of the two clocks, by which the engine counts limits.

use rota_engine::{Capped, Command, NumbersEdit, PutLimit};
use rota_model::{
    Class, Feedback, LimitKey, LimitNumbers, Millis, QueueName, Rate, RateLimit, Scope, TenantId,
};

use super::stored_time::{Moment, Restart};
use super::violation::{Check, Rule, ensure};
use super::world::World;

/// What is counted together.
pub type Partition = (LimitKey, Option<TenantId>);

#[derive(Clone, Default)]
pub struct Key {
    pub declared: Option<LimitNumbers>,
    pub replaced: Option<(LimitNumbers, Millis)>,
    pub hold: Option<Millis>,
    /// For whom a tenant with credentials may pause the key.
    feedback: Feedback,
    starts: Vec<Start>,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    /// By the clock of limits.
    moment: Moment,
    /// As it is shown.
    started: i64,
    /// The longest period that the start itself was held by.
    period: i64,
    /// Nobody received the job: it may be counted, and need not be.
    undone: bool,
}

/// Starts older than this matter to nobody.
const FORGOTTEN_MS: i64 = 1_000_000;
/// Starts are remembered for this long at least after the last one.
const LEAST_KEPT_MS: i64 = 60_000;

impl Key {
    pub(super) fn is_spoken_of(&self) -> bool {
        self.declared.is_some() || self.replaced.is_some() || self.hold.is_some()
    }

    /// What holds jobs that have these numbers themselves.
    fn numbers(&self, own: LimitNumbers, wall: Millis) -> LimitNumbers {
        match self.replaced {
            Some((numbers, expires)) if expires > wall => numbers,
            _ => self.declared.unwrap_or(own),
        }
    }

    /// Starts that the server must know of: a key may be forgotten when nothing of it started for a
    /// while. Of those that no period held it need not know.
    fn known(&self, wall: Millis) -> impl Iterator<Item = &Start> {
        let starts: Vec<&Start> = self.starts.iter().filter(|start| !start.undone).collect();
        let next = starts.iter().skip(1).map(|start| start.started).chain([wall.0]);
        let is_last =
            |(start, next): (&&Start, i64)| next - start.started >= start.period.max(LEAST_KEPT_MS);
        let pairs: Vec<_> = starts.iter().zip(next).collect();
        let forgotten = pairs.into_iter().rposition(is_last).map_or(0, |last| last + 1);
        starts.into_iter().skip(forgotten).filter(|start| start.period > 0)
    }

    /// How many of those are within the period before now, by the times that are shown.
    fn known_within(&self, period: i64, wall: Millis) -> u64 {
        self.known(wall).filter(|start| start.started + period > wall.0).count() as u64
    }

    /// All that may be within the period before now. Starts from before a period was first asked for
    /// may seem a little later than they were.
    fn perhaps_within(&self, period: i64, at: i64) -> u64 {
        let longer = period + period / 32;
        self.starts.iter().filter(|start| start.moment.latest + longer > at).count() as u64
    }

    /// Nothing of the key starts, for jobs that have these numbers themselves, and nothing is dropped.
    fn is_paused(&self, own: LimitNumbers, wall: Millis) -> bool {
        let numbers = self.numbers(own, wall);
        let mut rates = [numbers.rate, numbers.throttle].into_iter().flatten();
        self.hold.is_some_and(|until| until > wall)
            || numbers.concurrency == Some(0)
            || rates.any(|rate| rate.limit == 0)
    }

    pub(super) fn may_be_written(&mut self, at: i64, wall: Millis) {
        self.starts.iter_mut().for_each(|start| start.moment.may_be_written(at, wall));
    }

    pub(super) fn after(&mut self, restart: &Restart) {
        self.starts.iter_mut().for_each(|start| start.moment.after(restart));
    }
}

impl World {
    /// The limits that a job of this class is held by, with its own numbers for each.
    pub(super) fn limits_of(&self, class: &Class) -> Vec<(Partition, LimitNumbers)> {
        let mut all = Vec::new();
        if let Some(limit) = &class.policy.limit {
            let tenant = (limit.scope == Scope::Tenant).then(|| class.tenant.clone());
            all.push(((limit.key.clone(), tenant), limit.numbers));
        }
        for key in [LimitKey::of_type(&class.kind), LimitKey::of_queue(&class.queue)] {
            let partition = (key, None);
            let said = self.limits.get(&partition).is_some_and(Key::is_spoken_of);
            if said && !all.iter().any(|(known, _)| *known == partition) {
                all.push((partition, LimitNumbers::default()));
            }
        }
        all
    }

    /// Active jobs that are held by this limit.
    pub(super) fn active_of(&self, (key, tenant): &Partition) -> u64 {
        let active = self.active.iter().filter_map(|seq| self.jobs.get(seq));
        let partition = (key.clone(), tenant.clone());
        let said = self.limits.get(&partition).is_some_and(Key::is_spoken_of);
        let held = |class: &Class| {
            let own = class.policy.limit.as_ref().is_some_and(|limit| {
                let whose = (limit.scope == Scope::Tenant).then_some(&class.tenant);
                limit.key == *key && whose == tenant.as_ref()
            });
            let meant =
                *key == LimitKey::of_type(&class.kind) || *key == LimitKey::of_queue(&class.queue);
            own || meant && said && tenant.is_none()
        };
        active.filter(|job| held(&job.class)).count() as u64
    }

    /// Whether jobs of this class wait for a pause, whatever else they do when they may not start.
    pub(super) fn waits_for_pause(&self, class: &Class) -> bool {
        if self.own_part_is_paused(class) {
            return true;
        }
        let queue = (LimitKey::of_queue(&class.queue), None);
        let own_key = class.policy.limit.as_ref().map(|limit| &limit.key);
        self.limits_of(class).into_iter().any(|(partition, own)| {
            let meant = partition != queue || own_key == Some(&partition.0);
            let key = self.limits.get(&partition);
            meant
                && key.map_or(Key::default().is_paused(own, self.wall), |key| {
                    key.is_paused(own, self.wall)
                })
        })
    }

    /// Whether the tenant's own part of a key that all share is paused.
    fn own_part_is_paused(&self, class: &Class) -> bool {
        let shared = class.policy.limit.as_ref().filter(|limit| limit.scope == Scope::Global);
        let own = shared.map(|limit| (limit.key.clone(), Some(class.tenant.clone())));
        let hold = own.and_then(|own| self.limits.get(&own)?.hold);
        hold.is_some_and(|until| until > self.wall)
    }

    /// Whether jobs of this class may come in from a tenant with credentials.
    pub(super) fn key_is_allowed(&self, class: &Class) -> bool {
        class.policy.limit.as_ref().is_none_or(|limit| {
            let shared = self.limits.get(&(limit.key.clone(), None));
            limit.scope == Scope::Tenant || shared.is_some_and(|key| key.declared.is_some())
        })
    }

    /// Whether a job of this class certainly may start, as far as limits go.
    pub(super) fn limits_are_open(&self, class: &Class) -> bool {
        if self.own_part_is_paused(class) {
            return false;
        }
        let at = self.limit_at;
        self.limits_of(class).into_iter().all(|(partition, own)| {
            let none = Key::default();
            let key = self.limits.get(&partition).unwrap_or(&none);
            let held = key.hold.is_some_and(|until| until > self.wall);
            let room =
                |rate: Rate| key.perhaps_within(rate.period_ms as i64, at) < u64::from(rate.limit);
            let spaced = |rate: Rate| {
                let last = key.starts.iter().map(|start| start.moment.latest).max();
                last.is_none_or(|last| at - last >= spacing_us(rate).div_ceil(1_000) as i64)
            };
            let numbers = key.numbers(own, self.wall);
            let most = numbers.concurrency.map_or(u64::MAX, u64::from);
            !held
                && (most == u64::MAX || self.active_of(&partition) < most)
                && numbers.rate.is_none_or(room)
                && numbers.throttle.is_none_or(|rate| room(rate) && spaced(rate))
        })
    }

    /// A job of this class starts now: it must be allowed to, and is counted.
    pub(super) fn start_limited(&mut self, class: &Class) -> Check {
        ensure(!self.own_part_is_paused(class), Rule::Limit, || {
            format!("a job started though its tenant's part of the key is paused: {class:?}")
        })?;
        let (at, wall) = (self.limit_at, self.wall);
        for (partition, own) in self.limits_of(class) {
            let refused = self.refuses_start(&partition, own);
            ensure(refused.is_none(), Rule::Limit, || {
                format!("a job of {} started: {}", partition.0, refused.unwrap_or_default())
            })?;
            let key = self.limits.entry(partition).or_default();
            let numbers = key.numbers(own, wall);
            let rates = [numbers.rate, numbers.throttle].into_iter().flatten();
            let period = rates.map(|rate| rate.period_ms as i64).max().unwrap_or(0);
            key.starts.retain(|start| start.moment.latest + FORGOTTEN_MS > at);
            let moment = Moment::new(at, wall);
            key.starts.push(Start { moment, started: wall.0, period, undone: false });
        }
        Ok(())
    }

    /// Why no job with these numbers may start now, as far as this limit goes.
    fn refuses_start(&self, partition: &Partition, own: LimitNumbers) -> Option<String> {
        let (wall, none) = (self.wall, Key::default());
        let key = self.limits.get(partition).unwrap_or(&none);
        if key.hold.is_some_and(|until| until > wall) {
            return Some("the key is paused".into());
        }
        let numbers = key.numbers(own, wall);
        if let Some(most) = numbers.concurrency {
            let active = self.active_of(partition);
            if active >= u64::from(most) {
                return Some(format!("{active} others are active, {most} may be"));
            }
        }
        for rate in [numbers.rate, numbers.throttle].into_iter().flatten() {
            let count = key.known_within(rate.period_ms as i64, wall);
            if count >= u64::from(rate.limit) {
                return Some(format!("it is start {} in a window of {rate:?}", count + 1));
            }
        }
        let rate = numbers.throttle?;
        let last = key.known(wall).map(|start| start.started).max()?;
        let distance_us = (wall.0 - last) * 1_000;
        (distance_us < least_gap_us(rate))
            .then(|| format!("it is {distance_us} us after the last, for {rate:?}"))
    }

    /// Whether nothing may start from a queue, whoever asks: it is paused, at its cap or at its limit.
    pub(super) fn queue_is_closed(&self, name: &QueueName) -> bool {
        let partition = (LimitKey::of_queue(name), None);
        let limited = self.limits.get(&partition).is_some_and(Key::is_spoken_of);
        !self.queue_is_open(name)
            || limited && self.refuses_start(&partition, LimitNumbers::default()).is_some()
    }

    /// A job of this class that started then was received by nobody.
    pub(super) fn undo_start(&mut self, class: &Class, started: Millis) {
        for (partition, _) in self.limits_of(class) {
            let key = self.limits.entry(partition).or_default();
            let mut starts = key.starts.iter_mut().rev();
            let start = starts.find(|start| start.started == started.0 && !start.undone);
            start.into_iter().for_each(|start| start.undone = true);
        }
    }

    /// What operators say about limits.
    pub(super) fn control_limits(&mut self, command: &Command) {
        match command {
            Command::PutLimit(put) => {
                let PutLimit { key, tenant, numbers, feedback, paused_until, .. } = &**put;
                let wall = self.wall;
                let known = self.limits.entry((key.clone(), tenant.clone())).or_default();
                match *numbers {
                    Some((edit, Some(expires))) => known.replaced = Some((whole(edit), expires)),
                    Some((edit, None)) => {
                        let numbers = whole(edit);
                        known.declared = (!numbers.is_empty()).then_some(numbers);
                    }
                    None => {}
                }
                known.feedback = feedback.unwrap_or(known.feedback);
                if known.declared.is_none() {
                    known.feedback = Feedback::default();
                }
                if let Some(until) = *paused_until {
                    known.hold = (until > wall).then_some(until);
                }
            }
            Command::ClearLimit(key, tenant) => {
                let known = self.limits.entry((key.clone(), tenant.clone())).or_default();
                (known.declared, known.replaced, known.hold) = (None, None, None);
                known.feedback = Feedback::default();
            }
            _ => {}
        }
    }

    /// What was said for a time ends with it.
    pub(super) fn end_words(&mut self) {
        let wall = self.wall;
        for key in self.limits.values_mut() {
            key.hold.take_if(|until| *until <= wall);
            key.replaced.take_if(|(_, expires)| *expires <= wall);
        }
    }

    /// A handler met a limit elsewhere: nothing of the key starts until then, unless its tenant has as
    /// many keys on disk as it may have. With credentials it speaks for its own part of the key.
    pub(super) fn pause_key(&mut self, class: &Class, until: Millis, proven: bool) -> Check {
        let Some(limit) = &class.policy.limit else { return Ok(()) };
        let longest = self.wall.saturating_add_ms(self.config.longest_pause_ms as i64);
        let (until, wall) = (until.min(longest), self.wall);
        if until <= wall {
            return Ok(());
        }
        let (key, tenant) = self.to_pause(class, limit, proven);
        if !self.limit_rows.contains_key(&row_of(&key, tenant.as_ref())) {
            return ensure(!self.may_have_row(class, proven), Rule::Limit, || {
                format!("the key {} was not paused until {until}", limit.key)
            });
        }
        let key = self.limits.entry((key, tenant)).or_default();
        if key.hold.is_none_or(|known| known < until) {
            key.hold = Some(until);
        }
        Ok(())
    }

    /// What a handler's word pauses.
    fn to_pause(&self, class: &Class, limit: &RateLimit, proven: bool) -> Partition {
        let key = limit.key.clone();
        let shared = self.limits.get(&(key.clone(), None));
        let feedback = shared.map_or(Feedback::default(), |key| key.feedback);
        let own = limit.scope == Scope::Tenant || proven && feedback == Feedback::Tenant;
        (key, own.then(|| class.tenant.clone()))
    }

    /// A pause of the key that these jobs carry may be written down.
    pub(super) fn may_have_row(&self, class: &Class, proven: bool) -> bool {
        let Some(limit) = &class.policy.limit else { return false };
        let (key, tenant) = self.to_pause(class, limit, proven);
        self.limit_rows.contains_key(&row_of(&key, tenant.as_ref()))
            || self.cap_has_room(Capped::RateLimits, &class.tenant, 0)
    }

    /// All that a tenant said about limits goes with it.
    pub(super) fn forget_limits_of(&mut self, id: &TenantId) {
        for (name, _) in self.limit_rows.iter().filter(|(_, owner)| owner.as_ref() == Some(id)) {
            let Some((tenant, key)) = name.split_once('/') else { continue };
            let tenant = TenantId::parse(tenant).ok();
            let known = self.limits.entry((LimitKey::stored(key), tenant)).or_default();
            (known.declared, known.replaced, known.hold) = (None, None, None);
            known.feedback = Feedback::default();
        }
    }
}

/// The name on disk of a limit.
fn row_of(key: &LimitKey, tenant: Option<&TenantId>) -> String {
    format!("{}/{key}", tenant.map_or("", |tenant| &**tenant))
}

/// Nine tenths of the interval; where it is under 10 milliseconds, 5 milliseconds less.
fn least_gap_us(rate: Rate) -> i64 {
    let interval = spacing_us(rate) as i64;
    if interval < 10_000 { interval - 5_000 } else { interval - interval / 10 }
}

fn spacing_us(rate: Rate) -> u64 {
    (rate.period_ms * 1_000).div_ceil(u64::from(rate.limit.max(1)))
}

/// Operators here always say all of the numbers.
fn whole(edit: NumbersEdit) -> LimitNumbers {
    LimitNumbers {
        concurrency: edit.concurrency.flatten(),
        rate: edit.rate.flatten(),
        throttle: edit.throttle.flatten(),
    }
}
