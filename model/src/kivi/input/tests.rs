//! Inputs as Kivi's users write them, and what is wrong with others.

use super::*;
use crate::kivi::{intent::Intent, occurrence::What, options::Faster, sizes::Size};

const YAML: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web
        resources: {requests: {cpu: 500m, memory: 1500Mi}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 4
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"#;
const CONFIGS: &str = r#"{
  "nodesTypes": [{"template": {"cpu": 4, "memory": 16, "labels": {"zone": 1}},
                  "num": 2, "lowerBound": 1, "upperBound": 2}],
  "dTypes": [{"name": "web", "num": 2, "minSize": 1, "maxSize": 3}],
  "events_assumption": [{"name": "maintenance", "para": {"p": 1}, "after_stable": true}],
  "max_pod_per_node": 2
}"#;
const INTENTS: &str = r#"
[{"name": "replica_num_always_meet_exp", "para": {"did": 1, "expReplicas": "specReplicas - 1"}}]"#;

fn directory(configs: &str, intents: &str) -> Result<Input, InputError> {
    directory::read(&[
        File { path: "yaml/web.yaml", text: YAML },
        File { path: "user_input/cluster_configs.json", text: configs },
        File { path: "user_input/intents.json", text: intents },
    ])
}

#[test]
fn a_configuration_directory_is_read() {
    let input = directory(CONFIGS, INTENTS).expect("an input");
    let growing = input.growing.expect("it grows");
    let sizes = growing.bounds.sizes(Faster::No);
    let told: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["<1, 1>", "<1, 2>", "<2, 1>", "<2, 2>", "<2, 3>"]);
    let of = growing.of_size(&sizes[4]);
    let web = &of.deployments[0];
    assert_eq!(
        (of.nodes.len(), of.nodes[0].cpu_milli, of.nodes[0].memory_bytes),
        (2, 4000, 16 << 30)
    );
    // As many at least as there are at the start, as it was written; twice as many at most, and what nodes may have.
    assert_eq!((web.replicas, web.bounds()), (3, Some((3, 4))));
    let Intent::MeetExpected { expected, .. } = &of.intents[1] else { panic!("{:?}", of.intents) };
    assert_eq!(expected.pods(web), 2);
    // As it is described: `num`, and the autoscaler as it was written.
    let of = &input.description;
    assert_eq!((of.nodes.len(), of.deployments[0].replicas), (2, 2));
    assert_eq!(of.deployments[0].bounds(), Some((2, 4)));
    assert!(of.occurrences[0].after_stable);
    let maintenance = What::Maintenance { at_a_time: 1, every_seconds: What::MAINTENANCE_SECONDS };
    assert_eq!(of.occurrences[0].what, maintenance);
}

#[test]
fn what_kivi_misreads_is_told() {
    let notes = directory(CONFIGS, INTENTS).expect("an input").notes;
    let told: Vec<String> =
        notes.iter().map(|note| format!("{} {}", note.field, note.text)).collect();
    let has =
        |part: &str| assert!(told.iter().any(|text| text.contains(part)), "{part}: {told:#?}");
    has("events_assumption[0].para.p Kivi looks for it among the deployments");
    has("spec.strategy Kivi leaves it unread");
    has("requests.memory Kivi takes it for 2 GiB");
    has("spec.behavior Kivi's autoscaler follows what is used at once");
}

/// Fields of JSON that nobody asks for may be misspelt.
#[test]
fn what_nobody_reads_is_told() {
    let check = |configs: &str, expect: &[&str]| {
        let notes = directory(configs, "[]").expect("an input").notes;
        let told = notes.iter().map(ToString::to_string);
        let told: Vec<String> = told.filter(|note| note.contains("nothing reads")).collect();
        assert_eq!(told, expect, "{configs}");
    };
    check(CONFIGS, &[]);
    check(
        r#"{"nodesTypes": [{"template": {"cpu": "4", "memory": 16, "lable": {}}, "maxSzie": 2}]}"#,
        &[
            "user_input/cluster_configs.json: nodesTypes[0].maxSzie: nothing reads this field: did you mean \
             \"maxSize\"?",
            "user_input/cluster_configs.json: nodesTypes[0].template.lable: nothing reads this field: did you mean \
             \"labels\"?",
        ],
    );
}

/// A node that fails is one of its type, or none where there is none of it.
#[test]
fn nodes_that_fail_are_those_of_their_type() {
    let configs = r#"{
      "nodesTypes": [{"template": {"cpu": 4, "memory": 16}, "minSize": 0, "maxSize": 2},
                     {"template": {"cpu": 8, "memory": 16}, "minSize": 0, "maxSize": 2}],
      "events_assumption": [{"name": "nodeFailure", "para": 2}]
    }"#;
    let growing = directory(configs, "[]").expect("an input").growing.expect("it grows");
    let fails = |nodes: [u32; 2]| {
        let of = growing.of_size(&Size { nodes: nodes.to_vec(), pods: vec![1] });
        of.occurrences.iter().map(|one| one.what.clone()).collect::<Vec<What>>()
    };
    assert_eq!(fails([0, 2]), [What::NodeFailure { node: 0 }]);
    assert_eq!(fails([2, 1]), [What::NodeFailure { node: 2 }]);
    assert_eq!(fails([2, 0]), []);
}

