//! Counts what is repeated: refusals and acts that changed nothing become one entry per interval.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;

use rota_model::audit::{AuditActor, AuditDetail, AuditNote, AuditOutcome};
use rota_model::{Millis, TenantId};
use serde_json::Value;

use super::Requested;

/// The most entries per interval of one tenant, or of one address that is no tenant's.
const MAX_PER_SOURCE: usize = 20;
/// The most entries per interval of all tenants, and of all others. Strangers cannot use up the room
/// of tenants.
const MAX_OF_TENANTS: usize = 2_000;
const MAX_OF_OTHERS: usize = 500;

#[derive(Default)]
pub(super) struct Tallies {
    index: HashMap<Key, usize>,
    /// In the order of their first requests.
    tallies: Vec<Tally>,
    per_source: HashMap<Source, usize>,
    of_tenants: usize,
    of_others: usize,
}

/// What counts as the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    event: Cow<'static, str>,
    outcome: AuditOutcome,
    actor: AuditActor,
    /// `None` for several requests of various kinds.
    requested: Option<Requested>,
    status: Option<u16>,
    /// Why credentials were not accepted.
    reason: Option<Value>,
}

/// Where requests come from.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Source {
    Tenant(TenantId),
    /// One IPv4 address or a /64 of IPv6, which one client can have all addresses of.
    Address(Option<IpAddr>),
}

struct Tally {
    note: AuditNote,
    status: Option<u16>,
    count: u64,
    last: Millis,
    first: Millis,
}

