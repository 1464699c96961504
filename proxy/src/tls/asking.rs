//! Clients are asked for certificates, and any is taken: a certificate that is out of date or a stranger's ends no
//! handshake, but gets its requests a 401 (`tls.RequestClientCert` in `k8s.io/apiserver/pkg/server/secure_serving.go`).
//!
//! That a client has the key of what it shows is checked here. The names of the authorities go to the client: those of Go
//! show no certificate of any other.

use std::sync::Arc;

use rustls::{
    DistinguishedName, Error, RootCertStore,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use super::signatures::checks_signatures;

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

    checks_signatures!(provider);
}
