//! The form of a token: three parts, of which the first names the algorithm and the key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rota_model::json;
use serde::Deserialize;

use super::TokenProblem;

/// Larger tokens are refused before anything in them is read.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Nesting of objects and arrays in a token.
const MAX_DEPTH: usize = 8;
const MAX_KEY_ID_BYTES: usize = 256;

/// The algorithms that are accepted. Each key has one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAlgorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

impl TokenAlgorithm {
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "HS256" => Some(Self::Hs256),
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A token taken apart. Nothing is proven yet.
#[derive(Debug)]
pub struct TokenParts<'a> {
    /// What the token says; the key decides.
    pub algorithm: TokenAlgorithm,
    pub key_id: Option<String>,
    /// What the signature is about.
    pub message: &'a str,
    /// In base64url.
    pub signature: &'a str,
    payload: &'a str,
}

/// Members that are not read here, such as `jwk`, `jku` and `x5c`, are not used for anything.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    cty: Option<serde_json::Value>,
    crit: Option<serde_json::Value>,
}

impl<'a> TokenParts<'a> {
    pub fn split(token: &'a str) -> Result<Self, TokenProblem> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenProblem::TooLarge);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenProblem::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenProblem::Malformed)?;
        if payload.contains('.') {
            return Err(TokenProblem::Malformed);
        }
        let header = decode(header)?;
        let text = json::check(&header, MAX_DEPTH).map_err(|_| TokenProblem::Malformed)?;
        let header: Header = serde_json::from_str(text).map_err(|_| TokenProblem::Malformed)?;
        let algorithm = TokenAlgorithm::parse(&header.alg).ok_or(TokenProblem::Algorithm)?;
        let is_token = header.typ.as_deref().is_none_or(is_token_type);
        // Extensions that must be understood, and tokens within tokens.
        if header.crit.is_some() || header.cty.is_some() || !is_token {
            return Err(TokenProblem::Header);
        }
        if header.kid.as_ref().is_some_and(|kid| kid.len() > MAX_KEY_ID_BYTES) {
            return Err(TokenProblem::Header);
        }
        Ok(Self { algorithm, key_id: header.kid, message, signature, payload })
    }

    /// The claims, as an object in JSON.
    pub fn payload(&self) -> Result<serde_json::Map<String, serde_json::Value>, TokenProblem> {
        let payload = decode(self.payload)?;
        let text = json::check(&payload, MAX_DEPTH).map_err(|_| TokenProblem::Malformed)?;
        serde_json::from_str(text).map_err(|_| TokenProblem::Malformed)
    }
}

/// Media types of tokens; `application/` may be left out (RFC 7515, 4.1.9).
fn is_token_type(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
}

fn decode(part: &str) -> Result<Vec<u8>, TokenProblem> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenProblem::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, payload: &str) -> String {
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2ln", encode(header), encode(payload))
    }

    fn problem(token: &str) -> Option<TokenProblem> {
        match TokenParts::split(token) {
            Ok(parts) => parts.payload().err(),
            Err(problem) => Some(problem),
        }
    }

    #[test]
    fn tokens_of_the_usual_form_are_taken_apart() {
        let token = token(r#"{"alg":"ES256","kid":"k1","typ":"JWT","jku":"http://evil"}"#, "{}");
        let parts = TokenParts::split(&token).unwrap();
        assert_eq!(parts.algorithm, TokenAlgorithm::Es256);
        assert_eq!((parts.key_id.as_deref(), parts.signature), (Some("k1"), "c2ln"));
        assert!(token.starts_with(parts.message));
        assert!(parts.payload().unwrap().is_empty());
    }

    #[test]
    fn access_tokens_have_one_of_several_media_types() {
        for typ in ["JWT", "jwt", "at+jwt", "application/at+jwt", "Application/JWT"] {
            let token = token(&format!(r#"{{"alg":"RS256","typ":"{typ}"}}"#), "{}");
            assert_eq!(problem(&token), None, "{typ}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        let nested = format!("{}1{}", "[".repeat(20), "]".repeat(20));
        for (token, expected) in [
            ("a.b".to_owned(), TokenProblem::Malformed),
            ("a.b.c.d.e".to_owned(), TokenProblem::Malformed),
            ("..".to_owned(), TokenProblem::Malformed),
            (token("[]", "{}"), TokenProblem::Malformed),
            (token(r#"{"alg":1}"#, "{}"), TokenProblem::Malformed),
            (token(r#"{"alg":"RS256","alg":"HS256"}"#, "{}"), TokenProblem::Malformed),
            (token(r#"{"alg":"none"}"#, "{}"), TokenProblem::Algorithm),
            (token(r#"{"alg":"None"}"#, "{}"), TokenProblem::Algorithm),
            (token(r#"{"alg":"HS512"}"#, "{}"), TokenProblem::Algorithm),
            (token(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#, "{}"), TokenProblem::Header),
            (token(r#"{"alg":"RS256","cty":"JWT"}"#, "{}"), TokenProblem::Header),
            (token(r#"{"alg":"RS256","typ":"logout+jwt"}"#, "{}"), TokenProblem::Header),
            (token(r#"{"alg":"RS256"}"#, &format!(r#"{{"a":{nested}}}"#)), TokenProblem::Malformed),
            (token(r#"{"alg":"RS256"}"#, r#"{"sub":"a","sub":"b"}"#), TokenProblem::Malformed),
            (token(r#"{"alg":"RS256"}"#, "[]"), TokenProblem::Malformed),
            (token(r#"{"alg":"RS256"}"#, &" ".repeat(MAX_TOKEN_BYTES)), TokenProblem::TooLarge),
        ] {
            assert_eq!(problem(&token), Some(expected), "{token}");
        }
    }
}