impl Source {
    fn of(actor: &AuditActor) -> Self {
        match &actor.tenant {
            Some(tenant) => Self::Tenant(tenant.clone()),
            None => Self::Address(actor.address.map(network)),
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

impl Tallies {
    /// Counts a request that was answered with this status, if it was answered.
    pub fn count(
        &mut self,
        note: AuditNote,
        requested: &Requested,
        status: impl Into<Option<u16>>,
        now: Millis,
    ) {
        let key = Key {
            event: note.event.clone(),
            outcome: note.outcome,
            actor: note.actor.clone(),
            requested: Some(requested.clone()),
            status: status.into(),
            reason: note.detail.get("reason").cloned(),
        };
        if self.add(&key, now) || self.insert(key, &note, now) {
            return;
        }
        // There is no room for another entry: count it with others of its source, or with all others.
        let address = note.actor.address.map(network);
        let source = AuditActor { principal: "others".into(), address, ..note.actor.clone() };
        let anybody = AuditActor { tenant: None, address: None, ..source.clone() };
        let event: Cow<'static, str> = "audit.others".into();
        for actor in [source, anybody] {
            let outcome = note.outcome;
            let event = event.clone();
            let key = Key { event, outcome, actor, requested: None, status: None, reason: None };
            if self.add(&key, now) {
                return;
            }
            let is_source = key.actor.tenant.is_some() || key.actor.address.is_some();
            if is_source && !self.has_room_for_source(&note.actor) {
                continue;
            }
            self.push(key, AuditDetail::new(), None, now);
            return;
        }
    }

    /// The entries of this interval.
    pub fn take(&mut self) -> Vec<AuditNote> {
        std::mem::take(self).tallies.into_iter().map(Tally::into_note).collect()
    }

    fn add(&mut self, key: &Key, now: Millis) -> bool {
        let Some(&index) = self.index.get(key) else { return false };
        let tally = &mut self.tallies[index];
        (tally.count, tally.last) = (tally.count + 1, now);
        true
    }

    fn insert(&mut self, key: Key, note: &AuditNote, now: Millis) -> bool {
        let source = Source::of(&note.actor);
        let of_source = self.per_source.get(&source).copied().unwrap_or(0);
        if of_source >= MAX_PER_SOURCE || !self.has_room(&note.actor) {
            return false;
        }
        *self.per_source.entry(source).or_default() += 1;
        match note.actor.tenant {
            Some(_) => self.of_tenants += 1,
            None => self.of_others += 1,
        }
        self.push(key, note.detail.clone(), note.request.clone(), now);
        true
    }

    fn has_room(&self, actor: &AuditActor) -> bool {
        match actor.tenant {
            Some(_) => self.of_tenants < MAX_OF_TENANTS,
            None => self.of_others < MAX_OF_OTHERS,
        }
    }

    /// Whether a source may have an entry for the rest of its requests: only sources that have entries do,
    /// and their number is bounded.
    fn has_room_for_source(&self, actor: &AuditActor) -> bool {
        self.per_source.get(&Source::of(actor)).is_some_and(|count| *count >= MAX_PER_SOURCE)
    }

    fn push(&mut self, key: Key, detail: AuditDetail, request: Option<String>, now: Millis) {
        let (event, outcome, actor) = (key.event.clone(), key.outcome, key.actor.clone());
        let note = AuditNote { event, outcome, actor, request, detail };
        let status = key.status;
        self.index.insert(key, self.tallies.len());
        self.tallies.push(Tally { note, status, count: 1, first: now, last: now });
    }
}

impl Tally {
    fn into_note(self) -> AuditNote {
        let mut note = self.note;
        if let Some(status) = self.status {
            note.detail.insert("status".into(), status.into());
        }
        note.detail.insert("count".into(), self.count.into());
        note.detail.insert("first_at".into(), self.first.to_string().into());
        if self.count > 1 {
            note.detail.insert("last_at".into(), self.last.to_string().into());
            // They say something about the first request only.
            note.request = None;
            note.detail.remove("resource");
        }
        note
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(tenant: Option<&str>, address: [u8; 4]) -> AuditNote {
        AuditNote {
            event: "auth.permission_denied".into(),
            outcome: AuditOutcome::Failure,
            actor: AuditActor {
                principal: tenant.map_or("unknown".into(), |id| id.to_owned().into()),
                method: "none".into(),
                tenant: tenant.map(|id| TenantId::parse(id).unwrap()),
                address: Some(address.into()),
            },
            request: Some("req".into()),
            detail: AuditDetail::from([("resource".into(), "q".into())]),
        }
    }

    /// A route of its own for each number.
    fn requested(n: usize) -> Requested {
        Requested { method: format!("M{n}").into(), route: "/r" }
    }

    fn counts(tallies: &mut Tallies) -> Vec<(String, u64)> {
        let count = |note: AuditNote| {
            let count = note.detail["count"].as_u64().unwrap();
            (note.actor.principal.into_owned(), count)
        };
        tallies.take().into_iter().map(count).collect()
    }

    #[test]
    fn the_same_refusal_is_one_entry_with_a_count() {
        let mut tallies = Tallies::default();
        for at in [5, 6, 9] {
            tallies.count(note(Some("a"), [1; 4]), &requested(0), 403, Millis(at));
        }
        tallies.count(note(Some("a"), [1; 4]), &requested(0), 404, Millis(9));
        tallies.count(note(Some("a"), [2; 4]), &requested(0), 403, Millis(9));
        tallies.count(note(Some("a"), [1; 4]), &requested(1), 403, Millis(9));
        let notes = tallies.take();
        let first = &notes[0];
        assert_eq!(first.detail["count"], 3);
        assert_eq!(first.detail["first_at"], "1970-01-01T00:00:00.005Z");
        assert_eq!(first.detail["last_at"], "1970-01-01T00:00:00.009Z");
        assert_eq!((first.request.as_ref(), first.detail.get("resource")), (None, None));
        assert_eq!(notes.len(), 4);
        assert_eq!(notes[1].request.as_deref(), Some("req"), "a single one keeps its request");
        assert_eq!(notes[1].detail["resource"], "q");
        assert!(tallies.take().is_empty(), "a new interval begins");
    }

    #[test]
    fn a_source_with_many_kinds_of_refusals_has_a_bounded_number_of_entries() {
        let mut tallies = Tallies::default();
        for n in 0..1_000 {
            tallies.count(note(Some("a"), [1; 4]), &requested(n), 403, Millis(0));
        }
        tallies.count(note(Some("b"), [1; 4]), &requested(0), 403, Millis(0));
        let counts = counts(&mut tallies);
        assert_eq!(counts.len(), MAX_PER_SOURCE + 2);
        assert_eq!(counts[MAX_PER_SOURCE], ("others".to_owned(), 1_000 - MAX_PER_SOURCE as u64));
        assert_eq!(counts[MAX_PER_SOURCE + 1], ("b".to_owned(), 1));
    }

    #[test]
    fn many_strangers_have_a_bounded_number_of_entries_and_tenants_keep_their_room() {
        let mut tallies = Tallies::default();
        for n in 0..100_000u32 {
            tallies.count(note(None, n.to_be_bytes()), &requested(0), 401, Millis(0));
        }
        tallies.count(note(Some("a"), [1; 4]), &requested(0), 403, Millis(0));
        let counts = counts(&mut tallies);
        assert_eq!(counts.len(), MAX_OF_OTHERS + 2);
        assert_eq!(counts[MAX_OF_OTHERS], ("others".to_owned(), 100_000 - MAX_OF_OTHERS as u64));
        assert_eq!(counts[MAX_OF_OTHERS + 1], ("a".to_owned(), 1));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 100_001, "all are counted");
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_source() {
        let mut tallies = Tallies::default();
        for n in 0..1_000u16 {
            let mut note = note(None, [0; 4]);
            note.actor.address = Some(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]));
            tallies.count(note, &requested(0), 401, Millis(0));
        }
        let counts = counts(&mut tallies);
        assert!(counts.len() <= MAX_PER_SOURCE + 2, "{}", counts.len());
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
    }
}
