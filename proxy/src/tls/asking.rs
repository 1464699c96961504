//! Clients are asked for certificates, and any is taken: a certificate that is out of date or a stranger's ends no
//! handshake, but gets its requests a 401 (`tls.RequestClientCert` in `k8s.io/apiserver/pkg/server/secure_serving.go`).
//!
//! That a client has the key of what it shows is checked here. The names of the authorities go to the client: those of Go
//! show no certificate of any other.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

#[derive(Debug)]
pub(super) struct AnyClient {
    hints: Vec<DistinguishedName>,
    provider: Arc<CryptoProvider>,
}

impl AnyClient {
    /// Asks for certificates of these.
    pub(super) fn of(authorities: &RootCertStore, provider: Arc<CryptoProvider>) -> AnyClient {
        AnyClient { hints: authorities.subjects(), provider }
    }
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
