//! What `sarapprove_test.go` and `cleaner_test.go` promise.

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use super::{NameKind, pkcs10};
use crate::{
    Controller, Next, Request, Response,
    fixture::{NOW, object, run, view},
};

const KEY: &str = "certificatesigningrequests.certificates.k8s.io/r";

/// `O=system:nodes, CN=system:node:n`.
const NODE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIck1JR1JBZ0VBTUM4eEZUQVRCZ05WQkFvTURITjVjM1JsYlRw\
    dWIyUmxjekVXTUJRR0ExVUVBd3dOYzNsegpkR1Z0T201dlpHVTZiakJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFC\
    Qzl0OHVqS1hvdWE5TjE4CkYyd0pmK3d1ZjFKLzFkSXVRSmxNVU1GNnRtd1F1TUlRZ1h0VlBLRnBwUXo5cjU1SUVZTC9DVGkwU1ZO\
    bEJjdU4KVFcydDhCdWdBREFLQmdncWhrak9QUVFEQWdOSkFEQkdBaUVBb0QvVVNBZEgxSjBXbjJOaWNTN01tTy80UnBqdApLSkx3\
    b1h2dG1ReHdBVmtDSVFERkxlRHFqLzFVaXA0TEQrZS9vR0QrYXBIR1ZPcjZ6Rkw4a0NmZGdrUU5lQT09Ci0tLS0tRU5EIENFUlRJ\
    RklDQVRFIFJFUVVFU1QtLS0tLQo=";
/// The same, and the DNS name n.
const DNS: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQkNUQ0JzQUlCQURBdk1SVXdFd1lEVlFRS0RBeHplWE4wWlcw\
    NmJtOWtaWE14RmpBVUJnTlZCQU1NRFhONQpjM1JsYlRwdWIyUmxPbTR3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNB\
    QVF2YmZMb3lsNkxtdlRkCmZCZHNDWC9zTG45U2Y5WFNMa0NaVEZEQmVyWnNFTGpDRUlGN1ZUeWhhYVVNL2ErZVNCR0Mvd2s0dEVs\
    VFpRWEwKalUxdHJmQWJvQjh3SFFZSktvWklodmNOQVFrT01SQXdEakFNQmdOVkhSRUVCVEFEZ2dGdU1Bb0dDQ3FHU000OQpCQU1D\
    QTBnQU1FVUNJUUNJVzZPZTBqeDJWdEh3VVYxVFR6MXFkZXZBMFN6S2wzSTU5ekNTL0xVSFpRSWdLTE15CkFVbUl4cGwvcWtPMElF\
    OWVzRlhxQjIvbVZhUWNYeVk5Q0NSSGFPVT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
/// `O=people, CN=ann`.
const ANN: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWk1JR0JBZ0VBTUI4eER6QU5CZ05WQkFvTUJuQmxiM0JzWlRF\
    TU1Bb0dBMVVFQXd3RFlXNXVNRmt3RXdZSApLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFTDIzeTZNcGVpNXIwM1h3WGJBbC83\
    QzUvVW4vVjBpNUFtVXhRCndYcTJiQkM0d2hDQmUxVThvV21sRFAydm5rZ1JndjhKT0xSSlUyVUZ5NDFOYmEzd0c2QUFNQW9HQ0Nx\
    R1NNNDkKQkFNQ0EwY0FNRVFDSUZtMzFKV1NhYTU2RGNueitMNFlGQW5kVmV3dFRrcEZqNVVScURqWm13QTdBaUJUd0hBWQpHcG1r\
    UzNleDArdWpxSEpsckZiQjl0R21GN1VGdTBpdjFISTU0UT09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

fn request(more: &[(&str, Value)], status: Value) -> (ObjectKey, Value) {
    let mut spec = json!({
        "request": NODE, "username": "ann", "groups": ["people"],
        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
    });
    for (field, value) in more {
        spec[*field] = value.clone();
    }
    object(KEY, json!({"spec": spec, "status": status}))
}

#[test]
fn requests_are_read() {
    let check = |request: &str, expect: Option<(&str, &str, &[NameKind])>| {
        let asked = pkcs10::read(request);
        let told = asked.as_ref().map(|asked| {
            let kinds: Vec<NameKind> = asked.names.iter().map(|(kind, _)| *kind).collect();
            (asked.common_name(), asked.values(pkcs10::ORGANIZATION), kinds)
        });
        let expect =
            expect.map(|(name, organization, kinds)| (name, vec![organization], kinds.to_vec()));
        assert_eq!(told, expect);
        // SubjectPublicKeyInfo of P-256.
        assert!(asked.is_none_or(|asked| asked.public_key.len() == 91));
    };
    check(NODE, Some(("system:node:n", "system:nodes", &[])));
    check(DNS, Some(("system:node:n", "system:nodes", &[NameKind::Dns])));
    check(ANN, Some(("ann", "people", &[])));
    check("", None);
    check(&NODE[..200], None);
}

/// What the signer does with a request of these fields, approved or otherwise.
fn signs(more: &[(&str, Value)], said: &str) -> Option<Request> {
    let status = json!({"conditions": [{"type": said, "status": "True"}]});
    let (mut sent, _) = run(Controller::RequestSigner, &view(&[request(more, status)]), KEY, &[]);
    assert!(sent.len() <= 1, "{sent:?}");
    sent.pop()
}

