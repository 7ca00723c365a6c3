//! The settings of a key, as stored: a pause, an override, a declaration.

use std::sync::Arc;

use rota_model::{DeclaredLimit, Feedback, LimitNumbers, Millis, TenantId};
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
    /// Part of the declaration.
    #[serde(default, skip_serializing_if = "Feedback::is_default")]
    pub feedback: Feedback,
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
        let feedback = declared.map_or(Feedback::default(), |_| self.feedback);
        has_any.then(|| Self { declared, feedback, from_file: false, ..self.clone() })
    }

    /// Settings with the declaration of the configuration file, if it has one.
    pub fn of_file(declaration: Option<DeclaredLimit>) -> Self {
        let feedback = declaration.map_or(Feedback::default(), |declaration| declaration.feedback);
        Self {
            declared: declaration.map(|declaration| declaration.numbers),
            feedback,
            from_file: declaration.is_some(),
            ..Self::default()
        }
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
