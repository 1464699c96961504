//! Kubernetes' own signers (`pkg/controller/certificates/{signer,authority}`, rules of requests in
//! `pkg/apis/certificates/helpers.go`, Kubernetes 1.36): what is approved for one of them gets a certificate of the
//! cluster's authority; what it may not sign fails, and says why.
//!
//! What the certificate says is decided here. Whoever runs the controllers has the authority's key and writes it:
//! [`Request::IssueCertificate`]. A certificate is good for a year at most (`--cluster-signing-duration`).
//!
//! Simplification: keys of the kinds that Go does not sign for are signed all the same, as the API server has checked
//! that whoever asks has them.

use std::time::Duration;

use serde_json::json;
use trace::{ObjectKey, Time};

use super::{
    Asked, Name, NameKind, SigningRequest,
    pkcs10::{COMMON_NAME, ORGANIZATION},
};
use crate::{
    calls::{Calls, Reconciled},
    object::Body,
    request::Request,
    view::View,
};

/// Client certificates of kubelets.
pub(super) const KUBELET_CLIENTS: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// What kubelets serve with.
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// Client certificates for the API server.
const CLIENTS: &str = "kubernetes.io/kube-apiserver-client";
/// Anything. Requests for it can't be made by `certificates.k8s.io/v1`.
const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// `--cluster-signing-duration`.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
const SHORTEST: Duration = Duration::from_secs(10 * 60);
/// A certificate is good from a little before, for clocks that are slow.
const BACKDATE: Duration = Duration::from_secs(5 * 60);
/// One that is not good for so long ends when it was asked to, the little before notwithstanding.
const SHORT: Duration = Duration::from_secs(8 * 3600);

/// A certificate that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCertificate {
    /// Attributes of its subject below 2.5.4, by their last arc; each with its values.
    pub subject: Vec<(u8, Vec<String>)>,
    /// Other names.
    pub names: Vec<Name>,
    /// The key that it is for, as a SubjectPublicKeyInfo in DER.
    pub public_key: Vec<u8>,
    /// Bits of `KeyUsage`, the first of which is the lowest.
    pub key_usage: u16,
    /// Object identifiers of extended usages, in DER without head.
    pub extended_usages: Vec<&'static [u8]>,
    /// Since when it is good.
    pub since: Time,
    /// Until when.
    pub until: Time,
}

/// Names of bits of `KeyUsage`, the lowest first; `signing` is the same as `digital signature`.
const KEY_USAGES: [&str; 9] = [
    "digital signature",
    "content commitment",
    "key encipherment",
    "data encipherment",
    "key agreement",
    "cert sign",
    "crl sign",
    "encipher only",
    "decipher only",
];

