//! `trommel model check` on clusters of manifests: scenario files, and folders on clusters of growing size.

use trommel_tests::{
    house::House,
    product::{Ended, run},
};

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
    let smallest = "applied to an empty cluster: violated on \
                    1 node (8 CPUs, 16Gi, topology.kubernetes.io/zone=a) and \
                    2 nodes (8 CPUs, 16Gi, topology.kubernetes.io/zone=b); \
                    held on the 4 tried before";
    assert!(told.contains(smallest), "{told}");
    assert!(told.contains("violated: all pods come to run and stay"), "{told}");
    // What never ends well needs no rollout to show it.
    assert!(told.contains("rollout restart of Deployment shop: held on all 4 clusters"), "{told}");
}

const STUCK: &str = "examples/stuck-rollout";

fn stuck(folder: &str, more: &[&str]) -> Ended {
    let house = House::new(&format!("model/stuck-{folder}"), &[STUCK]);
    let from = format!("{STUCK}/{folder}");
    let nodes = "cpu=4,memory=8Gi,min=3,max=4";
    let arguments = ["model", "check", "--from", &from, "--nodes", nodes];
    run(&house.root, arguments.into_iter().chain(more.iter().copied()))
}

/// Two published incidents: a rollout that finds no node, and a budget that lets no node be drained.
#[test]
fn rollouts_and_drains_are_asked_for() {
    let ended = stuck("broken", &[]);
    let told = &ended.expect(100).stdout;
    for expect in [
        "applied to an empty cluster: held on all 2 clusters, up to 4 nodes (4 CPUs, 8Gi)",
        "rollout restart of Deployment proxy: violated on 3 nodes (4 CPUs, 8Gi)\n",
        "a node is drained, and comes back: violated on 3 nodes (4 CPUs, 8Gi)\n",
        "violated: a drained node gets empty and comes back",
    ] {
        assert!(told.contains(expect), "no {expect:?} in {told}");
    }
    let fixed = stuck("fixed", &[]);
    assert_eq!(fixed.expect(0).stdout.matches("held on all 2 clusters").count(), 3, "{fixed}");
}

#[test]
fn a_violation_is_a_page_and_a_file() {
    let house = House::new("model/stuck-page", &[STUCK]);
    let from = format!("{STUCK}/broken");
    let nodes = "cpu=4,memory=8Gi,min=3,max=3";
    let arguments = ["model", "check", "--from", &from, "--nodes", nodes, "--report", "page"];
    run(&house.root, arguments).expect(100);
    let page = read(&house, "page/index.html");
    let name = "broken-rollout-restart-of-deployment-proxy";
    for expect in [format!("id=\"{name}\""), format!("href=\"{name}.yaml\"")] {
        assert!(page.contains(&expect), "no {expect}");
    }
    let file = read(&house, &format!("page/{name}.yaml"));
    assert!(file.contains("kind: Counterexample"), "{file}");
    // How the first pods came to run is not compared: the rollout is.
    assert!(file.contains("begins: stable"), "{file}");
    assert_eq!(file.matches("verb: create").count(), 2, "{file}");
}

/// A manifest with `replicas` takes away what an autoscaler has made.
#[test]
fn manifests_are_applied_again() {
    let example = "examples/replicas-under-autoscaler";
    let house = House::new("model/autoscaler", &[example]);
    let nodes = "cpu=4,memory=8Gi,min=1,max=1";
    let ended = run(&house.root, ["model", "check", "--from", example, "--nodes", nodes]);
    let told = &ended.expect(100).stdout;
    for expect in [
        "applied again: violated on 1 node (4 CPUs, 8Gi)\n",
        "violated: Deployment web keeps the 2 pods that its autoscaler asks for\n",
        "a node is drained, and comes back: held on 1 node (4 CPUs, 8Gi)\n",
    ] {
        assert!(told.contains(expect), "no {expect:?} in {told}");
    }
}

/// With the usage of its pods, the autoscaler asks for a third one, and the rollout and the drain still end.
#[test]
fn autoscalers_read_what_pods_use() {
    let house = House::new("model/usage", &["examples/replicas-under-autoscaler"]);
    let scenario = |replicas: u32| {
        let text = format!(
            "apiVersion: trommel.dev/v1alpha1\nkind: Model\nspec:\n  \
             manifests: [examples/replicas-under-autoscaler]\n  \
             nodes: [{{name: n, cpu: '4', memory: 8Gi}}]\n  granularity: drain\n  \
             controllers: [deployment, replicaset, horizontal-pod-autoscaler, scheduler, \
             {{name: kubelet, atOnce: true}}]\n  seconds: 60\n  \
             usage: [{{pods: {{app: web}}, cpu: 500m, memory: 1Gi}}]\n  properties:\n    \
             - {{name: grows, sometimes: \"objects.exists(o, o.kind == 'Deployment' && \
             o.spec.replicas == {replicas})\"}}\n"
        );
        house.write("scenario.yaml", &text);
        run(&house.root, ["model", "check", "scenario.yaml"])
    };
    // 100 % of the request, against a target of 80: by a quarter more, up to the most of four.
    scenario(3).expect(0);
    scenario(4).expect(0);
    scenario(5).expect(100);
}

/// What controllers make gets the defaults and the admission of an API server: requests that limits stand for, claims of a
/// StatefulSet with their volumes, the labels of a CronJob's pods.
#[test]
fn objects_of_controllers_are_admitted() {
    let house = House::new("model/admitted", &[]);
    let pod =
        |more: &str| format!("restartPolicy: Always, containers: [{{name: c, image: c, {more}}}]");
    let workload = |kind: &str, pod: &str, more: &str| {
        format!(
            "apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: w}}\nspec:\n  replicas: 1\n  \
             selector: {{matchLabels: {{app: w}}}}\n  template:\n    \
             metadata: {{labels: {{app: w}}}}\n    spec: {{{pod}}}\n{more}"
        )
    };
    let check = |name: &str, manifest: &str, code: i32| {
        house.write(&format!("{name}/w.yaml"), manifest);
        let nodes = "cpu=4,memory=8Gi,min=1,max=1";
        let ended = run(&house.root, ["model", "check", "--from", name, "--nodes", nodes]);
        assert_eq!(ended.code, Some(code), "{name}: {ended}");
        ended
    };
    check("limits", &workload("Deployment", &pod("resources: {limits: {cpu: '8'}}"), ""), 100);
    // Also below the folder, as `helm template --output-dir` writes them.
    let limits = workload("Deployment", &pod("resources: {limits: {cpu: '8'}}"), "");
    house.write("chart/templates/w.yaml", &limits);
    let nodes = "cpu=4,memory=8Gi,min=1,max=1";
    run(&house.root, ["model", "check", "--from", "chart", "--nodes", nodes]).expect(100);
    std::fs::create_dir(house.path("empty")).expect("a folder");
    let ended = run(&house.root, ["model", "check", "--from", "empty", "--nodes", nodes]);
    assert!(ended.expect(64).stderr.contains("empty: there is no manifest in it"), "{ended}");
    check("fits", &workload("Deployment", &pod("resources: {limits: {cpu: '2'}}"), ""), 0);
    let claims = "  serviceName: w\n  volumeClaimTemplates:\n    - {metadata: {name: data}, \
                  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n";
    let mounts = pod("volumeMounts: [{name: data, mountPath: /data}]");
    let ended = check("claims", &workload("StatefulSet", &mounts, claims), 0);
    assert!(ended.stderr.contains("StorageClass standard is not in the folder"), "{ended}");
}

fn read(house: &House, path: &str) -> String {
    std::fs::read_to_string(house.path(path)).expect(path)
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
