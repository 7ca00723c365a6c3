//! API keys.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, WithJson};

/// The record of an API key.
#[derive(Debug, Clone, Deserialize)]
pub struct ApiKey {
    /// The public part of the key.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// `None` for an operator's key.
    pub tenant_id: Option<String>,
    /// What it allows.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The only queues that it is for; `None` for all.
    pub queues: Option<Vec<String>>,
    /// The only types of jobs that it may add; `None` for all.
    pub job_types: Option<Vec<String>>,
    /// `active`, `expired` or `revoked`.
    pub state: String,
    /// When it was created.
    pub created_at: Option<String>,
    /// When it ends by itself.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// Accurate to a minute.
    pub last_used_at: Option<String>,
    /// The id of the key that it replaces.
    pub rotated_from: Option<String>,
    /// The id of the key that replaces it.
    pub successor: Option<String>,
}

/// A key that was just created. Nobody can show it again.
#[derive(Clone, Deserialize)]
pub struct CreatedKey {
    /// The key itself.
    pub key: String,
    /// Its record.
    #[serde(flatten)]
    pub about: ApiKey,
    /// After a rotation: the old key, which works for a while.
    pub previous: Option<ApiKey>,
}

/// Without the key.
impl std::fmt::Debug for CreatedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedKey").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A key to create.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewKey {
    /// What people call it.
    pub name: String,
    /// What it allows: `enqueue`, `dequeue`, `cancel`, `inspect`, `admin`, `server`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// A named set of scopes: `producer`, `worker`, `operator`, `admin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The only queues that it is for; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<String>>,
    /// The only types of jobs that it may add; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_types: Option<Vec<String>>,
    /// RFC 3339, or a distance from now such as `+P90D`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// How a key is rotated.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Rotation {
    /// How long the old key still works; `None` uses the server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<String>,
    /// When the new key ends; by default it lasts as long as the old one was to last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<WithJson<ApiKey>>,
    #[serde(default)]
    pagination: Pagination,
}

impl Client {
    /// One page of the keys, by id.
    pub async fn keys(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<ApiKey>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "keys"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// One key.
    pub async fn key(&self, id: &str) -> Result<WithJson<ApiKey>, Error> {
        self.get(self.endpoint(&["admin", "keys", id])).await?.read()
    }

    /// Creates a key, for the tenant that requests are made on behalf of.
    pub async fn create_key(&self, key: &NewKey) -> Result<WithJson<CreatedKey>, Error> {
        self.post(self.endpoint(&["admin", "keys"]), key).await?.read()
    }

    /// Creates a successor. The old key works for a while.
    pub async fn rotate_key(
        &self,
        id: &str,
        rotation: &Rotation,
    ) -> Result<WithJson<CreatedKey>, Error> {
        self.post(self.endpoint(&["admin", "keys", id, "rotate"]), rotation).await?.read()
    }

    /// Revokes a key. The server refuses it from the next request on.
    pub async fn revoke_key(&self, id: &str) -> Result<WithJson<ApiKey>, Error> {
        self.post_empty(self.endpoint(&["admin", "keys", id, "revoke"])).await?.read()
    }

    /// Deletes the record of a key that has ended.
    pub async fn delete_key(&self, id: &str) -> Result<WithJson<IgnoredAny>, Error> {
        self.delete(self.endpoint(&["admin", "keys", id])).await?.read()
    }
}
