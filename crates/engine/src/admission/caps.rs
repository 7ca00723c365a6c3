//! Caps on the tenants, queues and classes that new jobs would create.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::envelope::NewJob;
use rota_model::{Class, QueueName, TenantId};

use crate::caps::InUse;
use crate::{Cap, CapReached, Capped, Engine};

/// The cap on classes including those that have only finished jobs, as a multiple of the cap on
/// classes with unfinished jobs.
const KEPT_FOR_EACH: usize = 10;

impl Engine {
    /// Whether the tenants, queues and classes that these jobs would create fit under the caps.
    pub(super) fn check_caps(&self, jobs: &[NewJob]) -> Result<(), CapReached> {
        self.check_new_tenants(jobs)?;
        self.check_queues(jobs)?;
        self.check_classes(jobs.iter().map(|job| &job.class))
    }

    /// Whether the new tenants among these jobs fit. Far below the cap, nothing is counted.
    fn check_new_tenants(&self, jobs: &[NewJob]) -> Result<(), CapReached> {
        let total = self.config.caps.tenants;
        if self.tenants.counted() + jobs.len() <= total - total / 10 {
            return Ok(());
        }
        let mut new = BTreeSet::new();
        for id in jobs.iter().map(|job| &job.class.tenant) {
            if self.tenants.find_counted(id).is_none() && !new.contains(id) {
                self.check_new_tenant(id, new.len())?;
                new.insert(id);
            }
        }
        Ok(())
    }

    /// Whether a tenant exists, or may be added.
    pub(crate) fn check_tenant(&self, id: Option<&TenantId>) -> Result<(), CapReached> {
        let unknown = id.filter(|id| self.tenants.find_counted(id).is_none());
        unknown.map_or(Ok(()), |id| self.check_new_tenant(id, 0))
    }

    fn check_new_tenant(&self, id: &TenantId, others: usize) -> Result<(), CapReached> {
        let asker = self.asker(Some(id));
        if asker.configured {
            return Ok(());
        }
        let cap = Cap { total: self.config.caps.tenants, per_tenant: 1 };
        let used = InUse { own: 0, all: self.tenants.counted() + others };
        used.check(cap, Capped::Tenants, asker, 1)
    }

    fn check_queues(&self, jobs: &[NewJob]) -> Result<(), CapReached> {
        let classes = jobs.iter().map(|job| &job.class);
        let new = classes.filter(|class| self.queues.find_existing(&class.queue).is_none());
        let mut seen = BTreeSet::new();
        let mut more: BTreeMap<Option<TenantId>, usize> = BTreeMap::new();
        for class in new.filter(|class| seen.insert(&class.queue)) {
            let owner = Self::queue_owner(&class.queue, Some(&class.tenant));
            *more.entry(owner).or_default() += 1;
        }
        let mut before = 0;
        for (owner, more) in more {
            self.queues.check_cap(self.asker(owner.as_ref()), before, more)?;
            before += more;
        }
        Ok(())
    }

    /// Whether the new classes fit. Far below the caps, nothing is counted.
    pub(crate) fn check_classes<'a>(
        &self,
        classes: impl ExactSizeIterator<Item = &'a Class>,
    ) -> Result<(), CapReached> {
        let cap = self.config.caps.classes;
        if self.classes.len() + classes.len() <= cap.per_tenant.min(cap.total - cap.total / 10) {
            return Ok(());
        }
        let mut fresh: BTreeMap<&TenantId, Vec<&Class>> = BTreeMap::new();
        for class in classes {
            let slot = self.classes.find(class).map(|id| self.classes.slot(id));
            if slot.is_none_or(|slot| slot.live == 0) {
                let classes = fresh.entry(&class.tenant).or_default();
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
        }
        let (mut living, mut kept) = (self.classes.living, self.classes.len());
        for (id, classes) in fresh {
            let asker = self.asker(Some(id));
            let tenant = self.tenants.find(id).map(|ix| self.tenants.get(ix));
            let own = tenant.map_or(0, |tenant| tenant.living_classes as usize);
            let own_kept = tenant.map_or(0, |tenant| tenant.classes.len());
            let new = classes.iter().filter(|class| self.classes.find(class).is_none()).count();
            let used = InUse { own, all: living };
            used.check(cap, Capped::Classes, asker, classes.len())?;
            let used = InUse { own: own_kept, all: kept };
            if new > 0 {
                used.check(cap.times(KEPT_FOR_EACH), Capped::KeptClasses, asker, new)?;
            }
            living += classes.len();
            kept += new;
        }
        Ok(())
    }

    /// The owner of a new queue: the tenant of its namespace, or else the one that creates it.
    pub(crate) fn queue_owner(name: &QueueName, by: Option<&TenantId>) -> Option<TenantId> {
        let namespace = name.namespace().and_then(|id| TenantId::parse(id).ok());
        namespace.or_else(|| by.cloned())
    }
}
