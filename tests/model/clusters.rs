//! `trommel model check` on clusters of manifests: scenario files, and folders on clusters of growing size.

use trommel_tests::{house::House, product::run};

const EXAMPLE: &str = "examples/skewed-spread";

/// Two hard constraints of spreading that no sixth pod keeps, on three nodes in two zones.
#[test]
fn a_folder_is_violated_at_the_smallest_size() {
    let house = House::new("model/clusters", &[EXAMPLE]);
    let arguments = [
        "model",
        "check",
        "--from",
        EXAMPLE,
        "--nodes",
        "cpu=8,memory=16Gi,max=1,topology.kubernetes.io/zone=a",
        "--nodes",
        "cpu=8,memory=16Gi,max=2,topology.kubernetes.io/zone=b",
    ];
    let ended = run(&house.root, arguments);
    let told = &ended.expect(100).stdout;
    assert_eq!(told.matches(": held\n").count(), 4, "{told}");
    let smallest = "1 of 8 cpu, 16Gi topology.kubernetes.io/zone=a and \
                    2 of 8 cpu, 16Gi topology.kubernetes.io/zone=b: violated";
    assert!(told.contains(smallest), "{told}");
    assert!(told.contains("violated: all pods come to run, and stay"), "{told}");
}

const SCENARIO: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Model
spec:
  manifests: [examples/skewed-spread]
  nodes: [{name: n, count: 2, cpu: '8', memory: 16Gi}]
  granularity: drain
  events:
    - {name: grow, when: stable, scale: {object: {kind: Deployment, name: shop}, replicas: [7, 8]}}
  properties:
";

#[test]
fn a_scenario_is_asked_what_its_file_asks() {
    let house = House::new("model/scenario", &[EXAMPLE]);
    let check = |property: &str, code: i32, says: &str| {
        house.write("scenario.yaml", &format!("{SCENARIO}    - {property}\n"));
        let ended = run(&house.root, ["model", "check", "scenario.yaml"]);
        assert_eq!(ended.code, Some(code), "{property}: {ended}");
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(told.contains(says), "{property}: no {says:?} in {ended}");
    };
    let pods = "objects.filter(o, o.kind == 'Pod').size()";
    check(&format!("{{name: few, always: \"{pods} < 9\"}}"), 0, "held: few");
    check(&format!("{{name: fewer, always: \"{pods} < 8\"}}"), 100, "grow: patch Deployment");
    check(&format!("{{name: there, eventually: \"{pods} >= 6\"}}"), 0, "held: there");
    // An event need not happen.
    check(&format!("{{name: grows, eventually: \"{pods} >= 7\"}}"), 100, "violated: grows");
    check("{name: wrong, always: pods}", 64, "spec.properties[0] (wrong): always:");
    check("{name: none}", 64, "it has one of always, sometimes");
    check("{name: odd, alwais: 'true'}", 64, "scenario.yaml:10:19: unknown field");
}
