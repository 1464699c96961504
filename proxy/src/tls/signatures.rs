//! That who shows a certificate has its key, whatever else is asked of the certificate: the part that all verifiers of
//! ours share.

/// The methods of a `rustls` verifier, of clients or of servers, that check signatures; by the provider in this field.
macro_rules! checks_signatures {
    ($provider:ident) => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &rustls::pki_types::CertificateDer<'_>,
            signed: &rustls::DigitallySignedStruct,
        ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
            let known = &self.$provider.signature_verification_algorithms;
            rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &rustls::pki_types::CertificateDer<'_>,
            signed: &rustls::DigitallySignedStruct,
        ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
            let known = &self.$provider.signature_verification_algorithms;
            rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
        }

        fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
            self.$provider.signature_verification_algorithms.supported_schemes()
        }
    };
}

pub(crate) use checks_signatures;