/// Names of extended usages, in the order in which they are written.
const EXTENDED_USAGES: [(&str, &[u8]); 13] = [
    ("any", &[0x55, 0x1d, 0x25, 0]),
    ("server auth", &[0x2b, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[0x2b, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[0x2b, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[0x2b, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[0x2b, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[0x2b, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[0x2b, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[0x2b, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[0x2b, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[0x2b, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x0a, 3, 3]),
    ("netscape sgc", &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1]),
];

/// Attributes of a subject that a certificate gets, in the order in which Go writes them (`pkix.Name`): country,
/// province, locality, street, postal code, organization, unit; then the common name and the serial number, of which
/// there is one each.
const SUBJECT: [u8; 9] = [6, 8, 7, 9, 17, ORGANIZATION, 11, COMMON_NAME, SERIAL_NUMBER];
const SERIAL_NUMBER: u8 = 5;

/// Signs what is approved.
pub(crate) fn sign(view: &View, key: &ObjectKey, now: Time, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::SigningRequest(request) = &object.body else { return Ok(None) };
    let ours = [KUBELET_CLIENTS, KUBELET_SERVING, CLIENTS, LEGACY].contains(&&*request.signer);
    let open = request.has("Approved") && !request.has("Denied") && !request.has("Failed");
    let Some(asked) = request.asked.as_ref().filter(|_| ours && open && !request.issued) else {
        return Ok(None);
    };
    let (key, revision) = (key.clone(), object.meta.revision);
    if let Some(problem) = problem(request, asked) {
        branch!(RequestFailed);
        let mut conditions = request.conditions.clone();
        conditions.push(json!({
            "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": problem,
            "lastUpdateTime": now.rfc3339(),
        }));
        let fields = vec![("/status/conditions", json!(conditions))];
        calls.must(|| Request::Update { key, revision, subresource: "status", fields })?;
        return Ok(None);
    }
    branch!(RequestSigned);
    let certificate = Box::new(certificate(request, asked, now));
    calls.must(|| Request::IssueCertificate { key, revision, certificate })?;
    Ok(None)
}

/// Why its signer does not sign a request.
pub(super) fn problem(request: &SigningRequest, asked: &Asked) -> Option<String> {
    match &*request.signer {
        KUBELET_CLIENTS => problem_of_client(request, asked),
        KUBELET_SERVING => problem_of_serving(request, asked),
        CLIENTS => problem_of_usages(request),
        _ => None,
    }
}

/// What is said where a request asks for names of a kind that it may not have.
fn forbidden(asked: &Asked, kinds: &[NameKind]) -> Option<String> {
    let kind = kinds.iter().find(|kind| asked.has(**kind))?;
    let kind = match kind {
        NameKind::Dns => "DNS",
        NameKind::Email => "Email",
        NameKind::Address => "IP",
        NameKind::Uri => "URI",
    };
    Some(format!("{kind} subjectAltNames are not allowed"))
}

/// What is said where the usages are others than these, of which `key encipherment` may be absent. These are sorted.
fn other_usages(request: &SigningRequest, required: [&str; 3]) -> Option<String> {
    let has = |usage: &&str| request.usages.iter().any(|found| **found == **usage);
    let more = request.usages.iter().any(|usage| !required.contains(&&**usage));
    let less = required.iter().any(|usage| *usage != "key encipherment" && !has(usage));
    (more || less).then(|| format!("usages did not match [{}]", required.join(" ")))
}

const NOT_NODES: &str = "subject organization is not system:nodes";
const NOT_A_NODE: &str = "subject common name does not begin with system:node:";

/// `ValidateKubeletClientCSR`.
fn problem_of_client(request: &SigningRequest, asked: &Asked) -> Option<String> {
    let kinds = [NameKind::Dns, NameKind::Email, NameKind::Address, NameKind::Uri];
    if asked.values(ORGANIZATION) != ["system:nodes"] {
        return Some(NOT_NODES.to_owned());
    }
    forbidden(asked, &kinds)
        .or_else(|| {
            let named = asked.common_name().starts_with("system:node:");
            (!named).then(|| NOT_A_NODE.to_owned())
        })
        .or_else(|| other_usages(request, ["client auth", "digital signature", "key encipherment"]))
}

/// `ValidateKubeletServingCSR`.
fn problem_of_serving(request: &SigningRequest, asked: &Asked) -> Option<String> {
    if asked.values(ORGANIZATION) != ["system:nodes"] {
        return Some(NOT_NODES.to_owned());
    }
    if !asked.has(NameKind::Dns) && !asked.has(NameKind::Address) {
        return Some("DNS or IP subjectAltName is required".to_owned());
    }
    forbidden(asked, &[NameKind::Email, NameKind::Uri])
        .or_else(|| other_usages(request, ["digital signature", "key encipherment", "server auth"]))
        .or_else(|| {
            let named = asked.common_name().starts_with("system:node:");
            (!named).then(|| NOT_A_NODE.to_owned())
        })
}

/// `validAPIServerClientUsages`.
fn problem_of_usages(request: &SigningRequest) -> Option<String> {
    let known = ["digital signature", "key encipherment", "client auth"];
    if let Some(other) = request.usages.iter().find(|usage| !known.contains(&&***usage)) {
        return Some(format!("invalid usage for client certificate: {other}"));
    }
    let client = request.usages.iter().any(|usage| **usage == *"client auth");
    (!client).then(|| "missing required usage for client certificate: client auth".to_owned())
}

/// What the certificate says (`PermissiveSigningPolicy`).
fn certificate(request: &SigningRequest, asked: &Asked, now: Time) -> NewCertificate {
    let wanted = request.expiration_seconds.map_or(LONGEST, Duration::from_secs);
    let life = wanted.clamp(SHORTEST, LONGEST);
    let end = if life < SHORT { life } else { life - BACKDATE };
    let usages = &request.usages;
    let has = |name: &str| usages.iter().any(|usage| **usage == *name);
    let bit = |(at, name): (usize, &&str)| u16::from(has(name) || at == 0 && has("signing")) << at;
    let mut extended_usages: Vec<&'static [u8]> =
        EXTENDED_USAGES.iter().filter(|(name, _)| has(name)).map(|(_, code)| *code).collect();
    extended_usages.dedup();
    let subject = SUBJECT.iter().filter_map(|attribute| {
        let values = asked.values(*attribute);
        let single = [COMMON_NAME, SERIAL_NUMBER].contains(attribute);
        let kept = if single { &values[values.len().saturating_sub(1)..] } else { &values };
        let kept: Vec<String> = kept.iter().map(|value| (*value).to_owned()).collect();
        (!kept.is_empty()).then_some((*attribute, kept))
    });
    let mut names = asked.names.clone();
    names.sort_by_key(|(kind, _)| match kind {
        NameKind::Dns => 0,
        NameKind::Email => 1,
        NameKind::Address => 2,
        NameKind::Uri => 3,
    });
    NewCertificate {
        subject: subject.collect(),
        names,
        public_key: asked.public_key.clone(),
        key_usage: KEY_USAGES.iter().enumerate().map(bit).sum(),
        extended_usages,
        since: Time(now.0 - BACKDATE.as_nanos() as i64),
        until: now.plus(end),
    }
}
