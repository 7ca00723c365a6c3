//! What a limit counts together: a key, for all tenants or for one.

use rota_model::{LimitKey, TenantId};

/// What is counted together: a key, for all tenants or for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Partition {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
}

impl Partition {
    /// The name on disk. Tenant ids contain no slash.
    pub fn name(&self) -> String {
        match &self.tenant {
            Some(tenant) => format!("{tenant}/{}", self.key),
            None => format!("/{}", self.key),
        }
    }

    /// The tenant that owns the partition: the one it counts for, or the one whose queue the key
    /// names.
    pub fn owner(&self) -> Option<TenantId> {
        let namespace = || self.key.namespace().and_then(|id| TenantId::parse(id).ok());
        self.tenant.clone().or_else(namespace)
    }

    pub fn parse(name: &str) -> Option<Self> {
        let (tenant, key) = name.split_once('/')?;
        let tenant = match tenant {
            "" => None,
            id => Some(TenantId::parse(id).ok()?),
        };
        Some(Self { key: LimitKey::stored(key), tenant })
    }
}
