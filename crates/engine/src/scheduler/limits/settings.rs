//! The settings of a key, as stored: a pause, an override, a declaration.

use std::sync::Arc;

use rota_model::{LimitNumbers, Millis, TenantId};
use serde::{Deserialize, Serialize};

/// What operators, tenants and handlers have set for a key, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitSettings {
    /// The key is paused. Stored as `hold`.
    #[serde(default, rename = "hold", skip_serializing_if = "Option::is_none")]
    pub pause: Option<KeyPause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Override>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<LimitNumbers>,
    /// The declaration comes from the configuration file, which is read at each start, so it is not
    /// stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The tenant against whose cap the stored row counts; `None` for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TenantId>,
}

impl LimitSettings {
    /// The part that is stored, if there is any.
    pub fn written(&self) -> Option<Self> {
        let declared = self.declared.filter(|_| !self.from_file);
        let has_any = self.pause.is_some() || self.replaced.is_some() || declared.is_some();
        has_any.then(|| Self { declared, from_file: false, ..self.clone() })
    }
}

/// A pause of a key: nothing of it starts before `until`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyPause {
    pub until: Millis,
    pub reason: Arc<str>,
}

/// Numbers that replace all others until they expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Override {
    pub numbers: LimitNumbers,
    pub expires: Millis,
}
