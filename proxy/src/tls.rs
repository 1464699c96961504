//! Certificates for in-between: an authority of our own, server and client certificates, and the two
//! `rustls` configurations made of PEM; and how clients are asked for certificates.
//!
//! Everything is valid from a year before the moment that is passed in (a world's now) for twenty years,
//! so that no virtual jump outlives it. Names of issuers are never empty: some clients refuse that. The
//! server offers HTTP/1.1 only, which makes client-go give each watch a connection of its own.

use std::{sync::Arc, time::Duration};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use trace::{ClientCertificates, Time};

mod any_server;
mod asking;
pub(crate) mod signatures;

/// One year in seconds, leap days left out.
const YEAR_SECONDS: i64 = 365 * 24 * 3600;

/// Names under which clients look for the API server.
const SERVER_NAMES: [&str; 7] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
];

/// What can go wrong with certificates.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate could not be made.
    #[error("can't make a certificate")]
    Mint(#[from] rcgen::Error),
    /// The text is no certificate or key.
    #[error("not a PEM certificate or key: {0}")]
    Pem(rustls::pki_types::pem::Error),
    /// There is no authority in the text.
    #[error("no authority to trust")]
    Authorities(#[from] rustls::client::VerifierBuilderError),
    /// Certificate and key don't fit, or the protocol refuses them.
    #[error("unusable certificate")]
    Rustls(#[from] rustls::Error),
}

/// A certificate and its key, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// PEM, `CERTIFICATE`.
    pub certificate: String,
    /// PEM, `PRIVATE KEY`.
    pub key: String,
}

/// An authority that signs certificates.
#[derive(Debug)]
pub struct Authority {
    pair: Pair,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one, as of `now`.
    pub fn mint(now: Time) -> Result<Authority, TlsError> {
        let key = KeyPair::generate()?;
        let params = authority_params(now)?;
        let certificate = params.self_signed(&key)?.pem();
        let pair = Pair { certificate, key: key.serialize_pem() };
        Ok(Authority { pair, issuer: Issuer::new(params, key) })
    }

    /// One of somebody else's, as PEM: the certificates that it signs carry its name.
    pub fn of_others(certificate: &str, key: &str) -> Result<Authority, TlsError> {
        let key = match self::key(key)? {
            PrivateKeyDer::Pkcs1(key) => {
                PrivateKeyDer::Pkcs8(wrapped(key.secret_pkcs1_der()).into())
            }
            key => key,
        };
        let key = KeyPair::try_from(&key)?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key)?;
        let pair = Pair { certificate: certificate.to_owned(), key: String::new() };
        Ok(Authority { pair, issuer })
    }

    /// One that was minted earlier; `pair` is what [`Authority::pair`] gave.
    pub fn load(pair: Pair) -> Result<Authority, TlsError> {
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).map_err(TlsError::Pem)?;
        let key = KeyPair::from_pem(&pair.key)?;
        // Signing needs the issuer's name and key only, and the name is always the same.
        Ok(Authority { issuer: Issuer::new(authority_params(Time::default())?, key), pair })
    }

    /// Its certificate (what clients trust) and key.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// A server certificate for this machine and for the API server's names in a cluster, and for `extra`
    /// host names and addresses.
    pub fn server(&self, now: Time, extra: &[&str]) -> Result<Pair, TlsError> {
        let names = SERVER_NAMES.iter().chain(extra).map(|name| (*name).to_owned());
        let mut params = params(now, "trommel", names.collect())?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A client certificate: Kubernetes reads the user from the common name and the groups from the
    /// organizations.
    pub fn client(&self, now: Time, user: &str, groups: &[&str]) -> Result<Pair, TlsError> {
        let mut params = params(now, user, Vec::new())?;
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Result<Pair, TlsError> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// An RSA key of PKCS #1, which kubeadm writes, as one of PKCS #8 (RFC 5208 §5, RFC 8017 appendix A).
fn wrapped(pkcs1: &[u8]) -> Vec<u8> {
    /// Version 0, and the algorithm `rsaEncryption`.
    const HEAD: [u8; 18] = [
        0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
        0x01, 0x05, 0x00,
    ];
    let mut inside = HEAD.to_vec();
    element(0x04, pkcs1, &mut inside);
    let mut whole = Vec::new();
    element(0x30, &inside, &mut whole);
    whole
}

/// Appends an element of DER: tag, length, content.
fn element(tag: u8, content: &[u8], to: &mut Vec<u8>) {
    let length = content.len().to_be_bytes();
    let zeroes = length.iter().take_while(|byte| **byte == 0).count();
    let digits = &length[zeroes.min(length.len() - 1)..];
    to.push(tag);
    if content.len() >= 0x80 {
        to.push(0x80 | digits.len() as u8);
    }
    to.extend_from_slice(digits);
    to.extend_from_slice(content);
}

fn authority_params(now: Time) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(now, "trommel-ca", Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    Ok(params)
}

fn params(now: Time, name: &str, hosts: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts)?;
    let from = now.seconds() - YEAR_SECONDS;
    let from = u64::try_from(from).unwrap_or_default();
    params.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(from);
    params.not_after = params.not_before + Duration::from_secs(20 * YEAR_SECONDS as u64);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().map_err(TlsError::Pem)
}

fn key(pem: &str) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(TlsError::Pem)
}

