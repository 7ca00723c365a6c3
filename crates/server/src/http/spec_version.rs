//! The header `OJS-Version`: which versions of the specification a request may ask for.

use axum::http::{HeaderMap, Request};

use super::error::ApiError;

const HEADER: &str = "ojs-version";

/// Refuses a request for a version that this server does not support. How the server is doing and what it
/// supports may always be asked.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), ApiError> {
    let Some(version) = request.headers().get(HEADER) else { return Ok(()) };
    let version = version.to_str().unwrap_or_default().trim();
    if is_supported(version) || is_always_answered(request.uri().path()) {
        return Ok(());
    }
    Err(ApiError::unsupported("This server supports OJS-Version 1.0 and its pre-releases only.")
        .detail("field", "OJS-Version"))
}

/// Whether the request names a version. The SDKs do, the conformance cases do not.
pub(super) fn is_named(headers: &HeaderMap) -> bool {
    headers.contains_key(HEADER)
}

/// 1.0 in any notation, or a pre-release of it such as `1.0.0-rc.1`.
fn is_supported(version: &str) -> bool {
    let (release, pre_release) = match version.split_once('-') {
        Some((release, pre_release)) => (release, Some(pre_release)),
        None => (version, None),
    };
    let is_identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_pre_release = |text: &str| text.split('.').all(is_identifier);
    matches!(release, "1" | "1.0" | "1.0.0") && pre_release.is_none_or(is_pre_release)
}

fn is_always_answered(path: &str) -> bool {
    matches!(
        path,
        "/ojs/manifest"
            | "/ojs/v1/openapi.json"
            | "/ojs/v1/health"
            | "/health"
            | "/ready"
            | "/metrics"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_0_and_its_pre_releases_are_supported() {
        for version in ["1", "1.0", "1.0.0", "1.0.0-rc.1", "1.0.0-rc.12", "1.0-beta", "1.0.0-a-b.0"]
        {
            assert!(is_supported(version), "{version}");
        }
        for version in
            ["", "2.0", "0.9", "1.1", "1.1.0-rc.1", "1.0.1", "1.0.0-", "1.0.0-rc..1", "1.0.0-é"]
        {
            assert!(!is_supported(version), "{version}");
        }
    }
}