#[test]
fn errors_say_file_field_and_what_was_expected() {
    let check = |configs: &str, intents: &str, expect: &str| {
        let error = directory(configs, intents).expect_err("an error").to_string();
        assert_eq!(error, expect);
    };
    check(
        "{",
        INTENTS,
        "read user_input/cluster_configs.json: EOF while parsing an object at line 1 column 1",
    );
    check(
        r#"{"nodesTypes": [{"template": {"cpu": "much", "memory": 1}}]}"#,
        INTENTS,
        "read user_input/cluster_configs.json: nodesTypes[0].template.cpu: expected a whole number of processors, or a \
         quantity like \"4\" or \"500m\", found \"much\"",
    );
    check(
        CONFIGS,
        r#"[{"name": "no_oscillation_eviction", "para": {"did": 2}}]"#,
        "read user_input/intents.json: [0].para.did: expected the number of a deployment from 1 to 1, or its name: \
         web, found 2",
    );
    check(
        CONFIGS,
        r#"[{"name": "replica_num_always_meet_exp", "para": {"did": 1, "expReplicas": "many"}}]"#,
        "read user_input/intents.json: [0].para.expReplicas: expected a whole number, or an expression of \
         specReplicas, minReplicas and maxReplicas, found \"many\"",
    );
    let error =
        directory::read(&[File { path: "yaml/web.yaml", text: YAML }]).expect_err("an error");
    assert_eq!(
        error.to_string(),
        "read a configuration: there is no user_input/cluster_configs.json, nodes, their numbers, and what may happen"
    );
}

#[test]
fn a_uniform_json_is_read() {
    let text = r#"{
      "setup": {
        "nodes": [
          {"id": 1, "name": "a", "cpu": 64, "memory": 64,
           "cpuLeft": 48, "memLeft": 48, "status": 1, "labels": {"zone": "1"}},
          {"id": 2, "name": 2, "cpu": 64, "memory": 64,
           "cpuLeft": 4, "memLeft": 4, "status": 1, "taint": ["k=v:NoExecute"]}
        ],
        "pods": [{"id": 1, "loc": 1, "status": 1, "workloadId": 1}, {"id": 2, "loc": 0, "workloadId": 1}],
        "d": [{
          "id": 1, "name": "web", "status": 1, "specReplicas": 2, "podTemplateId": 1,
          "strategy": 1, "maxSurge": 50,
          "hpaSpec": {"isEnabled": 1, "numMetrics": 1, "metricNames": [0], "metricTargets": [50],
                      "metricTypes": [1], "minReplicas": 1, "maxReplicas": 4}
        }],
        "podTemplates": [{
          "labels": {"name": 1}, "cpuRequested": 8, "memRequested": 8, "maxCpuChange": 2,
          "curCpuRequest": [8, 3], "timeCpuRequest": [0, 300],
          "numTopoSpreadConstraints": 1,
          "topoSpreadConstraints": [{"maxSkew": 1, "minDomains": 1, "topologyKey": "hostname",
                                     "whenUnsatisfiable": 1, "labels": {"name": 1}}]
        }]
      },
      "controllers": {"scheduler": {}, "hpa": {}, "deployment": {}, "descheduler": {
        "profiles": [{"removeDuplicates": {}, "nodeAffinity": {}}], 
        "args": {"constraintsTopologySpread": 2}, "configs": {"maxNoOfPodsToEvictPerNode": 3}
      }},
      "events": [], "userCommand": [{"name": "scaleDeployment", "para": 1, "priority": 1}],
      "intents": [{"name": "checkBalanceNode", "para": {"did": 1, "maxSkew": 2}}, "[](x -> y)"]
    }"#;
    let input = uniform::read(&File { path: "c.json", text }).expect("an input");
    let of = &input.description;
    // One of ours takes 8 of the 16 of the first node; of the second all are others'.
    assert_eq!(of.nodes[0].taken, (8, 8 << 30));
    assert_eq!(of.nodes[1].taken, (60, 60 << 30));
    assert_eq!((&*of.nodes[1].name, &*of.nodes[1].taints[0].effect), ("node-002-2", "NoExecute"));
    assert_eq!(
        (&of.deployments[0].placed[..], of.deployments[0].bounds()),
        (&[0][..], Some((1, 4)))
    );
    assert_eq!(of.templates[0].usage, [(0, 8), (30, 3)]);
    let spread = &of.templates[0].value["spec"]["topologySpreadConstraints"][0];
    assert_eq!(spread["whenUnsatisfiable"], "ScheduleAnyway");
    let policy = &of.descheduler.as_ref().expect("a descheduler").policy;
    assert!(
        policy.contains("maxNoOfPodsToEvictPerNode: 3")
            && policy.contains("enabled: [RemoveDuplicates]"),
        "{policy}"
    );
    assert!(of.occurrences[0].priority);
    assert_eq!(of.intents[1], Intent::Balance { deployment: 0, max_skew: 2 });
    let told: Vec<&str> = input.notes.iter().map(|note| &*note.field).collect();
    assert_eq!(told, ["controllers.descheduler.profiles[0].nodeAffinity", "intents[1]"]);
}

