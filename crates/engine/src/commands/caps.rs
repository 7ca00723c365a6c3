//! How many queues and classes one tenant may have, and what all of them may have together.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::envelope::NewJob;
use rota_model::{Class, QueueName, TenantId};

use crate::{Engine, Refusal};

/// The part of all queues that is kept for tenants that are configured or have none yet.
const RESERVED_PART: usize = 10;
/// Classes that are known only by finished jobs that are kept, for each that may have living ones.
const KEPT_FOR_EACH: usize = 10;

impl Engine {
    /// Whether new queues of these jobs fit. A queue belongs to the tenant of the first job in it.
    pub(super) fn check_queues(&self, jobs: &[NewJob]) -> Result<(), Refusal> {
        let mut new = BTreeSet::new();
        let mut own: BTreeMap<&TenantId, usize> = BTreeMap::new();
        for NewJob { class, .. } in jobs {
            if self.queues.find_existing(&class.queue).is_none() && new.insert(&class.queue) {
                let more = own.entry(&class.tenant).or_default();
                self.check_queue(Some(&class.tenant), *more, new.len() - 1)?;
                *more += 1;
            }
        }
        Ok(())
    }

    /// Whether one more queue fits that this tenant makes, or an operator. `more` of the tenant and
    /// `more_in_all` are about to be made before it.
    pub(crate) fn check_queue(
        &self,
        tenant: Option<&TenantId>,
        more: usize,
        more_in_all: usize,
    ) -> Result<(), Refusal> {
        let limit = self.config.max_queues;
        let used = self.queues.len() + more_in_all;
        let Some(id) = tenant else {
            return if used < limit { Ok(()) } else { Err(Refusal::TooManyQueues { limit }) };
        };
        let known = self.tenants.find(id).map(|ix| self.tenants.get(ix));
        let own = known.map_or(0, |tenant| tenant.queues as usize) + more;
        let maximum = self.config.max_queues_per_tenant;
        if own >= maximum {
            let (tenant, current) = (id.clone(), own);
            return Err(Refusal::TenantQueues { tenant, current, maximum });
        }
        let configured = known.is_some_and(|tenant| tenant.origin() != crate::Origin::Default);
        let reserved = if own == 0 || configured { 0 } else { limit / RESERVED_PART };
        if used < limit - reserved {
            return Ok(());
        }
        let tenant = id.clone();
        Err(match used < limit {
            true => Refusal::QueuesReserved { tenant, current: own, used, limit },
            false => Refusal::TooManyQueues { limit },
        })
    }

    /// Whether new classes of these jobs fit. Most servers have few classes, and this is asked for
    /// every job.
    pub(super) fn check_classes(&self, jobs: &[NewJob]) -> Result<(), Refusal> {
        let maximum = self.config.max_classes_per_tenant;
        if self.classes.len() + jobs.len() <= maximum {
            return Ok(());
        }
        let mut fresh: BTreeMap<&TenantId, Vec<&Class>> = BTreeMap::new();
        for NewJob { class, .. } in jobs {
            let known = self.classes.find(class).map(|id| self.classes.slot(id));
            if known.is_none_or(|slot| slot.live == 0) {
                let classes = fresh.entry(&class.tenant).or_default();
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
        }
        for (id, classes) in fresh {
            let Some(ix) = self.tenants.find(id) else { continue };
            let tenant = self.tenants.get(ix);
            let (living, known) = (tenant.living_classes as usize, tenant.classes.len());
            let new = classes.iter().filter(|class| self.classes.find(class).is_none()).count();
            let most_known = maximum.saturating_mul(KEPT_FOR_EACH);
            if living + classes.len() > maximum {
                let tenant = id.clone();
                return Err(Refusal::TenantClasses {
                    tenant,
                    current: living,
                    maximum,
                    kept: false,
                });
            }
            if known + new > most_known {
                let (tenant, maximum) = (id.clone(), most_known);
                return Err(Refusal::TenantClasses { tenant, current: known, maximum, kept: true });
            }
        }
        Ok(())
    }

    /// Who makes a queue: in namespaces the tenant that it belongs to.
    pub(crate) fn maker_of(name: &QueueName, by: Option<&TenantId>) -> Option<TenantId> {
        let namespace = name.namespace().and_then(|id| TenantId::parse(id).ok());
        namespace.or_else(|| by.cloned())
    }
}
