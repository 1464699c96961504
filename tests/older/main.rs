//! Controllers built years ago: a client of the time of Kubernetes 1.17 against a server of 1.18.

use std::process::Command;

use rustix::process::Signal;
use trommel_tests::{Need, house::House, needs, product::Ended, served::Served, subjects};

/// The types that the client takes through their lives, each in JSON and in protobuf.
const TYPES: [&str; 13] = [
    "policy/v1beta1 PodDisruptionBudget",
    "batch/v1beta1 CronJob",
    "autoscaling/v2beta1 HorizontalPodAutoscaler",
    "autoscaling/v2beta2 HorizontalPodAutoscaler",
    "extensions/v1beta1 Ingress",
    "networking.k8s.io/v1beta1 Ingress",
    "apiextensions.k8s.io/v1beta1 CustomResourceDefinition",
    "admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration",
    "coordination.k8s.io/v1beta1 Lease",
    "rbac.authorization.k8s.io/v1beta1 Role",
    "storage.k8s.io/v1beta1 StorageClass",
    "discovery.k8s.io/v1beta1 EndpointSlice",
    "events.k8s.io/v1beta1 Event",
];

#[test]
fn client_go_of_2019_finds_its_betas() {
    if !needs(&[Need::Go]) {
        return;
    }
    let client = subjects::built("go-betas").join("bin/betas");
    let house = House::new("older", &[]);
    let served = Served::start(&house.root, &["--kubernetes", "1.18", "--environment", "none"]);
    let said = says(&client, &served);
    said.expect(0);
    for format in ["application/json", "application/vnd.kubernetes.protobuf"] {
        for name in TYPES {
            let line = format!("lived {name} {format}\n");
            assert!(said.stdout.contains(&line), "no {line:?} in {said}");
        }
    }
    assert!(said.stdout.contains("server v1.18.0\n"), "{said}");
    assert!(said.stdout.contains("informed extensions/v1beta1 Ingress\n"), "{said}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn without_the_option_they_are_gone_as_on_a_server_of_today() {
    if !needs(&[Need::Go]) {
        return;
    }
    let client = subjects::built("go-betas").join("bin/betas");
    let house = House::new("older-today", &[]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let said = says(&client, &served);
    said.expect(1);
    assert!(said.stderr.contains("no matches for kind"), "{said}");
}

fn says(client: &std::path::Path, served: &Served) -> Ended {
    let mut command = Command::new(client);
    command.env("KUBECONFIG", &served.kubeconfig);
    Ended::of(command)
}
