//! CertificateSigningRequests.

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

fn request(request: &str, signer: &str) -> Step {
    let metadata = json!({"name": "$NS-r", "labels": {"scenario": "$NS"}});
    let usages = json!(["digital signature", "client auth"]);
    let spec = json!({"request": request, "signerName": signer, "usages": usages});
    Step::Create(REQUESTS, json!({"metadata": metadata, "spec": spec}))
}

fn say(kind: &str) -> Step {
    let condition: Value =
        json!({"type": kind, "status": "True", "reason": "Said", "message": "by a test"});
    Step::Patch(APPROVAL, json!({"status": {"conditions": [condition]}}))
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    const KUBELETS: &str = "kubernetes.io/kube-apiserver-client-kubelet";
    vec![
        scenario("request-of-kubelet", vec![request(NODE, KUBELETS)]),
        scenario("request-with-names", vec![request(DNS, KUBELETS), say("Denied")]),
        scenario("request-of-others", vec![request(NODE, "example.com/own"), say("Approved")]),
    ]
}
