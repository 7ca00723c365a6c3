//! The table of all tenants.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use rota_model::{ClassId, Millis, Quota, TenantConfig, TenantId, Weight};

use super::{ConfigOrigin, Counters, TenantRow};
use crate::job_counts::JobCounts;
use crate::meters::{SLOT_MS, SLOTS, slot_of};
use crate::scheduler::limits::Window;
use crate::slab::Slab;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TenantIx(pub u32);

pub(crate) struct Tenant {
    pub id: TenantId,
    pub row: TenantRow,
    /// When it was last found in use, in monotonic ms.
    pub used_at: u64,
    /// Its row is on disk.
    pub written: bool,
    /// It was deleted. Another tenant may have its id now.
    deleted: bool,
    pub file: Option<Box<TenantConfig>>,
    pub jobs: JobCounts,
    /// Bytes of its jobs and schedules; see [`Tenants::stored_bytes`].
    stored: u64,
    pub classes: Vec<ClassId>,
    /// Classes with unfinished jobs, and those of them that have a limit.
    pub living_classes: u32,
    pub limited_classes: u32,
    /// The event that it is at its concurrency cap was sent.
    pub notified_at_cap: bool,
    /// Recent enqueues, if their rate is limited.
    pub enqueued: Option<Box<Window>>,
    pub counters: Option<Box<Counters>>,
    pub dirty: bool,
    /// 1 + the index of its delta in the journal's current batch; 0 if there is none.
    pub delta_slot: u32,
    /// It is listed as having unwritten usage.
    pub usage_queued: bool,
    /// It is listed for the next round of noise detection.
    pub noise_check_due: bool,
    /// It counted as present in its last noise check.
    pub present: bool,
    /// Bits of the signals that its last noise check found.
    pub noisy: u8,
    /// Since when every noise check has found it noisy.
    pub noisy_since: Option<Millis>,
}

impl Tenant {
    pub fn config(&self) -> &TenantConfig {
        static DEFAULT: std::sync::LazyLock<TenantConfig> =
            std::sync::LazyLock::new(TenantConfig::default);
        let api = self.row.api.as_ref().map(|api| &api.config);
        api.or(self.file.as_deref()).unwrap_or(&DEFAULT)
    }

    pub fn origin(&self) -> ConfigOrigin {
        match (&self.row.api, &self.file) {
            (Some(_), _) => ConfigOrigin::Api,
            (None, Some(_)) => ConfigOrigin::File,
            (None, None) => ConfigOrigin::Default,
        }
    }

    pub fn quota(&self) -> Quota {
        self.config().quota.unwrap_or_default()
    }

    /// Bytes of its jobs and schedules that are stored or about to be.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Its lowered weight while it is throttled.
    pub fn throttled(&self, now: Millis) -> Option<Weight> {
        self.row.throttle.as_ref().filter(|t| t.until > now).map(|t| t.effective)
    }
}

#[derive(Default)]
pub(crate) struct Tenants {
    all: Slab<Tenant>,
    by_id: BTreeMap<TenantId, TenantIx>,
    /// Ends of automatic throttles.
    pub throttle_ends: BTreeSet<(Millis, TenantIx)>,
    configured: bool,
    /// Deleted tenants that finished jobs or queues still refer to. They do not count towards the cap.
    retired: BTreeSet<TenantIx>,
    /// Tenants with counts of the last minute, by the slot in which to trim them.
    recent: VecDeque<(u32, TenantIx)>,
    /// Stored bytes of tenants that are not in the table: they only have schedules, or were deleted before
    /// the deletion of their last jobs was committed.
    unlisted: BTreeMap<TenantId, u64>,
    /// Stored bytes of all tenants.
    stored: u64,
}

impl Tenants {
    pub fn find(&self, id: &str) -> Option<TenantIx> {
        self.by_id.get(id).copied()
    }

    pub fn add(&mut self, id: TenantId, created: Millis, used_at: u64) -> TenantIx {
        let row = TenantRow {
            created,
            api: None,
            changes: Vec::new(),
            paused: Vec::new(),
            throttle: None,
            spared_until: None,
        };
        let stored = self.unlisted.remove(&id).unwrap_or(0);
        let ix = TenantIx(self.all.add(Tenant {
            id: id.clone(),
            row,
            used_at,
            written: false,
            deleted: false,
            file: None,
            jobs: JobCounts::default(),
            stored,
            classes: Vec::new(),
            living_classes: 0,
            limited_classes: 0,
            notified_at_cap: false,
            enqueued: None,
            counters: None,
            dirty: false,
            delta_slot: 0,
            usage_queued: false,
            noise_check_due: false,
            present: false,
            noisy: 0,
            noisy_since: None,
        }));
        self.by_id.insert(id, ix);
        ix
    }

    pub fn get(&self, ix: TenantIx) -> &Tenant {
        self.all.get(ix.0)
    }

