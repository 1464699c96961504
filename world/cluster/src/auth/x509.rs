//! Who shows a client certificate (`k8s.io/apiserver/pkg/authentication/request/x509`): its common name is the user,
//! its organizations are the groups, if one of the world's authorities for clients has signed it for clients and it is in
//! date by the world's clock.
//!
//! The authority of the signer `kubernetes.io/kube-apiserver-client` counts in every world, as on a cluster whose
//! controllers sign with the key of `--client-ca-file`; [`World::trust_clients_of`] adds others.
//!
//! Chains are checked by `rustls-webpki`, which is stricter than Go in what few certificates have: version 1, keys of
//! RSA below 2048 bits and on the curve P-521, an authority's certificate shown as a client's, `anyExtendedKeyUsage`. Those
//! are refused here. It does not look at how long an authority's own certificate is good; Go does.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use controllers::signing_request::attributes;
use rustls_pki_types::{CertificateDer, UnixTime, pem::PemObject};
use sha2::{Digest, Sha256};
use trace::ClientCertificates;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

use super::{ANONYMOUS, AUTHENTICATED, CREDENTIAL, UNAUTHENTICATED, User};
use crate::{environment::client_authority, world::World};

/// Object identifiers in DER without head: commonName (2.5.4.3), organizationName (2.5.4.10).
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];
/// 1.3.6.1.4.1.57683.2, the uid of a user (`X509UID` of `k8s.io/apimachinery/pkg/apis/asn1`; the feature
/// `AllowParsingUserUIDFromCertAuth` is on since 1.33).
const UID: &[u8] = &[0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2];

/// Certificates of authorities whose clients are known, in DER.
pub(crate) type Authorities = Arc<[CertificateDer<'static>]>;

/// Text that names no authority.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// There is no certificate in it.
    #[error("no certificate in PEM")]
    Empty,
    /// What it holds is none.
    #[error("not a certificate: {0}")]
    Certificate(String),
}

/// Those of a new world.
pub(crate) fn authorities() -> Authorities {
    static OWN: LazyLock<Authorities> =
        LazyLock::new(|| read(&client_authority()).expect("we have written it").into());
    OWN.clone()
}

/// The certificates in a text of PEM. Errors: one that is no authority's, or none.
fn read(pem: &str) -> Result<Vec<CertificateDer<'static>>, AuthorityError> {
    let wrong = |error: &dyn std::fmt::Display| AuthorityError::Certificate(error.to_string());
    let found = CertificateDer::pem_slice_iter(pem.as_bytes());
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(|error| wrong(&error))?;
    for certificate in &found {
        anchor_from_trusted_cert(certificate).map_err(|error| wrong(&error))?;
    }
    if found.is_empty() { Err(AuthorityError::Empty) } else { Ok(found) }
}

impl World {
    /// From now on who shows a client certificate of one of these authorities (PEM, one or more) is who it says.
    ///
    /// # Errors
    /// The text holds no certificate, or something that is none.
    pub fn trust_clients_of(&mut self, pem: &str) -> Result<(), AuthorityError> {
        let more = read(pem)?;
        self.client_authorities = self.client_authorities.iter().cloned().chain(more).collect();
        Ok(())
    }
}

/// Why a certificate makes nobody known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It does not lead to an authority, or not now.
    Chain(Error),
    /// What it says of its owner can't be understood.
    Subject,
}

/// Whose certificates these are. Nobody's, if they name nobody. Errors: they don't count.
pub(super) fn whose(world: &World, shown: &ClientCertificates) -> Result<Option<User>, Unknown> {
    let shown: Vec<CertificateDer<'_>> =
        shown.0.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
    let Some((own, between)) = shown.split_first() else { return Ok(None) };
    let own = EndEntityCert::try_from(own).map_err(Unknown::Chain)?;
    let anchors: Vec<_> = world
        .client_authorities
        .iter()
        .filter_map(|authority| anchor_from_trusted_cert(authority).ok())
        .collect();
    let seconds = u64::try_from(world.now.seconds()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let usage = KeyUsage::client_auth();
    own.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, between, now, usage, None, None)
        .map_err(Unknown::Chain)?;
    named(own.subject(), &own.der())
}

/// Whom a subject names (`CommonNameUserConversion`).
fn named(subject: &[u8], der: &[u8]) -> Result<Option<User>, Unknown> {
    let attributes = attributes(subject).ok_or(Unknown::Subject)?;
    let values = |wanted: &[u8]| -> Vec<String> {
        let found = attributes.iter().filter(|(identifier, _)| *identifier == wanted);
        found.map(|(_, value)| value.clone()).collect()
    };
    // Of several the last counts, as in Go's `pkix.Name`.
    let Some(name) = values(COMMON_NAME).pop().filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let uid = match &values(UID)[..] {
        [] => String::new(),
        [uid] if !uid.is_empty() => uid.clone(),
        _ => return Err(Unknown::Subject),
    };
    let mut groups = values(ORGANIZATION);
    // `AuthenticatedGroupAdder`: who says that it is nobody is in no group of those who are somebody.
    let told =
        groups.iter().any(|group| [AUTHENTICATED, UNAUTHENTICATED].contains(&group.as_str()));
    if !told && name != ANONYMOUS {
        groups.push(AUTHENTICATED.to_owned());
    }
    let print: String = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect();
    let extra = BTreeMap::from([(CREDENTIAL.to_owned(), vec![format!("X509SHA256={print}")])]);
    Ok(Some(User { name, uid, groups, extra }))
}