#[test]
fn what_is_approved_is_signed() {
    let lives = |more: &[(&str, Value)]| match signs(more, "Approved") {
        Some(Request::IssueCertificate { certificate, .. }) => {
            assert_eq!(certificate.subject.len(), 2);
            let seconds = |time: Time| time.seconds() - NOW.seconds();
            (seconds(certificate.since), seconds(certificate.until))
        }
        other => panic!("{other:?}"),
    };
    let of = |seconds: u64| [("expirationSeconds", json!(seconds))];
    assert_eq!(lives(&[]), (-300, 365 * 24 * 3600 - 300));
    assert_eq!(lives(&of(365 * 24 * 3600 + 1)), (-300, 365 * 24 * 3600 - 300));
    assert_eq!(lives(&of(8 * 3600)), (-300, 8 * 3600 - 300));
    assert_eq!(lives(&of(8 * 3600 - 1)), (-300, 8 * 3600 - 1));
    assert_eq!(lives(&of(1)), (-300, 600));
    assert_eq!(signs(&[], "Denied"), None);
    assert_eq!(signs(&[("signerName", json!("example.com/own"))], "Approved"), None);
}

#[test]
fn what_may_not_be_signed_fails() {
    let check = |more: &[(&str, Value)], expect: &str| match signs(more, "Approved") {
        Some(Request::Update { fields, subresource: "status", .. }) => {
            let failed = fields[0].1.as_array().expect("conditions").last().cloned();
            let failed = failed.expect("one");
            assert_eq!((&failed["type"], &failed["message"]), (&json!("Failed"), &json!(expect)));
        }
        other => panic!("{other:?}"),
    };
    check(&[("request", json!(DNS))], "DNS subjectAltNames are not allowed");
    check(&[("request", json!(ANN))], "subject organization is not system:nodes");
    check(
        &[("usages", json!(["client auth"]))],
        "usages did not match [client auth digital signature key encipherment]",
    );
    let serving = ("signerName", json!("kubernetes.io/kubelet-serving"));
    check(std::slice::from_ref(&serving), "DNS or IP subjectAltName is required");
    check(
        &[serving, ("request", json!(DNS))],
        "usages did not match [digital signature key encipherment server auth]",
    );
    let client = ("signerName", json!("kubernetes.io/kube-apiserver-client"));
    check(
        &[client.clone(), ("usages", json!(["client auth", "any"]))],
        "invalid usage for client certificate: any",
    );
    check(
        &[client, ("usages", json!(["digital signature"]))],
        "missing required usage for client certificate: client auth",
    );
}

/// Which rights are asked about, and what is said of it; `allowed` is the right that there is.
fn check(stored: (ObjectKey, Value), allowed: &str, expect: &[&str]) {
    let (key, view) = (KEY.parse::<ObjectKey>().expect("a key"), view(&[stored]));
    let (mut told, mut responses) = (Vec::new(), Vec::new());
    while let Next::Request(request) =
        Controller::RequestApprover.next(&view, &key, NOW, &responses)
    {
        match *request {
            Request::Review { spec } => {
                let right = spec["resourceAttributes"]["subresource"].as_str().expect("a right");
                told.push(right.to_owned());
                responses.push(Response::Reviewed(right == allowed));
            }
            Request::Update { fields, .. } => {
                let last = fields[0].1.as_array().expect("conditions").last().cloned();
                told.push(last.expect("one")["message"].as_str().expect("a message").to_owned());
                responses.push(Response::Written(None));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, expect);
}

#[test]
fn kubelets_get_what_they_may_have() {
    const SELF: &str = "Auto approving self kubelet client certificate after SubjectAccessReview.";
    const OTHER: &str = "Auto approving kubelet client certificate after SubjectAccessReview.";
    let own = || [("username", json!("system:node:n"))];
    check(request(&own(), json!({})), "selfnodeclient", &["selfnodeclient", SELF]);
    check(request(&own(), json!({})), "nodeclient", &["selfnodeclient", "nodeclient", OTHER]);
    check(request(&[], json!({})), "nodeclient", &["nodeclient", OTHER]);
    check(request(&[], json!({})), "", &["nodeclient"]);
    let said = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
    check(request(&[], said("Approved")), "nodeclient", &[]);
    check(request(&[], said("Denied")), "nodeclient", &[]);
    check(request(&[("request", json!(DNS))], json!({})), "nodeclient", &[]);
    check(request(&[("request", json!(ANN))], json!({})), "nodeclient", &[]);
    check(request(&[("usages", json!(["server auth"]))], json!({})), "nodeclient", &[]);
    check(request(&[("signerName", json!("example.com/own"))], json!({})), "nodeclient", &[]);
    let rsa = json!(["key encipherment", "digital signature", "client auth"]);
    check(request(&[("usages", rsa)], json!({})), "nodeclient", &["nodeclient", OTHER]);
}

#[test]
fn old_requests_go() {
    // It is midnight; a request was made at eleven.
    let check = |status: Value, expect: Option<u64>| {
        let (sent, end) = run(Controller::RequestCleaner, &view(&[request(&[], status)]), KEY, &[]);
        let Next::Done { requeue_after } = end else { panic!("{end:?}") };
        match expect {
            None => assert!(matches!(&sent[..], [Request::Delete { .. }]), "{sent:?}"),
            Some(seconds) => {
                assert_eq!((sent.len(), requeue_after.map(|d| d.as_secs())), (0, Some(seconds)));
            }
        }
    };
    let said = |kind: &str, at: &str, certificate: &str| json!({"conditions": [{"type": kind, "lastUpdateTime": at}], "certificate": certificate});
    check(json!({}), Some(23 * 3600));
    check(said("Denied", "2025-12-31T23:30:00Z", ""), Some(1800));
    check(said("Denied", "2025-12-31T22:59:59Z", ""), None);
    check(said("Failed", "2025-12-31T22:59:59Z", ""), None);
    check(said("Approved", "2025-12-31T22:59:59Z", "eA=="), None);
    check(said("Approved", "2025-12-31T22:59:59Z", ""), Some(23 * 3600 - 1));
    check(said("Approved", "2025-12-30T23:59:59Z", ""), None);
}
