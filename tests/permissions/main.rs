//! A campaign with `authorization: rbac`: what a controller's manifests miss is named at once.

use trommel_tests::{house::House, product::run};

const FOLDER: &str = "examples/bar-foo";

/// The campaign of the repaired reconciler, as a ServiceAccount under RBAC.
const CAMPAIGN: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Campaign
metadata: {name: permissions}
spec:
  subject:
    command: [../../target/debug/bar-foo, --fixed]
    serviceAccount: default/bar-foo
  manifests: [crds/, rbac.yaml]
  cluster: {embedded: {authorization: rbac}}
  workload: {file: workload.yaml}
";

/// What its manifests grant: `VERBS` on Foos.
const RBAC: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: bar-foo, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: bar-foo}
rules:
  - {apiGroups: [example.trommel.dev], resources: [bars], verbs: [get, list, watch]}
  - {apiGroups: [example.trommel.dev], resources: [bars/status], verbs: [update]}
  - {apiGroups: [example.trommel.dev], resources: [foos], verbs: VERBS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: bar-foo}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: bar-foo}
subjects: [{kind: ServiceAccount, name: bar-foo, namespace: default}]
";

fn house(test: &str, verbs: &str) -> House {
    let house = House::new(&format!("permissions/{test}"), &[FOLDER]);
    house.write(&format!("{FOLDER}/permissions.yaml"), CAMPAIGN);
    house.write(&format!("{FOLDER}/rbac.yaml"), &RBAC.replace("VERBS", verbs));
    house
}

fn arguments<'a>(campaign: &'a str, out: &'a str) -> [&'a str; 5] {
    ["run", campaign, "--quiet", "--out", out]
}

#[test]
fn with_all_permissions_the_campaign_is_as_without_rbac() {
    let house = house("all", "[create, get]");
    let ended = run(&house.root, arguments("examples/bar-foo/permissions.yaml", "out"));
    ended.expect(0);
    assert!(!ended.stdout.contains("refused:"), "{ended}");
}

#[test]
fn a_missing_permission_of_an_undisturbed_run_is_the_error() {
    let house = house("create", "[get]");
    let ended = run(&house.root, arguments("examples/bar-foo/permissions.yaml", "out"));
    ended.expect(105);
    let says = "RBAC refused the controller: create foos.example.trommel.dev in namespace default";
    assert!(ended.stderr.contains(says), "{ended}");
}

/// The repaired reconciler reads its Foo back only when a crash made it create it a second time.
#[test]
fn a_permission_that_only_a_restart_needs_is_named_in_the_report() {
    let house = house("get", "[create]");
    let ended = run(&house.root, arguments("examples/bar-foo/permissions.yaml", "out"));
    assert_ne!(ended.code, Some(0), "{ended}");
    let says = "refused:  get foos.example.trommel.dev in namespace default (RBAC)";
    assert!(ended.stdout.contains(says), "{ended}");
}

#[test]
fn settings_that_do_not_fit_are_refused_with_the_place() {
    let house = house("settings", "[create, get]");
    let check = |from: &str, to: &str, says: &[&str]| {
        house.write(&format!("{FOLDER}/wrong.yaml"), &CAMPAIGN.replace(from, to));
        let ended = run(&house.root, arguments("examples/bar-foo/wrong.yaml", "wrong"));
        ended.expect(64);
        for part in says {
            assert!(ended.stderr.contains(part), "no {part:?} in {ended}");
        }
    };
    let missing = "there is no ServiceAccount default/nobody";
    check("default/bar-foo", "default/nobody", &["wrong.yaml:7:21", missing, "spec.manifests"]);
    check("default/bar-foo", "bar-foo", &["wrong.yaml:7:21", "write it as namespace/name"]);
    let line = "    serviceAccount: default/bar-foo\n";
    check(line, "", &["wrong.yaml:8:39", "rbac needs spec.subject.serviceAccount"]);
    check("authorization: rbac", "authorization: abac", &["wrong.yaml:9:39", "abac", "rbac"]);
    check(
        "embedded: {authorization: rbac}",
        "kubeconfig: {path: x}",
        &["wrong.yaml:7:21", "spec.subject.serviceAccount"],
    );
}