    pub fn get_mut(&mut self, ix: TenantIx) -> &mut Tenant {
        self.all.get_mut(ix.0)
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Tenants that count towards the cap.
    pub fn counted(&self) -> usize {
        self.len() - self.retired.len()
    }

    /// The tenant was deleted and stays only for what refers to it.
    pub fn retire(&mut self, ix: TenantIx) {
        self.retired.insert(ix);
    }

    /// The tenant has jobs or a configuration again.
    pub fn revive(&mut self, ix: TenantIx) {
        if !self.retired.is_empty() {
            self.retired.remove(&ix);
        }
    }

    /// A tenant that counts towards the cap.
    pub fn find_counted(&self, id: &str) -> Option<TenantIx> {
        self.find(id).filter(|ix| !self.retired.contains(ix))
    }

    /// After a restart: finds the tenants that were deleted and have had no jobs since.
    pub fn find_retired(&mut self) {
        let retired = self.iter().filter(|(_, tenant)| {
            let last = tenant.row.changes.last();
            let deleted = last.is_some_and(|change| change.what == "delete");
            deleted && tenant.origin() == ConfigOrigin::Default && tenant.jobs.total() == 0
        });
        self.retired = retired.map(|(ix, _)| ix).collect();
    }

    /// The bytes of all tenants.
    pub fn all_stored(&self) -> u64 {
        self.stored
    }

    pub fn stored_bytes(&self, id: &TenantId) -> u64 {
        match self.find(id) {
            Some(ix) => self.get(ix).stored,
            None => self.unlisted.get(id).copied().unwrap_or(0),
        }
    }

    /// Counts bytes that the current batch writes.
    pub fn count_stored(&mut self, ix: TenantIx, bytes: u64) {
        self.get_mut(ix).stored += bytes;
        self.stored += bytes;
    }

    /// The same for a tenant that need not be in the table.
    pub fn count_stored_of(&mut self, id: &TenantId, bytes: u64) {
        match self.find(id) {
            Some(ix) => self.get_mut(ix).stored += bytes,
            None if bytes > 0 => *self.unlisted.entry(id.clone()).or_default() += bytes,
            None => {}
        }
        self.stored += bytes;
    }

    /// Counts bytes that were removed.
    pub fn count_freed(&mut self, id: &TenantId, bytes: u64) {
        debug_assert!(self.stored_bytes(id) >= bytes, "{id} cannot free more than it has");
        self.stored = self.stored.saturating_sub(bytes);
        if let Some(ix) = self.find(id) {
            let tenant = self.get_mut(ix);
            tenant.stored = tenant.stored.saturating_sub(bytes);
        } else if let Some(stored) = self.unlisted.get_mut(id) {
            *stored = stored.saturating_sub(bytes);
            if *stored == 0 {
                self.unlisted.remove(id);
            }
        }
    }

    /// Some tenant is or was configured.
    pub fn any_configured(&self) -> bool {
        self.configured
    }

    pub fn note_configured(&mut self) {
        self.configured = true;
    }

    /// Lists a tenant that has counts of the last minute.
    pub fn note_recent(&mut self, ix: TenantIx, now: Millis) {
        self.recent.push_back((slot_of(now) + SLOTS, ix));
    }

    /// After a restart: restores a tenant's counters.
    pub fn restore_counters(&mut self, ix: TenantIx, counters: Counters, now: Millis) {
        if !counters.minute.is_empty() {
            self.note_recent(ix, now);
        }
        self.get_mut(ix).counters = Some(Box::new(counters));
    }

    /// When counts of the last minute must next be trimmed.
    pub fn next_trim(&self) -> Option<Millis> {
        self.recent.front().map(|(slot, _)| Millis(i64::from(*slot) * SLOT_MS))
    }

    /// Trims counts older than a minute, of at most `most` tenants.
    pub fn trim_recent(&mut self, now: Millis, most: usize) {
        for _ in 0..most {
            let due = self.recent.front().filter(|(slot, _)| *slot <= slot_of(now));
            let Some(&(_, ix)) = due else { return };
            self.recent.pop_front();
            let Some(counters) = &mut self.get_mut(ix).counters else { continue };
            counters.minute.trim(now);
            if !counters.minute.is_empty() {
                self.note_recent(ix, now);
            }
        }
    }

    /// Tenants by id.
    pub fn iter(&self) -> impl Iterator<Item = (TenantIx, &Tenant)> {
        self.by_id.values().map(|ix| (*ix, self.get(*ix)))
    }

    /// Live tenants with an index in `from..from + most`; deleted ones are skipped.
    pub fn slice(&self, from: usize, most: usize) -> impl Iterator<Item = (TenantIx, &Tenant)> {
        let indexes = from..from.saturating_add(most).min(self.all.end());
        let tenants = indexes.map(|index| TenantIx(index as u32)).filter(|ix| self.is_live(*ix));
        tenants.map(|ix| (ix, self.get(ix)))
    }

    /// The index to continue from after such a slice, if there are more.
    pub fn after_slice(&self, from: usize, most: usize) -> Option<usize> {
        let next = from.saturating_add(most);
        (next < self.all.end()).then_some(next)
    }

    /// Ids after this one, sorted.
    pub fn after<'a>(&'a self, id: &str) -> impl Iterator<Item = &'a TenantId> + use<'a> {
        let behind = (Bound::Excluded(id), Bound::Unbounded);
        self.by_id.range::<str, _>(behind).map(|(id, _)| id)
    }

    /// The index is in use by a tenant that was not deleted.
    pub fn is_live(&self, ix: TenantIx) -> bool {
        self.contains(ix) && !self.get(ix).deleted
    }

    /// The index is in use, possibly by a deleted tenant.
    pub fn contains(&self, ix: TenantIx) -> bool {
        self.all.contains(ix.0)
    }

    /// Frees the index. Nothing may refer to the tenant any more.
    pub fn remove(&mut self, ix: TenantIx) {
        if self.is_live(ix) {
            self.delete(ix);
        }
        self.all.remove(ix.0);
    }

    /// Deletes a tenant. Its index is freed by [`Self::remove`], when nothing refers to it.
    pub fn delete(&mut self, ix: TenantIx) {
        let tenant = self.all.get_mut(ix.0);
        tenant.deleted = true;
        let stored = std::mem::take(&mut tenant.stored);
        if stored > 0 {
            self.unlisted.insert(tenant.id.clone(), stored);
        }
        self.by_id.remove(&tenant.id);
        self.retired.remove(&ix);
    }
}
