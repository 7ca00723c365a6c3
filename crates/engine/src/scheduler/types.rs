//! Job types and their limits. Each check reads the limit of a type here, so that declaring one costs
//! the same however many classes have the type.

use std::collections::HashMap;

use ahash::RandomState;
use rota_model::{ClassId, JobType, LimitKey, LimitNumbers};

use super::Scheduler;
use super::limits::{GateIx, LimitIx, Partition};
use crate::slab::Slab;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeIx(u32);

/// The types of all classes.
pub(super) struct Types {
    all: Slab<TypeRules>,
    by_name: HashMap<JobType, TypeIx, RandomState>,
}

/// A job type: its limit, and how many jobs it has.
pub(super) struct TypeRules {
    name: JobType,
    /// The gate of the type's limit, which jobs pass besides the gates of their class.
    pub gate: Option<GateIx>,
    /// Jobs waiting in lanes, and active jobs.
    pub available: u64,
    pub active: u64,
    classes: u32,
}

impl Types {
    pub fn new(hasher: RandomState) -> Self {
        Self { all: Slab::default(), by_name: HashMap::with_hasher(hasher) }
    }

    pub fn get(&self, ix: TypeIx) -> &TypeRules {
        self.all.get(ix.0)
    }

    pub fn get_mut(&mut self, ix: TypeIx) -> &mut TypeRules {
        self.all.get_mut(ix.0)
    }
}

impl Scheduler {
    /// Returns the index of a type for a new class, which uses it until `leave_type`.
    pub fn use_type(&mut self, name: &JobType) -> TypeIx {
        if let Some(&ix) = self.types.by_name.get(name) {
            self.types.get_mut(ix).classes += 1;
            return ix;
        }
        let rules =
            TypeRules { name: name.clone(), gate: None, available: 0, active: 0, classes: 1 };
        let ix = TypeIx(self.types.all.add(rules));
        self.types.by_name.insert(name.clone(), ix);
        self.set_type_gate(ix);
        ix
    }

    /// A class of this type is gone.
    pub(super) fn leave_type(&mut self, ix: TypeIx) {
        let type_rules = self.types.get_mut(ix);
        type_rules.classes -= 1;
        if type_rules.classes > 0 {
            return;
        }
        let gate = type_rules.gate.take();
        let name = type_rules.name.clone();
        self.types.by_name.remove(&name);
        self.types.all.remove(ix.0);
        if let Some(gate) = gate {
            self.limits.leave_gate(gate);
        }
    }

    /// The limit of a type was set, changed or removed. Lanes move when they are next checked.
    pub(super) fn type_limit_changed(&mut self, name: &JobType) {
        if let Some(&ix) = self.types.by_name.get(name) {
            self.set_type_gate(ix);
        }
    }

    fn set_type_gate(&mut self, ix: TypeIx) {
        let type_rules = self.types.get(ix);
        let (available, active, current) =
            (type_rules.available, type_rules.active, type_rules.gate);
        let partition = Partition { key: LimitKey::of_type(&type_rules.name), tenant: None };
        let limit = self.limits.find(&partition);
        let wanted = limit.filter(|limit| self.limits.limit(*limit).has_settings());
        match (current, wanted) {
            (None, Some(limit)) => {
                let gate = self.limits.use_gate(limit, LimitNumbers::default(), None);
                self.limits.gate_mut(gate).available += available;
                let limit = self.limits.limit_mut(limit);
                limit.active = active + limit.named_elsewhere;
                self.types.get_mut(ix).gate = Some(gate);
            }
            (Some(gate), None) => {
                self.types.get_mut(ix).gate = None;
                let gate_state = self.limits.gate_mut(gate);
                gate_state.available = gate_state.available.saturating_sub(available);
                let limit = gate_state.limit;
                let limit = self.limits.limit_mut(limit);
                limit.active = limit.named;
                self.limits.leave_gate(gate);
            }
            _ => {}
        }
    }

    /// The gates that jobs of a class must pass, besides that of their queue: of their key, of their
    /// type, then of their tenant's own part of the key.
    pub fn gates_of(&self, class: ClassId) -> impl Iterator<Item = GateIx> {
        self.counting_gates_of(class).chain(self.own_part_of(class))
    }

    /// Those of them that count the jobs: of their key and of their type.
    pub(super) fn counting_gates_of(&self, class: ClassId) -> impl Iterator<Item = GateIx> {
        let rules = self.class(class);
        rules.gates.iter().copied().chain(self.types.get(rules.kind).gate)
    }

    /// The limits that count jobs of a class, besides that of their queue.
    pub fn keys_of(&self, class: ClassId) -> Vec<LimitIx> {
        self.counting_gates_of(class).map(|gate| self.limits.gate(gate).limit).collect()
    }
}
