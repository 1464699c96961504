//! Whoever answers is trusted, as clients with `insecure-skip-tls-verify` do: that it has the key of what it shows is
//! checked all the same.

use std::sync::Arc;

use rustls::{
    Error,
    client::danger::{ServerCertVerified, ServerCertVerifier},
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use super::signatures::checks_signatures;

#[derive(Debug)]
pub(super) struct AnyServer {
    provider: Arc<CryptoProvider>,
}

impl AnyServer {
    pub(super) fn new(provider: Arc<CryptoProvider>) -> AnyServer {
        AnyServer { provider }
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    checks_signatures!(provider);
}
