//! Tokens that try to get in.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use crate::token_maker::{RSA_PUBLIC, SECRET, WithTokens, claims, good, now, rsa, sign, stranger};

fn encode(text: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

fn unsigned(header: &Value, signature: &str) -> String {
    let claims = claims(json!({})).to_string();
    format!("{}.{}.{signature}", encode(header.to_string().as_bytes()), encode(claims.as_bytes()))
}

#[test]
fn the_algorithm_none_is_refused() {
    let with = WithTokens::start();
    for name in ["none", "None", "NONE", "nOnE", ""] {
        for signature in ["", "AA", good().rsplit('.').next().unwrap()] {
            with.refuses(&unsigned(&json!({"alg": name, "kid": "rsa-1"}), signature), "algorithm");
        }
    }
}

#[test]
fn a_public_key_is_no_secret_and_a_key_has_one_algorithm() {
    let with = WithTokens::start();
    let all = claims(json!({}));
    // The public key of RS256, used as the secret of HS256.
    let public = EncodingKey::from_secret(RSA_PUBLIC);
    with.refuses(&sign(Algorithm::HS256, Some("rsa-1"), &public, &all), "algorithm");
    with.refuses(&sign(Algorithm::HS256, None, &public, &all), "wrong signature");
    // The right key, by another algorithm.
    with.refuses(&sign(Algorithm::RS512, Some("rsa-1"), &rsa(), &all), "algorithm");
    with.refuses(&sign(Algorithm::PS256, Some("rsa-1"), &rsa(), &all), "algorithm");
    // The secret, under the id of the public key.
    let secret = EncodingKey::from_secret(SECRET);
    with.refuses(&sign(Algorithm::HS256, Some("rsa-1"), &secret, &all), "algorithm");
}

#[test]
fn a_wrong_key_id_and_keys_in_the_header_are_refused() {
    let with = WithTokens::start();
    let all = claims(json!({}));
    with.refuses(&sign(Algorithm::RS256, Some("../jwks.json"), &rsa(), &all), "unknown key");
    with.refuses(&sign(Algorithm::RS256, Some(""), &rsa(), &all), "unknown key");
    let key = jsonwebtoken::jwk::Jwk::from_encoding_key(&stranger(), Algorithm::RS256).unwrap();
    let header = json!({"alg": "RS256", "jwk": key, "jku": "http://127.0.0.1:9/keys"});
    let message = unsigned(&header, "");
    let message = message.trim_end_matches('.');
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &stranger(), Algorithm::RS256).unwrap();
    with.refuses(&format!("{message}.{signature}"), "wrong signature");
}

#[test]
fn altered_tokens_are_refused() {
    let with = WithTokens::start();
    let token = good();
    with.get(&token, "/ojs/v1/queues").expect(200);
    let parts: Vec<&str> = token.split('.').collect();
    let other = encode(claims(json!({"tenantId": "other"})).to_string().as_bytes());
    with.refuses(&format!("{}.{other}.{}", parts[0], parts[2]), "wrong signature");
    let header = encode(br#"{"alg":"RS256","kid":"rsa-1","typ":"JWT","x":1}"#);
    with.refuses(&format!("{header}.{}.{}", parts[1], parts[2]), "wrong signature");
    let cut = &token[..token.len() - 8];
    with.refuses(cut, "wrong signature");
    with.refuses(&format!("{}.{}.", parts[0], parts[1]), "wrong signature");
    for (token, says) in [
        (format!("{token}.x"), "malformed"),
        (format!("{}.{}", parts[0], parts[1]), "malformed"),
        (format!("{}==.{}.{}", parts[0], parts[1], parts[2]), "malformed"),
        (format!(".{token}"), "malformed"),
    ] {
        with.refuses(&token, says);
    }
}

#[test]
fn times_are_checked_and_must_be_numbers() {
    let with = WithTokens::start();
    let at = |changes| sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
    with.refuses(&at(json!({"iat": now() - 900, "exp": now() - 300})), "has expired");
    with.refuses(&at(json!({"nbf": now() + 300})), "not valid yet");
    with.refuses(&at(json!({"iat": now() + 300})), "not valid yet");
    with.refuses(&at(json!({"exp": now() + 100_000})), "longer than tokens may");
    with.refuses(&at(json!({"exp": null})), "claim 'exp'");
    for claim in ["exp", "nbf", "iat"] {
        for value in [json!((now() + 60).to_string()), json!("2999-01-01T00:00:00Z"), json!([1])] {
            with.refuses(&at(json!({claim: value})), &format!("claim '{claim}'"));
        }
    }
}

#[test]
fn issuer_and_audience_are_checked() {
    let with = WithTokens::start();
    let at = |changes| sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
    with.refuses(&at(json!({"iss": "https://evil.example.com"})), "another issuer");
    with.refuses(&at(json!({"iss": null})), "another issuer");
    with.refuses(&at(json!({"aud": "other"})), "another audience");
    with.refuses(&at(json!({"aud": null})), "another audience");
}

#[test]
fn oversized_and_nested_tokens_are_refused() {
    let with = WithTokens::start();
    let at = |changes| sign(Algorithm::RS256, Some("rsa-1"), &rsa(), &claims(changes));
    with.refuses(&at(json!({"padding": "x".repeat(8_192)})), "larger than");
    let mut nested = json!(1);
    for _ in 0..100 {
        nested = json!([nested]);
    }
    with.refuses(&at(json!({"deep": nested})), "malformed");
    // A token within a token.
    let header = json!({"alg": "RS256", "kid": "rsa-1", "cty": "JWT"});
    let message =
        format!("{}.{}", encode(header.to_string().as_bytes()), encode(good().as_bytes()));
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &rsa(), Algorithm::RS256).unwrap();
    with.refuses(&format!("{message}.{signature}"), "header");
    let header = json!({"alg": "RS256", "kid": "rsa-1", "crit": ["exp"]});
    with.refuses(&unsigned(&header, "AA"), "header");
    let twice = format!(r#"{{"tenantId":"other",{}"#, &claims(json!({})).to_string()[1..]);
    let header = json!({"alg": "RS256", "kid": "rsa-1"}).to_string();
    let message = format!("{}.{}", encode(header.as_bytes()), encode(twice.as_bytes()));
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &rsa(), Algorithm::RS256).unwrap();
    with.refuses(&format!("{message}.{signature}"), "malformed");
}
