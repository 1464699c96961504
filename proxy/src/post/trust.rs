//! Whom a webhook's `caBundle` lets us trust.
//!
//! As Go's `crypto/x509`: a certificate that stands in the bundle itself is trusted for what it is, authority or
//! not. Controllers that make a certificate for themselves put it there. Time is the world's: a subject's certificates
//! are as old as the subject thinks.

use std::{sync::Arc, time::Duration};

use rustls::{
    CertificateError, ClientConfig, Error, RootCertStore,
    client::{
        WebPkiServerVerifier,
        danger::{ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use trace::Time;

use crate::tls::signatures::checks_signatures;

/// How to speak TLS to a webhook. Errors: the bundle holds no certificate, in Go's words.
pub(super) fn client(bundle: &[u8], now: Time) -> Result<Arc<ClientConfig>, String> {
    let listed: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok).collect();
    if listed.is_empty() && !bundle.is_empty() {
        return Err(
            "unable to load root certificates: unable to parse bytes as PEM block".to_owned()
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(listed, now, provider.clone())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Verifier {
    listed: Vec<CertificateDer<'static>>,
    /// None without a bundle: then nobody is trusted, as the machine's own authorities sign no webhook of a test.
    chains: Option<Arc<WebPkiServerVerifier>>,
    now: UnixTime,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(
        listed: Vec<CertificateDer<'static>>,
        now: Time,
        provider: Arc<CryptoProvider>,
    ) -> Result<Verifier, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(listed.iter().cloned());
        let chains = match roots.is_empty() {
            true => None,
            false => {
                let builder =
                    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
                Some(builder.build().map_err(|error| error.to_string())?)
            }
        };
        let seconds = u64::try_from(now.seconds()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        Ok(Verifier { listed, chains, now, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let chains = self.chains.as_ref().ok_or(unknown)?;
        let verified = chains.verify_server_cert(leaf, between, name, ocsp, self.now);
        if verified.is_err() && self.listed.iter().any(|listed| listed.as_ref() == leaf.as_ref()) {
            verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        verified
    }

    checks_signatures!(provider);
}
