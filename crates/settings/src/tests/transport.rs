use super::Sources;

fn problems(flags: &[(&str, &str)]) -> Vec<String> {
    Sources { flags, ..Sources::default() }.problems()
}

#[test]
fn a_certificate_and_its_key_come_together() {
    let one = problems(&[("tls.certificate", "a.pem")]);
    assert_eq!(
        one,
        ["tls.certificate = \"a.pem\" (flag --tls-certificate) conflicts with tls.key = \"none\" \
          (default); set both tls.certificate and tls.key"]
    );
    assert!(problems(&[("tls.key", "a.key")])[0].ends_with("set both tls.certificate and tls.key"));
}

#[test]
fn nothing_about_clients_certificates_is_ignored() {
    let tls = [("tls.certificate", "a.pem"), ("tls.key", "a.key")];
    let with = |more: &[(&'static str, &'static str)]| problems(&[&tls[..], more].concat());
    assert!(with(&[("tls.client_auth", "required")])[0].contains("set tls.client_ca"));
    assert!(with(&[("tls.client_ca", "ca.pem")])[0].contains("set tls.client_auth"));
    assert!(with(&[("tls.client_crl", "crl.pem")])[0].contains("set tls.client_auth"));
    let alone = problems(&[("tls.client_auth", "optional"), ("tls.client_ca", "ca.pem")]);
    assert!(alone[0].contains("set tls.certificate and tls.key"), "{alone:?}");
}

#[test]
fn proxies_are_trusted_only_where_all_clients_come_through_them() {
    assert!(problems(&[("http.behind_proxy", "true")])[0].contains("set http.trusted_proxies"));
    let only = problems(&[("http.trusted_proxies", "10.0.0.1")]);
    assert!(only[0].contains("set http.behind_proxy to true"), "{only:?}");
}

#[test]
fn credentials_are_not_sent_in_plain_text() {
    let keys = [("listen", "0.0.0.0:1"), ("auth.modes", "keys")];
    let with = |more: &[(&'static str, &'static str)]| {
        Sources { flags: &[&keys[..], more].concat(), ..Sources::default() }.resolve()
    };
    let found = with(&[]).unwrap_err().to_string();
    assert!(found.contains("credentials would pass the network unencrypted"), "{found}");
    assert!(with(&[("insecure", "true")]).is_ok());
    assert!(with(&[("tls.certificate", "a"), ("tls.key", "b")]).is_ok());
    let proxy = [("http.behind_proxy", "true"), ("http.trusted_proxies", "10.0.0.1")];
    assert!(with(&proxy).is_ok());
}

#[test]
fn certificates_and_their_mode_come_together() {
    let tls = [("tls.certificate", "a.pem"), ("tls.key", "a.key")];
    let clients = [("tls.client_auth", "optional"), ("tls.client_ca", "ca.pem")];
    let rule = "[certificates.a]\nsan = 'w'\ntenant = 'acme'\nscopes = ['dequeue']\n";
    let flags = [&tls[..], &clients].concat();
    let without_mode = Sources { flags: &flags, file: Some(rule), ..Sources::default() };
    assert_eq!(
        without_mode.problems(),
        ["file rota.toml line 1: certificates.a has no effect. Add mtls to auth.modes"]
    );
    let flags = [&flags[..], &[("auth.modes", "mtls")]].concat();
    assert!(Sources { flags: &flags, file: Some(rule), ..Sources::default() }.resolve().is_ok());
    let no_rule = Sources { flags: &flags, ..Sources::default() }.problems();
    assert!(no_rule[0].starts_with("flag --auth-modes: auth.modes has mtls, but"), "{no_rule:?}");
    let off = problems(&[("auth.modes", "mtls")]);
    assert!(off[0].contains("set tls.client_auth"), "{off:?}");
}

#[test]
fn certificates_have_rules() {
    let file = "[certificates.acme-workers]\nsan = 'dns:w.acme.example'\ntenant = 'acme'\n\
                scopes = ['dequeue']\nqueues = ['mail']\n\
                [auth]\nmodes = 'mtls'\n[tls]\ncertificate = 'a'\nkey = 'b'\n\
                client_auth = 'required'\nclient_ca = 'c'\n";
    let settings = Sources { file: Some(file), ..Sources::default() }.resolve().unwrap();
    assert_eq!(settings.certificates.len(), 1);
    let wrong = "[certificates.acme]\nsan = 'w'\ntenant = 'acme'\nscopes = ['root']\n";
    let sources = Sources { file: Some(wrong), ..Sources::default() };
    assert_eq!(
        sources.problems(),
        ["file rota.toml line 4: certificates.acme.scopes has 'root', which is not a scope. \
          Known are enqueue, dequeue, cancel, inspect, admin and server"]
    );
}

#[test]
fn without_credentials_only_this_machine_is_served() {
    let exposed = problems(&[("listen", "0.0.0.0:8080")]);
    assert_eq!(exposed.len(), 1);
    let begin =
        "listen = \"0.0.0.0:8080\" (flag --listen) conflicts with insecure = \"false\" (default)";
    assert!(exposed[0].starts_with(begin), "{exposed:?}");
    assert!(exposed[0].contains("--insecure"), "{exposed:?}");
    for address in ["127.0.0.1:1", "127.8.8.8:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "localhost:1"]
    {
        let sources = Sources { flags: &[("listen", address)], ..Sources::default() };
        assert!(sources.resolve().is_ok(), "{address}");
    }
    for address in ["192.0.2.1:1", "[::]:1", "[fd00::1]:1"] {
        assert_eq!(problems(&[("listen", address)]).len(), 1, "{address}");
        let flags = [("listen", address), ("insecure", "true")];
        assert!(Sources { flags: &flags, ..Sources::default() }.resolve().is_ok(), "{address}");
    }
}