#[test]
fn logs_are_read() {
    let deployment = serde_json::json!({"items": [{
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "web", "image": "web",
                    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
                }]},
            },
        },
    }]})
    .to_string();
    let pod = |name: &str, namespace: &str, owner: &str, node: &str| {
        serde_json::json!({
            "metadata": {
                "name": name, "namespace": namespace,
                "ownerReferences": [{"kind": "ReplicaSet", "name": owner}],
            },
            "spec": {"nodeName": node},
        })
    };
    let pods = serde_json::json!({"items": [
        pod("web-5f-a", "default", "web-5f", "n1"),
        pod("web-5f-b", "default", "web-5f", "n2"),
        pod("web-other-7c-a", "default", "web-other-7c", "n2"),
        pod("dns", "kube-system", "dns-1", "n1"),
    ]})
    .to_string();
    let describe = "\
Name:               n1
Labels:             zone=a
                    disk=ssd
Taints:             <none>
Conditions:
  Type    Status
  Ready   True    x
Allocatable:
  cpu:     4
  memory:  8Gi
  pods:    110
Non-terminated Pods:          (2 in total)
  Namespace    Name       CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------    ----       ------------  ----------  ---------------  -------------  ---
  default      web-5f-a   500m (12%)    0 (0%)      1Gi (12%)        0 (0%)         1m
  kube-system  dns        100m (2%)     0 (0%)      70Mi (0%)        170Mi (2%)     1m
Name:               n2
Labels:             zone=b
Taints:             k=v:NoSchedule
Allocatable:
  cpu:     2
  memory:  8Gi
  pods:    110
";
    let input = logs::read(&[
        File { path: "setup/1_getdeployment.json", text: &deployment },
        File { path: "setup/1_getpod.json", text: &pods },
        File { path: "setup/1_describenode.txt", text: describe },
        File {
            path: "setup/1_toppod.csv",
            text: "NAME,CPU(cores),MEMORY(bytes)\nweb-5f-a,250m,1Mi\nweb-5f-b,150m,1Mi\n",
        },
        File {
            path: "setup/1_gethpa.csv",
            text: "NAME,REFERENCE,TARGETS,MINPODS,MAXPODS\nweb,Deployment/web,40%/50%,1,4\n",
        },
        File { path: "user_input/intents.json", text: "[]" },
    ]);
    let input = input.expect("an input");
    let of = &input.description;
    let labels: Vec<&str> = of.nodes[0].labels.keys().map(|key| &**key).collect();
    assert_eq!((labels, of.nodes[0].taken), (vec!["disk", "zone"], (100, 70 << 20)));
    assert_eq!((of.nodes[1].cpu_milli, &*of.nodes[1].taints[0].key), (2000, "k"));
    assert_eq!(
        (&of.deployments[0].placed[..], of.deployments[0].bounds()),
        (&[0, 1][..], Some((1, 4)))
    );
    assert_eq!(of.templates[0].usage, [(0, 200)]);
    // It grows from one node of each of its two types on.
    let growing = input.growing.expect("it grows");
    let sizes = growing.bounds.sizes(Faster::No);
    assert_eq!((&*sizes[0].to_string(), growing.bounds.nodes.len()), ("<1+1, 1>", 2));
    let grown = growing.of_size(&Size { nodes: vec![2, 1], pods: vec![3] });
    let names: Vec<&str> = grown.nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(names, ["n1", "n1-001", "n2"]);
    let taken: Vec<u64> = grown.nodes.iter().map(|node| node.taken.0).collect();
    assert_eq!((taken, &grown.deployments[0].placed[..]), (vec![100, 100, 0], &[][..]));
    assert_eq!((grown.deployments[0].replicas, grown.deployments[0].bounds()), (3, Some((1, 6))));
    // A pod of another deployment, whose name begins as this one's.
    assert_eq!(input.notes.len(), 1, "{:?}", input.notes);
    let error = logs::read(&[]).expect_err("an error").to_string();
    assert_eq!(error, "read logs: there is no setup/*describenode*, `kubectl describe node`");
}
