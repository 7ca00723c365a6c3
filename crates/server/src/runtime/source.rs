//! Whom a request is served for, which decides in which line it waits.

use rota_model::TenantId;

/// Whom a request is served for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// The server itself. What it has to do follows from requests that were accepted.
    Server,
    Operators,
    Tenant(TenantId),
}

impl Source {
    /// The source of a caller's requests; operators are no tenant.
    #[must_use]
    pub fn of(caller: Option<&TenantId>) -> Self {
        caller.cloned().map_or(Self::Operators, Self::Tenant)
    }
}
