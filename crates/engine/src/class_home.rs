//! The queue, tenant and shard of a class, created with its first job.

use rota_model::mutation::Mutation;
use rota_model::{Class, ClassId, LimitKey, OnLimit};

use crate::classes::Home;
use crate::exact_vec::push_exact;
use crate::scheduler::{ClassRules, NewShard};
use crate::{Engine, Refusal};

impl Engine {
    /// Interns a class; its queue and tenant are created if they are new.
    pub(crate) fn class_id(&mut self, class: &Class) -> Result<ClassId, Refusal> {
        let id = self.classes.find(class);
        if let Some(id) = id.filter(|id| self.queues.get(self.classes.slot(*id).queue).exists) {
            return Ok(id);
        }
        self.queue_ix(&class.queue, Some(&class.tenant))?;
        if let Some(id) = id {
            return Ok(id);
        }
        let home = self.home_of(class);
        let shared = self.intern_names(class, &home);
        let (id, class) = self.classes.add(shared, home);
        self.class_added(id);
        self.out.mutations.push(Mutation::Class(id, class));
        Ok(id)
    }

    /// The same class with interned names and policy, to save memory: a hundred thousand tenants
    /// have as many classes that are nearly alike.
    pub(crate) fn intern_names(&mut self, class: &Class, home: &Home) -> Class {
        let (kind, policy) = self.classes.shared(class);
        Class {
            queue: self.queues.get(home.queue).name.clone(),
            kind,
            tenant: self.tenants.get(home.tenant).id.clone(),
            priority: class.priority,
            policy,
        }
    }

    /// The queue, tenant and shard of a class. The queue must exist.
    pub(crate) fn home_of(&mut self, class: &Class) -> Home {
        let queue = self.queues.find(&class.queue).expect("the queue of a class is made first");
        let tenant = self.ensure_tenant(&class.tenant);
        if let Some(shard) = self.scheduler.shard(queue, tenant) {
            return Home { queue, tenant, shard };
        }
        self.label_queue(queue);
        let asker = self.tenants.get(tenant).asker();
        let meter = self.meters.acquire(asker, &class.tenant, &class.queue);
        let shard = self.shards.add(queue, tenant, meter, self.now.mono);
        self.queues.get_mut(queue).shards += 1;
        let paused = &self.tenants.get(tenant).row.paused;
        let since = paused.iter().find(|(name, _)| *name == class.queue).map(|(_, at)| *at);
        self.shards.get_mut(shard).paused = since;
        let position = self.shard_position(tenant, &class.queue);
        let new = NewShard { queue, tenant, paused: since.is_some() };
        self.scheduler.add_shard(shard, new, position);
        Home { queue, tenant, shard }
    }

    /// Adds a class to its tenant and to the scheduler.
    pub(crate) fn class_added(&mut self, id: ClassId) {
        let slot = self.classes.slot(id);
        let (queue, tenant, shard, class) =
            (slot.queue, slot.tenant, slot.shard, slot.class.clone());
        // A class uses the gates of its own limit only while it has jobs.
        let gates = Box::default();
        let on_limit = class.policy.limit.as_ref().map(|limit| limit.on_limit);
        let waits = on_limit.is_none_or(|on_limit| on_limit == OnLimit::Wait);
        let priority = class.priority;
        let kind = self.scheduler.use_type(&class.kind);
        let named = class.policy.limit.as_ref().map(|limit| &limit.key);
        let names_home = named.is_some_and(|key| {
            *key == LimitKey::of_queue(&class.queue) || *key == LimitKey::of_type(&class.kind)
        });
        let rules = ClassRules { queue, tenant, shard, priority, kind, gates, names_home, waits };
        self.scheduler.add_class(id, rules);
        let part = self.shards.get_mut(shard);
        part.classes += 1;
        part.used_at = self.now.mono;
        push_exact(&mut self.tenants.get_mut(tenant).classes, id);
    }

    /// A class has one more unfinished job.
    pub(crate) fn class_gained_job(&mut self, class: ClassId) {
        let slot = self.classes.slot_mut(class);
        slot.live += 1;
        if slot.live == 1 {
            let limited = slot.class.policy.limit.is_some();
            self.tenants.revive(slot.tenant);
            let tenant = self.tenants.get_mut(slot.tenant);
            tenant.living_classes += 1;
            self.classes.living += 1;
            tenant.limited_classes += u32::from(limited);
            if limited {
                self.use_limit_again(class);
            }
        }
    }

    /// A class has one fewer unfinished job; `slot.live` was already updated.
    pub(crate) fn class_lost_job(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        if slot.live == 0 {
            let limited = slot.class.policy.limit.is_some();
            let tenant = self.tenants.get_mut(slot.tenant);
            tenant.living_classes -= 1;
            self.classes.living -= 1;
            tenant.limited_classes -= u32::from(limited);
            if limited {
                self.limited_class_is_idle(class);
            }
        }
    }
}
