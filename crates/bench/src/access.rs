//! Credentials and certificates for the servers that measurements start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{EncodingKey, Header, encode};
use rota_identity::{KeyText, RANDOM_BYTES};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};

use crate::BenchError;
use crate::http::Target;
use crate::server_counts::post;

const ISSUER: &str = "rota-bench";
const AUDIENCE: &str = "rota-bench";
const SECRET_BYTES: usize = 32;
/// As long as a server accepts by default.
const TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// Makes the files that a server needs to check credentials and to speak TLS, in a directory that is
/// removed with the measurement's data.
pub(crate) struct Access {
    home: PathBuf,
    operator: KeyText,
    secret: String,
    /// What a client needs to trust the certificate.
    client_config: Arc<ClientConfig>,
}

impl Access {
    pub fn new(home: &Path) -> Result<Self, BenchError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut key = [0; RANDOM_BYTES];
        fill(&provider, &mut key)?;
        let mut secret = [0; SECRET_BYTES];
        fill(&provider, &mut secret)?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let access = Self {
            home: home.to_owned(),
            operator: KeyText::new(&key),
            secret,
            client_config: certificate(home, provider).map_err(|error| {
                BenchError::Server(format!("no certificate could be made: {error}"))
            })?,
        };
        std::fs::write(access.operator_file(), access.operator.reveal())?;
        std::fs::write(access.secret_file(), &access.secret)?;
        Ok(access)
    }

    /// Flags of a server that asks for API keys or tokens.
    pub fn auth_flags(&self) -> Vec<String> {
        let (operator, secret) = (self.operator_file(), self.secret_file());
        flags([
            ("--auth-modes", "keys,jwt"),
            ("--auth-bootstrap-key-file", &operator.to_string_lossy()),
            ("--auth-jwt-secret-file", &secret.to_string_lossy()),
            ("--auth-jwt-issuer", ISSUER),
            ("--auth-jwt-audience", AUDIENCE),
        ])
    }

    /// Flags of a server that speaks TLS.
    pub fn tls_flags(&self) -> Vec<String> {
        let (certificate, key) = (self.home.join(CERTIFICATE), self.home.join(KEY));
        flags([
            ("--tls-certificate", &*certificate.to_string_lossy()),
            ("--tls-key", &key.to_string_lossy()),
        ])
    }

    /// The same server, reached by TLS.
    pub fn encrypted(&self, target: &Target) -> Target {
        target.clone().with_tls(self.client_config.clone())
    }

    /// The same server, used by its operator.
    pub fn operator(&self, target: &Target) -> Target {
        target.clone().with_credential(self.operator.reveal())
    }

    /// The same server, used with a new API key of a tenant.
    pub fn with_key(&self, target: &Target, tenant: &str) -> Result<Target, BenchError> {
        let path = "/ojs/v1/admin/keys";
        let about = json!({"name": "bench", "tenant_id": tenant, "role": "admin"}).to_string();
        let (status, body) = post(&self.operator(target), path, &about)?;
        let created: Value = serde_json::from_slice(&body).unwrap_or_default();
        match created["key"].as_str() {
            Some(key) if status == 201 => Ok(target.clone().with_credential(key)),
            _ => Err(BenchError::wrong(format!("status {status} to POST {path}, without a key"))),
        }
    }

    /// The same server, used with a new token of a tenant.
    pub fn with_token(&self, target: &Target, tenant: &str) -> Result<Target, BenchError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": "bench", "tenantId": tenant,
            "scope": "enqueue dequeue inspect", "iat": now, "exp": now + TOKEN_LIFETIME.as_secs(),
        });
        let key = EncodingKey::from_secret(self.secret.as_bytes());
        let token = encode(&Header::default(), &claims, &key)
            .map_err(|error| BenchError::Server(format!("no token could be made: {error}")))?;
        Ok(target.clone().with_credential(&token))
    }

    fn operator_file(&self) -> PathBuf {
        self.home.join("operator-key")
    }

    fn secret_file(&self) -> PathBuf {
        self.home.join("token-secret")
    }
}

const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "certificate-key.pem";

fn fill(provider: &CryptoProvider, bytes: &mut [u8]) -> Result<(), BenchError> {
    let filled = provider.secure_random.fill(bytes);
    filled.map_err(|_| BenchError::Server("the system gives no random bytes".into()))
}

/// Writes a new certificate for this machine, which clients with the configuration trust.
fn certificate(
    home: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<ClientConfig>, Box<dyn std::error::Error>> {
    let own = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    std::fs::write(home.join(CERTIFICATE), own.cert.pem())?;
    std::fs::write(home.join(KEY), own.signing_key.serialize_pem())?;
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn flags<const N: usize>(pairs: [(&str, &str); N]) -> Vec<String> {
    pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]).collect()
}
