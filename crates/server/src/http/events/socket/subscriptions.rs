//! The subscriptions of one connection, found by what an event is about.

use std::collections::HashMap;

use rota_engine::Event;
use rota_model::Seq;

use super::super::form::{Form, Variant};
use super::request::{Subscribe, Unsubscribe};
use crate::runtime::{About, EventFilter};

pub(super) struct Subscription {
    pub request: Subscribe,
    /// The channel's name, or the subscription's id on the channel of envelopes.
    pub name: String,
    pub filter: EventFilter,
    pub form: Form,
    /// Earlier events are not for it.
    pub since: u64,
}

#[derive(Default)]
pub(super) struct Subscriptions {
    all: Option<Subscription>,
    queues: HashMap<String, Subscription>,
    jobs: HashMap<Seq, Subscription>,
    envelopes: Vec<Subscription>,
    /// Whether there was a change since it was last asked for.
    changed: bool,
}

impl Subscriptions {
    pub fn len(&self) -> usize {
        usize::from(self.all.is_some()) + self.queues.len() + self.jobs.len() + self.envelopes.len()
    }

    /// Adds it, or replaces the one of the same channel, whose place in the events is kept.
    pub fn put(&mut self, subscription: Subscription) {
        self.changed = true;
        let earlier = self.find_mut(&Unsubscribe::Channel(subscription.name.clone()));
        if let Some(earlier) = earlier {
            let since = earlier.since;
            *earlier = Subscription { since, ..subscription };
            return;
        }
        match (&subscription.form, subscription.filter.job, &subscription.filter.queue) {
            (Form::Envelope, ..) => self.envelopes.push(subscription),
            (_, Some(seq), _) => drop(self.jobs.insert(seq, subscription)),
            (_, _, Some(queue)) => drop(self.queues.insert(queue.clone(), subscription)),
            _ => self.all = Some(subscription),
        }
    }

    pub fn has(&self, which: &Unsubscribe) -> bool {
        self.iter().any(|subscription| subscription.is(which))
    }

    pub fn remove(&mut self, which: &Unsubscribe) -> Option<Subscription> {
        self.changed = true;
        if self.all.as_ref().is_some_and(|all| all.is(which)) {
            return self.all.take();
        }
        if let Some(at) = self.envelopes.iter().position(|subscription| subscription.is(which)) {
            return Some(self.envelopes.remove(at));
        }
        let queue = self.queues.iter().find(|(_, subscription)| subscription.is(which));
        if let Some(queue) = queue.map(|(queue, _)| queue.clone()) {
            return self.queues.remove(&queue);
        }
        let job = self.jobs.iter().find(|(_, subscription)| subscription.is(which));
        let job = job.map(|(seq, _)| *seq)?;
        self.jobs.remove(&job)
    }

    /// What was asked for, if that has changed since the last call.
    pub fn take_changed(&mut self) -> Option<Vec<Subscribe>> {
        let changed = std::mem::take(&mut self.changed);
        changed.then(|| self.iter().map(|subscription| subscription.request.clone()).collect())
    }

    /// The jobs with a channel.
    pub fn jobs(&self) -> impl Iterator<Item = Seq> {
        self.jobs.keys().copied()
    }

    pub fn job(&self, seq: Seq) -> Option<&Subscription> {
        self.jobs.get(&seq)
    }

    /// The subscription to a job's channel.
    pub fn remove_job(&mut self, seq: Seq) -> Option<Subscription> {
        self.changed = true;
        self.jobs.remove(&seq)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Subscription> {
        let named = self.queues.values().chain(self.jobs.values());
        self.all.iter().chain(named).chain(&self.envelopes)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Subscription> {
        let named = self.queues.values_mut().chain(self.jobs.values_mut());
        self.all.iter_mut().chain(named).chain(&mut self.envelopes)
    }

    /// Those that want an event.
    pub fn wanting<'a>(
        &'a self,
        number: u64,
        event: &'a Event,
    ) -> impl Iterator<Item = &'a Subscription> {
        let about = About::of(&event.kind);
        let queue = about.queue.and_then(|queue| self.queues.get(queue));
        let job = about.job.and_then(|job| self.jobs.get(&job.seq));
        let candidates = self.all.iter().chain(queue).chain(job).chain(&self.envelopes);
        candidates.filter(move |subscription| subscription.wants(number, event))
    }

    /// Those that want an event, with each variant of it that they want.
    pub fn variants<'a>(
        &'a self,
        number: u64,
        event: &'a Event,
    ) -> impl Iterator<Item = (&'a Subscription, Variant)> {
        self.wanting(number, event)
            .flat_map(|one| one.form.variants(event).map(move |variant| (one, variant)))
    }

    fn find_mut(&mut self, which: &Unsubscribe) -> Option<&mut Subscription> {
        self.iter_mut().find(|subscription| subscription.is(which))
    }
}

impl Subscription {
    fn is(&self, which: &Unsubscribe) -> bool {
        match (which, &self.form) {
            (Unsubscribe::Channel(name), Form::Flat(_))
            | (Unsubscribe::Id(name), Form::Envelope) => self.name == *name,
            _ => false,
        }
    }

    fn wants(&self, number: u64, event: &Event) -> bool {
        number >= self.since && self.filter.admits(event) && self.form.wants(event)
    }
}
