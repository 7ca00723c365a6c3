//! One region of a federation.

use std::borrow::Borrow;
use std::fmt;

use http::Uri;

use crate::RegistryError;

/// The name of a region, such as `eu-west-1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(String);

/// The longest name of a region, and the longest tag.
const LONGEST: usize = 64;
/// The largest weight of a region.
pub(crate) const HEAVIEST: u32 = 1_000_000;

impl RegionId {
    /// Checks a name: 1 to 64 letters, digits, `-`, `_` and `.`.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        match is_name(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(RegistryError::BadId { id: text.chars().take(LONGEST).collect() }),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for RegionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A job server of its own, somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its name, unique in the federation.
    pub id: RegionId,
    /// The base address of its server.
    pub url: String,
    /// How much it takes, compared with other regions that are as good; 1 unless given.
    pub weight: u32,
    /// What it can do, such as `gpu`.
    pub tags: Vec<String>,
    /// The queues that are served here. Empty: it says nothing about queues.
    pub queues: Vec<String>,
    /// Its place among the regions that serve the same queue, lowest first; 1 unless given.
    pub priority: u32,
}

impl Region {
    /// A region with weight 1 and without tags. `http` is for servers on this machine only.
    pub fn new(id: &str, url: &str) -> Result<Self, RegistryError> {
        let id = RegionId::parse(id)?;
        check_url(&id, url)?;
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { id, url, weight: 1, tags: Vec::new(), queues: Vec::new(), priority: 1 })
    }

    /// Sets the weight.
    pub fn weight(mut self, weight: u32) -> Result<Self, RegistryError> {
        if !(1..=HEAVIEST).contains(&weight) {
            return Err(RegistryError::BadWeight { id: self.id, most: HEAVIEST });
        }
        self.weight = weight;
        Ok(self)
    }

    /// Sets the queues that are served here, and its place among the regions that serve the same ones.
    #[must_use]
    pub fn queues<S: Into<String>>(
        mut self,
        queues: impl IntoIterator<Item = S>,
        priority: u32,
    ) -> Self {
        self.queues = queues.into_iter().map(Into::into).collect();
        self.priority = priority;
        self
    }

    /// Sets the tags.
    pub fn tags<S: AsRef<str>>(
        mut self,
        tags: impl IntoIterator<Item = S>,
    ) -> Result<Self, RegistryError> {
        let mut checked: Vec<String> = Vec::new();
        for tag in tags {
            let tag = tag.as_ref();
            if !is_name(tag) {
                return Err(RegistryError::BadTag {
                    id: self.id,
                    tag: tag.chars().take(LONGEST).collect(),
                });
            }
            if !checked.iter().any(|known| known == tag) {
                checked.push(tag.to_owned());
            }
        }
        self.tags = checked;
        Ok(self)
    }
}

pub(crate) fn is_name(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn check_url(id: &RegionId, url: &str) -> Result<(), RegistryError> {
    let bad = |reason: &str| RegistryError::BadUrl {
        id: id.clone(),
        url: url.to_owned(),
        reason: reason.to_owned(),
    };
    let uri: Uri = url.parse().map_err(|_| bad("it is not a URL"))?;
    let host = uri.host().ok_or_else(|| bad("it has no host"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(bad("a name and password in it are not supported"));
    }
    if uri.query().is_some() || url.contains('#') {
        return Err(bad("it must end after the path"));
    }
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_loopback(host) => Ok(()),
        Some("http") => Err(bad("other machines are reached with https only")),
        _ => Err(bad("it must begin with https://")),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for url in [
            "http://127.0.0.1:8080",
            "http://localhost",
            "http://[::1]:80/",
            "https://eu.example.com",
        ] {
            assert!(Region::new("eu", url).is_ok(), "{url}");
        }
        for url in ["http://10.0.0.1", "http://eu.example.com", "http://127.0.0.1.example.com"] {
            let error = Region::new("eu", url).unwrap_err().to_string();
            assert!(error.contains("https only"), "{url}: {error}");
        }
        for url in
            ["", "eu.example.com", "ftp://eu", "https://", "https://me:pw@eu", "https://eu?a"]
        {
            assert!(Region::new("eu", url).is_err(), "{url}");
        }
    }

    #[test]
    fn names_weights_and_tags_are_checked() {
        let eu = || Region::new("eu", "https://eu.example.com").unwrap();
        assert!(Region::new("", "https://eu.example.com").is_err());
        assert!(Region::new("eu west", "https://eu.example.com").is_err());
        assert!(eu().weight(0).is_err());
        assert!(eu().weight(HEAVIEST).is_ok());
        assert!(eu().tags(["g pu"]).is_err());
        assert_eq!(eu().tags(["gpu", "gpu", "gdpr"]).unwrap().tags, ["gpu", "gdpr"]);
    }
}
