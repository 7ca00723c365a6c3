//! Views of API keys.

use rota_identity::{ApiKey, KeyId};
use rota_model::TenantId;

use crate::Engine;

impl Engine {
    #[must_use]
    pub fn key(&self, id: &KeyId) -> Option<ApiKey> {
        self.keys.get(id).cloned()
    }

    /// All keys, for a start.
    pub fn keys(&self) -> impl Iterator<Item = &ApiKey> {
        self.keys.iter()
    }

    /// Up to `most` keys after this id, without the first `skip`: those of a tenant, or all.
    #[must_use]
    pub fn keys_after(
        &self,
        tenant: Option<&TenantId>,
        id: &str,
        skip: usize,
        most: usize,
    ) -> Vec<ApiKey> {
        match tenant {
            Some(tenant) => {
                let keys = self.keys.of(Some(tenant.clone()), id);
                keys.skip(skip).take(most).cloned().collect()
            }
            None => self.keys.after(id).skip(skip).take(most).cloned().collect(),
        }
    }

    /// The number of keys of a tenant, or of all.
    #[must_use]
    pub fn key_count(&self, tenant: Option<&TenantId>) -> usize {
        tenant.map_or(self.keys.len(), |tenant| self.keys.count_of(tenant))
    }
}
