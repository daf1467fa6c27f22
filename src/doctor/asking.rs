//! Single requests over HTTP that follow no redirects, with an explanation in words when there is no answer.
//!
//! May use: `outgoing`.

use crate::outgoing::{self, Answer};
use reqwest::{Client, ClientBuilder, RequestBuilder};
use std::time::Duration;

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reason why there was no answer, and the remedy.
pub(super) struct Silence {
    pub(super) found: String,
    pub(super) remedy: &'static str,
}

/// Creates a client that follows no redirects.
pub(super) fn client() -> Result<Client, String> {
    client_of(|builder| builder)
}

/// Creates the same client, changed by `change`.
pub(super) fn client_of(change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Result<Client, String> {
    change(outgoing::client(PATIENCE).no_proxy()).build().map_err(|fault| fault.to_string())
}

pub(super) async fn ask(request: RequestBuilder) -> Result<Answer, Silence> {
    outgoing::ask(request, None, None).await.map_err(|fault| silence(&fault))
}

fn silence(fault: &reqwest::Error) -> Silence {
    let chain = outgoing::causes(fault);
    // Skip the first cause: it only names the address.
    let (found, remedy) = diagnosis(&chain[1.min(chain.len())..].join(": "), fault.is_timeout());
    let last = chain.last().map(String::as_str).unwrap_or_default();
    Silence { found: format!("{found} ({last})"), remedy }
}

/// Returns the problem and the remedy for the causes of a failure.
fn diagnosis(causes: &str, timed_out: bool) -> (&'static str, &'static str) {
    let text = causes.to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // Check certificates first, because the names in their errors can look like DNS errors.
    if is(&["not valid for name", "notvalidforname"]) {
        ("its certificate is one for another name", "write a name that it holds, or renew it for this name")
    } else if is(&["certificate", "unknownissuer"]) {
        ("its certificate is not accepted", "renew it, or add its authority to those this machine trusts")
    } else if is(&["dns", "lookup", "resolve"]) {
        ("its name cannot be resolved", "correct the name, or the name server of this machine")
    } else if is(&["refused"]) {
        ("the connection is refused", "see whether it runs, and whether host and port are right")
    } else if is(&["corrupt message", "invalidcontenttype", "wrong version", "tls", "handshake"]) {
        ("it does not speak TLS there", "write http:// in place of https://, or correct the port")
    } else if timed_out {
        ("it does not answer in time", "see whether a firewall stands between, or whether it is overloaded")
    } else {
        ("the exchange breaks off", "see whether it speaks HTTP at this port")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{CertificateError, Error};

    #[test]
    fn a_certificate_of_another_name_is_no_fault_of_the_name_server() {
        let name = rustls::pki_types::ServerName::try_from("v1.example").expect("a name");
        let presented = vec!["DnsName(\"localhost\")".to_owned()];
        let context = CertificateError::NotValidForNameContext { expected: name.to_owned(), presented };
        for (error, found) in [
            (context, "one for another name"),
            (CertificateError::NotValidForName, "one for another name"),
            (CertificateError::UnknownIssuer, "is not accepted"),
            (CertificateError::Expired, "is not accepted"),
        ] {
            let text = format!("client error (Connect): {}", Error::InvalidCertificate(error));
            assert!(diagnosis(&text, false).0.contains(found), "{text}");
        }
        let unknown = "client error (Connect): dns error: failed to lookup address information";
        assert!(diagnosis(unknown, false).0.contains("cannot be resolved"));
    }
}
