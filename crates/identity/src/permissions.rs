//! Permissions, which requests and tokens call scopes, and the roles that are named sets of them.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One thing that a credential may allow. All but [`Permission::Server`] are about one tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Add jobs.
    Enqueue,
    /// Fetch jobs and report their outcomes.
    Dequeue,
    /// Cancel, retry and change single jobs.
    Cancel,
    /// Read jobs, queues, statistics and events.
    Inspect,
    /// Change queues, schedules, limits, pools and keys of the tenant, and many jobs at once.
    Admin,
    /// Everything, for all tenants and the server itself. Its holder is an operator.
    Server,
}

impl Permission {
    pub const ALL: [Self; 6] =
        [Self::Enqueue, Self::Dequeue, Self::Cancel, Self::Inspect, Self::Admin, Self::Server];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Cancel => "cancel",
            Self::Inspect => "inspect",
            Self::Admin => "admin",
            Self::Server => "server",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of permissions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Permissions(u8);

impl Permissions {
    pub const NONE: Self = Self(0);

    /// All permissions within a tenant.
    #[must_use]
    pub fn of_tenant() -> Self {
        Permission::ALL.into_iter().filter(|one| *one != Permission::Server).collect()
    }

    /// The permissions of an operator: all there are.
    #[must_use]
    pub fn of_operator() -> Self {
        Permission::ALL.into_iter().collect()
    }

    #[must_use]
    pub fn allow(self, permission: Permission) -> bool {
        self.0 & permission.bit() != 0
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub fn contain(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    #[must_use]
    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |one| self.allow(*one))
    }

    /// Reads names of permissions.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownPermission> {
        let find = |name: &str| Permission::ALL.into_iter().find(|one| one.name() == name);
        let read = |name: &str| find(name).ok_or_else(|| UnknownPermission(name.to_owned()));
        names.into_iter().map(read).collect()
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |all, one| all | one.bit()))
    }
}

/// The names, separated by spaces, as tokens have them.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Permission::name).collect();
        f.write_str(&names.join(" "))
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = String::deserialize(deserializer)?;
        Self::parse(names.split_whitespace())
            .map_err(|UnknownPermission(name)| D::Error::custom(format!("no permission '{name}'")))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A name that is not that of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPermission(pub String);

/// A role of the OJS security document: a named set of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Producer,
    Worker,
    /// Looks after single jobs.
    Operator,
    Admin,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Producer, Self::Worker, Self::Operator, Self::Admin];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Producer => "producer",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    #[must_use]
    pub fn permissions(self) -> Permissions {
        use Permission::{Cancel, Dequeue, Enqueue, Inspect};
        match self {
            Self::Producer => [Enqueue].into_iter().collect(),
            Self::Worker => [Dequeue].into_iter().collect(),
            Self::Operator => [Cancel, Inspect].into_iter().collect(),
            Self::Admin => Permissions::of_tenant(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_permissions_and_roles_are_read() {
        let read = |names: &str| Permissions::parse(names.split(' '));
        assert_eq!(read("enqueue inspect").unwrap().to_string(), "enqueue inspect");
        assert_eq!(read("enqueue root"), Err(UnknownPermission("root".into())));
        assert_eq!(Role::parse("worker").unwrap().permissions().to_string(), "dequeue");
        assert_eq!(Role::parse("root"), None);
    }

    #[test]
    fn only_operators_have_the_server() {
        assert!(Permissions::of_operator().allow(Permission::Server));
        assert!(!Permissions::of_tenant().allow(Permission::Server));
        assert!(Permissions::of_operator().contain(Permissions::of_tenant()));
        for role in Role::ALL {
            assert!(!role.permissions().allow(Permission::Server), "{role:?}");
        }
    }
}
