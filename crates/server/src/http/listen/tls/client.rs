//! Reads the names in a client's certificate, which rustls has verified.

use rota_identity::{CertificateName, ClientCertificate};
use rota_model::Millis;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

pub(super) fn read(der: &[u8]) -> Result<ClientCertificate, String> {
    let unreadable = |cause| format!("the client's certificate cannot be read: {cause}");
    let certificate = Certificate::from_der(der).map_err(unreadable)?.tbs_certificate;
    let alternatives = certificate.get::<SubjectAltName>().map_err(unreadable)?;
    let alternatives = alternatives.map(|(_, names)| names.0).unwrap_or_default();
    let expires = certificate.validity.not_after.to_unix_duration().as_millis();
    Ok(ClientCertificate {
        subject: certificate.subject.to_string(),
        names: alternatives.iter().filter_map(name).collect(),
        expires: Millis(i64::try_from(expires).unwrap_or(i64::MAX)),
    })
}

/// Kinds of names that no rule can mean are left out.
fn name(name: &GeneralName) -> Option<CertificateName> {
    Some(match name {
        GeneralName::DnsName(name) => CertificateName::Dns(name.to_string().to_ascii_lowercase()),
        GeneralName::Rfc822Name(name) => CertificateName::Email(name.to_string()),
        GeneralName::UniformResourceIdentifier(name) => CertificateName::Uri(name.to_string()),
        GeneralName::IpAddress(bytes) => match bytes.as_bytes() {
            [a, b, c, d] => CertificateName::Ip([*a, *b, *c, *d].into()),
            bytes => CertificateName::Ip(<[u8; 16]>::try_from(bytes).ok()?.into()),
        },
        _ => return None,
    })
}
