//! Certificates made on the spot.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams,
    SanType, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

/// A certificate authority with a directory for its files.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: TempDir,
}

/// The files of a certificate and its key.
#[derive(Clone)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, dir }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The file with its own certificate.
    pub fn file(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// A certificate for a server on this machine.
    pub fn server(&self, name: &str) -> Pair {
        self.issue(name, &["localhost", "127.0.0.1"], |_| {})
    }

    /// A certificate for a client with this common name and alternative name.
    pub fn client(&self, name: &str, san: &str) -> Pair {
        self.issue(name, &[san], |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        })
    }

    /// A certificate whose time is over.
    pub fn expired(&self, name: &str) -> Pair {
        self.issue(name, &["localhost", "127.0.0.1"], |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    pub fn issue(
        &self,
        name: &str,
        sans: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Pair {
        let sans: Vec<String> = sans.iter().map(|san| (*san).to_owned()).collect();
        let (uris, sans): (Vec<String>, Vec<String>) =
            sans.into_iter().partition(|san| san.contains("://"));
        let mut params = CertificateParams::new(sans).unwrap();
        for uri in uris {
            params.subject_alt_names.push(SanType::URI(uri.try_into().unwrap()));
        }
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(serial(name));
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let pair = Pair {
            certificate: self.dir.path().join(format!("{name}.pem")),
            key: self.dir.path().join(format!("{name}.key")),
        };
        std::fs::write(&pair.key, key.serialize_pem()).unwrap();
        std::fs::write(&pair.certificate, certificate.pem()).unwrap();
        pair
    }

    /// A file with a list that revokes the certificates of these names.
    pub fn revoke(&self, names: &[&str]) -> PathBuf {
        let revoked = names.iter().map(|name| RevokedCertParams {
            serial_number: serial(name),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.issuer).unwrap();
        let path = self.dir.path().join("revoked.pem");
        std::fs::write(&path, list.pem().unwrap()).unwrap();
        path
    }
}

fn serial(name: &str) -> SerialNumber {
    SerialNumber::from_slice(name.as_bytes())
}
