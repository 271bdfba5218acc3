//! TLS settings: files read once, with errors that name the flag and the file.
//!
//! tonic's own TLS cannot leave a certificate unverified, and its errors do not say which file
//! is meant; so the connector brings its own.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use super::PortError;
use crate::config::Tls;

/// Reads the files and builds what a handshake needs. Reads the system's certificates when no
/// authority is given, which takes some ten milliseconds.
pub(super) fn client_config(tls: &Tls) -> Result<Arc<ClientConfig>, PortError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse("TLS", error.to_string()))?;
    let builder = if tls.skip_verify {
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer { schemes }))
    } else {
        let roots = match &tls.cacert {
            Some(file) => roots_from(file)?,
            None => system_roots()?,
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| refuse("TLS", error.to_string()))?;
        builder.with_webpki_verifier(verifier)
    };
    let mut config = match (&tls.cert, &tls.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates("--cert", cert)?;
            let secret =
                PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("--key", key, error, "private key"))?;
            builder.with_client_auth_cert(chain, secret).map_err(|error| {
                let what = format!("--cert {} and --key {}", cert.display(), key.display());
                refuse(&what, format!("they do not fit together: {error}"))
            })?
        }
        (Some(cert), None) => {
            return Err(refuse(&format!("--cert {}", cert.display()), "its key is missing; give --key"));
        }
        (None, Some(key)) => {
            return Err(refuse(&format!("--key {}", key.display()), "its certificate is missing; give --cert"));
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn roots_from(file: &Path) -> Result<RootCertStore, PortError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("--cacert", file)? {
        roots.add(certificate).map_err(|error| refuse(&format!("--cacert {}", file.display()), error.to_string()))?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, PortError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Systems carry odd certificates that no one needs; those that parse are enough.
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        return Err(refuse("the system's certificates", "none found; give the cluster's authority with --cacert"));
    }
    Ok(roots)
}

fn certificates(flag: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, PortError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            Err(refuse(&format!("{flag} {}", file.display()), "holds no certificate in PEM form"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(flag, file, error, "certificate")),
    }
}

fn unreadable(flag: &str, file: &Path, error: rustls_pki_types::pem::Error, wanted: &str) -> PortError {
    use rustls_pki_types::pem::Error;
    let what = format!("{flag} {}", file.display());
    match error {
        Error::Io(error) => refuse(&what, error.to_string()),
        Error::NoItemsFound => refuse(&what, format!("holds no {wanted} in PEM form")),
        error => refuse(&what, format!("holds no usable {wanted}: {error}")),
    }
}

fn refuse(what: &str, why: impl Into<String>) -> PortError {
    PortError::Tls { what: what.into(), why: why.into() }
}

/// Takes any server for the right one, as `--insecure-skip-tls-verify` says.
#[derive(Debug)]
struct AnyServer {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    // Whoever presents a certificate of his own can also sign with it: checking the signature
    // of an unchecked certificate would only refuse old keys.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