/// Serves with this certificate; HTTP/1.1 in ALPN, clients are not asked for certificates.
pub fn server_config(pair: &Pair) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    serving(pair, rustls::server::WebPkiClientVerifier::no_client_auth())
}

/// The same, and clients are asked for a certificate of one of these authorities (PEM, one or more), as kube-apiserver
/// asks with `--client-ca-file`. Whatever they show is taken if they have its key, or if they show none; what to make of
/// it is up to who answers their requests ([`shown`]).
pub fn asking_server_config(
    pair: &Pair,
    authorities: &str,
) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let verifier = asking::AnyClient::of(&roots(authorities)?, provider());
    serving(pair, Arc::new(verifier))
}

fn serving(
    pair: &Pair,
    clients: Arc<dyn rustls::server::danger::ClientCertVerifier>,
) -> Result<Arc<rustls::ServerConfig>, TlsError> {
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(clients)
        .with_single_cert(certificates(&pair.certificate)?, key(&pair.key)?)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// What the client has shown of itself on a connection.
pub fn shown(connection: &rustls::ServerConnection) -> Option<ClientCertificates> {
    let shown = connection.peer_certificates()?;
    Some(ClientCertificates(shown.iter().map(|der| der.to_vec()).collect()))
}

fn roots(authorities: &str) -> Result<rustls::RootCertStore, TlsError> {
    let mut roots = rustls::RootCertStore::empty();
    for authority in certificates(authorities)? {
        roots.add(authority)?;
    }
    Ok(roots)
}

/// Trusts the authorities in `authorities` (PEM, one or more), and shows `client` where there is one.
pub fn client_config(
    authorities: &str,
    client: Option<&Pair>,
) -> Result<Arc<rustls::ClientConfig>, TlsError> {
    let roots = roots(authorities)?;
    let verifier =
        rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
    asking(verifier.build()?, client)
}

/// Trusts whoever answers, as `insecure-skip-tls-verify` asks for, and shows `client` where there is one.
pub fn client_config_for_any(client: Option<&Pair>) -> Result<Arc<rustls::ClientConfig>, TlsError> {
    asking(Arc::new(any_server::AnyServer::new(provider())), client)
}

fn asking(
    servers: Arc<dyn rustls::client::danger::ServerCertVerifier>,
    client: Option<&Pair>,
) -> Result<Arc<rustls::ClientConfig>, TlsError> {
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(servers);
    let mut config = match client {
        Some(pair) => {
            builder.with_client_auth_cert(certificates(&pair.certificate)?, key(&pair.key)?)?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_wrapped_in_its_algorithm() {
        let head = "020100300d06092a864886f70d0101010500";
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&wrapped(&[1, 2, 3])), format!("3017{head}0403010203"));
        // As `openssl pkcs8 -topk8` has it: lengths over 127 have a length of their own.
        let long = hex(&wrapped(&[7; 300]));
        assert!(long.starts_with(&format!("30820142{head}0482012c0707")), "{long}");
    }

    #[test]
    fn an_authority_of_others_signs_in_its_own_name() {
        let now = Time::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
        let theirs = Authority::mint(now).unwrap();
        let Pair { certificate, key } = theirs.pair();
        let pair = Authority::of_others(certificate, key).unwrap().server(now, &["10.96.0.1"]);
        let pair = pair.unwrap();
        assert!(server_config(&pair).is_ok());
        assert!(client_config(certificate, Some(&pair)).is_ok());
        assert!(Authority::of_others(certificate, "no key").is_err());
    }
}
