//! CertificateSigningRequests.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const APPROVAL: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests/NS-r/approval";

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

/// `C=NL, O=people+ops, OU=tests, L=here, CN=ann`, with names of each kind.
const CLIENT: &str = include_str!("requests/client.pem");
/// `O=system:nodes, CN=system:node:n`, the DNS name n and an address.
const SERVING: &str = include_str!("requests/serving.pem");

const KUBELETS: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const CLIENTS: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";

/// A request (PEM, in base64), with more of its `spec`.
fn request_with(request: &str, signer: &str, usages: &[&str], more: Value) -> Step {
    let metadata = json!({"name": "$NS-r", "labels": {"scenario": "$NS"}});
    let mut spec = json!({"request": request, "signerName": signer, "usages": usages});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    Step::Create(REQUESTS, json!({"metadata": metadata, "spec": spec}))
}

fn request(request: &str, signer: &str) -> Step {
    request_with(request, signer, &["digital signature", "client auth"], json!({}))
}

fn say(kind: &str) -> Step {
    let condition: Value =
        json!({"type": kind, "status": "True", "reason": "Said", "message": "by a test"});
    Step::Patch(APPROVAL, json!({"status": {"conditions": [condition]}}))
}

/// It is approved, and signed or not.
fn approved(name: &'static str, request: Step) -> Scenario {
    scenario(name, vec![request, say("Approved")])
}

/// What is signed, and what it then says.
fn signed() -> Vec<Scenario> {
    let (client, serving) = (STANDARD.encode(CLIENT), STANDARD.encode(SERVING));
    let good_for = |name, seconds: u64| {
        let more = json!({"expirationSeconds": seconds});
        approved(name, request_with(&client, CLIENTS, &["client auth"], more))
    };
    let all = ["key encipherment", "digital signature", "server auth"];
    vec![
        approved("request-signed-client", request(&client, CLIENTS)),
        approved(
            "request-signed-serving",
            request_with(&serving, KUBELET_SERVING, &all, json!({})),
        ),
        good_for("request-shortest", 600),
        good_for("request-short", 7 * 3600),
        good_for("request-longer", 9 * 3600),
        good_for("request-too-long", 3 * 365 * 24 * 3600),
    ]
}

/// What its signer does not sign though it is approved.
fn failed() -> Vec<Scenario> {
    let (client, serving) = (STANDARD.encode(CLIENT), STANDARD.encode(SERVING));
    let of = |name, text: &str, signer, usages: &[&str]| {
        approved(name, request_with(text, signer, usages, json!({})))
    };
    let serves = ["digital signature", "server auth"];
    vec![
        of("request-failed-usage", &client, CLIENTS, &["client auth", "server auth", "any"]),
        of("request-failed-no-usage", &client, CLIENTS, &["digital signature"]),
        of("request-failed-nodes", &client, KUBELETS, &["client auth", "digital signature"]),
        of("request-failed-names", DNS, KUBELETS, &["client auth", "digital signature"]),
        of("request-failed-client-usage", NODE, KUBELETS, &["client auth"]),
        of("request-failed-no-names", NODE, KUBELET_SERVING, &serves),
        of("request-failed-organization", &client, KUBELET_SERVING, &serves),
        of("request-failed-serving-usage", &serving, KUBELET_SERVING, &["server auth"]),
    ]
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut all = vec![
        scenario("request-of-kubelet", vec![request(NODE, KUBELETS)]),
        scenario("request-with-names", vec![request(DNS, KUBELETS), say("Denied")]),
        scenario("request-of-others", vec![request(NODE, "example.com/own"), say("Approved")]),
    ];
    all.extend(signed());
    all.extend(failed());
    all
}
