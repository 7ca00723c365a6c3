//! Finds out why TLS failed, and says it in words.

use std::error::Error as StdError;
use std::io;

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// What is wrong with the server's or the client's certificate, or with the choice of TLS; `None` if the
/// error is about something else.
pub(crate) fn reason(error: &(dyn StdError + 'static)) -> Option<String> {
    Some(match find(error)? {
        TlsError::InvalidCertificate(cause) => certificate(cause),
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS; use http:// if it is meant to speak plain HTTP".to_owned()
        }
        TlsError::AlertReceived(alert) => match alert {
            AlertDescription::CertificateRequired => {
                "it asks for a client's certificate".to_owned()
            }
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError => {
                format!("it does not accept the client's certificate ({alert:?})")
            }
            alert => format!("it refused the connection ({alert:?})"),
        },
        other => other.to_string(),
    })
}

fn certificate(cause: &CertificateError) -> String {
    match cause {
        // An authority of the same name with another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is signed by an authority that is not trusted".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet".to_owned()
        }
        CertificateError::NotValidForName => "its certificate is for another name".to_owned(),
        CertificateError::NotValidForNameContext { presented, .. } => {
            format!("its certificate is for other names: {}", presented.join(", "))
        }
        CertificateError::Revoked => "its certificate was revoked".to_owned(),
        other => format!("its certificate cannot be accepted ({other})"),
    }
}

/// The innermost error of TLS. An I/O error does not have the error inside it as its source.
fn find<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a TlsError> {
    if let Some(found) = error.downcast_ref::<TlsError>() {
        return Some(found);
    }
    let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let inside = inside.map(|inside| inside as &(dyn StdError + 'static));
    inside.and_then(find).or_else(|| find(error.source()?))
}
