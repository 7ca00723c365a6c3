//! Settings that decide who can reach the server, and whether others can listen.

use crate::choices::{AuthMode, ClientAuth};
use crate::declared::Settings;
use crate::error::Problem;
use crate::resolve::Reader;

const NEEDS_BOTH: &str = "set both tls.certificate and tls.key";
const NEEDS_TLS: &str = "set tls.certificate and tls.key";
const NEEDS_CA: &str = "set tls.client_ca to a file with the authorities of clients' certificates";
const NEEDS_AUTH: &str = "set tls.client_auth to optional or required";
const NEEDS_PROXIES: &str = "set http.trusted_proxies to the addresses of the proxies";
const NEEDS_BEHIND: &str =
    "set http.behind_proxy to true if all clients come through these proxies";

const READABLE: &str = "credentials would pass the network unencrypted: set tls.certificate and tls.key, or \
    http.behind_proxy and http.trusted_proxies, or set insecure to true (--insecure) if nobody else can listen";
const EXPOSED: &str = "requests need no credentials, so whoever reaches this address may do everything: listen \
    on 127.0.0.1, set auth.modes, or set insecure to true (--insecure) if nobody else can reach it";

impl Settings {
    /// Whether the server speaks TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.certificate.is_some()
    }

    /// A problem if others on the network could use the server without credentials, or see the
    /// credentials of others.
    pub(crate) fn exposure(&self, reader: &Reader) -> Option<Problem> {
        if self.insecure || self.listen.ip().to_canonical().is_loopback() {
            return None;
        }
        let (one, other) = (reader.chosen("listen")?.clone(), reader.chosen("insecure")?.clone());
        let advice = match self.auth.is_required() {
            false => EXPOSED,
            true if self.is_encrypted() || self.http.behind_proxy => return None,
            true => READABLE,
        };
        Some(Problem::Contradiction { one, other, advice })
    }

    /// Two settings of which one has no effect, or is not enough, without the other.
    pub(crate) fn transport_contradiction(&self, reader: &Reader) -> Option<Problem> {
        let (tls, http) = (&self.tls, &self.http);
        let asks = tls.client_auth != ClientAuth::Off;
        let pairs = [
            (
                tls.certificate.is_some() && tls.key.is_none(),
                "tls.certificate",
                "tls.key",
                NEEDS_BOTH,
            ),
            (
                tls.key.is_some() && tls.certificate.is_none(),
                "tls.key",
                "tls.certificate",
                NEEDS_BOTH,
            ),
            (self.auth.has(AuthMode::Mtls) && !asks, "auth.modes", "tls.client_auth", NEEDS_AUTH),
            (asks && !self.is_encrypted(), "tls.client_auth", "tls.certificate", NEEDS_TLS),
            (asks && tls.client_ca.is_none(), "tls.client_auth", "tls.client_ca", NEEDS_CA),
            (tls.client_ca.is_some() && !asks, "tls.client_ca", "tls.client_auth", NEEDS_AUTH),
            (tls.client_crl.is_some() && !asks, "tls.client_crl", "tls.client_auth", NEEDS_AUTH),
            (
                http.behind_proxy && http.trusted_proxies.is_empty(),
                "http.behind_proxy",
                "http.trusted_proxies",
                NEEDS_PROXIES,
            ),
            (
                !http.trusted_proxies.is_empty() && !http.behind_proxy,
                "http.trusted_proxies",
                "http.behind_proxy",
                NEEDS_BEHIND,
            ),
        ];
        let (_, one, other, advice) = pairs.into_iter().find(|(is_wrong, ..)| *is_wrong)?;
        let (one, other) = (reader.chosen(one)?.clone(), reader.chosen(other)?.clone());
        Some(Problem::Contradiction { one, other, advice })
    }
}
