//! The URL of a server and of its endpoints.

use std::fmt;

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::Error;

/// The characters to escape: all but the unreserved ones of RFC 3986, and `*`.
const RESERVED: AsciiSet =
    NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'*');

/// The URL of the server: scheme, host, port, and optionally a path that a proxy strips.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl(String);

impl BaseUrl {
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadUrl { url: shown(text), reason: reason.to_owned() };
        let uri: Uri = text.trim().parse().map_err(|cause| bad(&format!("{cause}")))?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            Some(other) => return Err(bad(&format!("'{other}' is neither http nor https"))),
            None => return Err(bad("it must begin with http:// or https://")),
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("a name and password in it are not supported"));
        }
        // What `http` does not take for a port is part of the host, or left out.
        let port = authority.as_str().rsplit_once(':').map(|(_, port)| port);
        if let Some(port) = port.filter(|port| !port.ends_with(']'))
            && authority.port_u16().is_none_or(|port| port == 0)
        {
            return Err(bad(&format!("'{port}' is not a port: it must be 1 to 65535")));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(bad("it must end after the path"));
        }
        // Accept the URL of the API, too.
        let path = uri.path().trim_end_matches('/');
        let path = path.strip_suffix("/ojs/v1").unwrap_or(path);
        Ok(Self(format!("{scheme}://{authority}{path}")))
    }

    /// Whether the server speaks TLS.
    pub fn is_encrypted(&self) -> bool {
        self.0.starts_with("https://")
    }

    /// The URL of this path and query.
    pub fn uri(&self, path: &str) -> Result<Uri, Error> {
        let whole = format!("{}{path}", self.0);
        let reason = |cause: http::uri::InvalidUri| cause.to_string();
        whole.parse().map_err(|cause| Error::BadUrl { reason: reason(cause), url: whole })
    }

    /// Builds the URL of an endpoint from the segments of its path.
    pub fn join<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Endpoint {
        let mut text = self.0.clone();
        for part in parts {
            text.push('/');
            text.extend(utf8_percent_encode(part, &RESERVED));
        }
        Endpoint { text, has_query: false }
    }
}

/// The text without a name and password, which do not belong into messages.
fn shown(text: &str) -> String {
    match text.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1)))
    {
        Some((scheme, rest)) => format!("{scheme}://***@{rest}"),
        None => text.to_owned(),
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

pub(crate) struct Endpoint {
    text: String,
    has_query: bool,
}

impl Endpoint {
    /// Adds a query parameter, unless the value is `None`.
    pub fn query(mut self, key: &str, value: Option<impl fmt::Display>) -> Self {
        if let Some(value) = value {
            self.text.push(if self.has_query { '&' } else { '?' });
            self.text.push_str(key);
            self.text.push('=');
            self.text.extend(utf8_percent_encode(&value.to_string(), &RESERVED));
            self.has_query = true;
        }
        self
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        BaseUrl::parse(text).unwrap().to_string()
    }

    fn refused(text: &str) -> String {
        BaseUrl::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_path_is_kept_and_that_of_the_endpoints_is_not() {
        assert_eq!(parsed("http://h:8080"), "http://h:8080");
        assert_eq!(parsed("https://h/"), "https://h");
        assert_eq!(parsed("http://h/jobs/"), "http://h/jobs");
        assert_eq!(parsed("http://h/jobs/ojs/v1/"), "http://h/jobs");
        assert_eq!(parsed("http://[::1]:8080/"), "http://[::1]:8080");
        assert_eq!(parsed("http://[::1]"), "http://[::1]");
    }

    #[test]
    fn what_cannot_work_is_refused_with_its_reason() {
        assert!(refused("127.0.0.1:8080").contains("must begin with http:// or https://"));
        assert!(refused("ftp://h").contains("'ftp' is neither http nor https"));
        let with_password = refused("http://me:secret@h");
        assert!(with_password.contains("not supported") && !with_password.contains("secret"));
        assert!(refused("http://h/?a=b").contains("end after the path"));
        for url in ["http://h:22x", "http://h:99999", "http://h:0", "http://[::1]:x", "http://h:/"]
        {
            assert!(refused(url).contains("is not a port"), "{url}: {}", refused(url));
        }
        assert!(refused("").contains("cannot be used"));
        assert!(refused("http://a b").contains("cannot be used"));
    }

    #[test]
    fn names_cannot_leave_their_place_in_the_path() {
        let base = BaseUrl::parse("http://h/p").unwrap();
        let endpoint = base.join(["queues", "../a b?#%"]).query("type", Some("é&*"));
        assert_eq!(endpoint.as_str(), "http://h/p/queues/..%2Fa%20b%3F%23%25?type=%C3%A9%26*");
        assert_eq!(base.join(["a"]).query("b", None::<&str>).as_str(), "http://h/p/a");
    }
}
