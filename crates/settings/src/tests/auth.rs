use super::Sources;
use crate::{AuthMode, JwksSource, Settings};

const JWT: [(&str, &str); 4] = [
    ("auth.modes", "keys,jwt"),
    ("auth.jwt_jwks", "https://id.example.com/jwks.json"),
    ("auth.jwt_issuer", "https://id.example.com"),
    ("auth.jwt_audience", "rota"),
];

#[test]
fn nobody_has_to_prove_anything_by_default() {
    let auth = Settings::default().auth;
    assert_eq!(auth.modes, [AuthMode::None]);
    assert!(!auth.is_required());
    assert_eq!((auth.jwt_issuer, auth.jwt_jwks), (None, None));
    assert_eq!(auth.jwt_tenant_claims, ["tenantId", "tenant_id"]);
}

#[test]
fn several_modes_go_together_but_not_with_none() {
    let auth = Sources { flags: &JWT, ..Sources::default() }.resolve().unwrap().auth;
    assert!(auth.is_required() && auth.has(AuthMode::Keys) && auth.has(AuthMode::Jwt));
    let url = "https://id.example.com/jwks.json".to_owned();
    assert_eq!(auth.jwt_jwks, Some(JwksSource::Url(url)));
    let flags = [("auth.modes", "none,keys")];
    let problems = Sources { flags: &flags, ..Sources::default() }.problems();
    assert!(problems[0].contains("leave none out"), "{problems:?}");
}

#[test]
fn tokens_need_keys_an_issuer_and_an_audience() {
    for (missing, advice) in
        [(1, "give the keys of tokens"), (2, "set the issuer"), (3, "set the audience")]
    {
        let mut flags = JWT.to_vec();
        flags.remove(missing);
        let problems = Sources { flags: &flags, ..Sources::default() }.problems();
        assert!(problems[0].contains(advice), "{problems:?}");
    }
}

#[test]
fn keys_of_a_mode_that_is_off_are_a_mistake() {
    for (key, advice) in [
        ("auth.jwt_key_file", "add jwt to auth.modes"),
        ("auth.bootstrap_key_file", "add keys to auth.modes"),
    ] {
        let flags = [(key, "/etc/rota/key")];
        let problems = Sources { flags: &flags, ..Sources::default() }.problems();
        assert!(problems[0].contains(advice), "{problems:?}");
    }
}

#[test]
fn the_first_key_in_the_environment_is_no_setting() {
    let environment = [("ROTA_BOOTSTRAP_KEY", "rota_secret")];
    let settings = Sources { environment: &environment, ..Sources::default() }.resolve().unwrap();
    assert!(settings.table().iter().all(|row| !row.value.contains("secret")));
}
