//! A scenario, and what each of the two evicts in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::{Command, Stdio},
};

use cluster::Controller;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arm::{Arm, Embedded, Real};

const NAMESPACE: &str = "scene";
const OTHER: &str = "other";

/// What there is, and a policy.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub name: String,
    /// Of the plugins that run, by extension point, the arguments.
    #[serde(default)]
    pub deschedule: BTreeMap<String, Value>,
    #[serde(default)]
    pub balance: BTreeMap<String, Value>,
    /// Arguments of DefaultEvictor.
    #[serde(default)]
    pub evictor: Value,
    /// What else the policy says.
    #[serde(default)]
    pub policy: BTreeMap<String, Value>,
    /// By name.
    pub nodes: BTreeMap<String, Node>,
    /// Pods that are alike each.
    pub pods: Vec<Pods>,
    /// Budgets: pods with this label `app` of which so many may go.
    #[serde(default)]
    pub budgets: BTreeMap<String, i64>,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Node {
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Value>,
    pub unschedulable: bool,
    pub size: BTreeMap<String, String>,
    pub ready: Option<bool>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pods {
    pub name: String,
    /// Under which name they are counted, if not their own.
    #[serde(default)]
    pub counted_as: Option<String>,
    pub count: usize,
    pub node: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Kind and name, like `ReplicaSet/web`; none for nobody.
    #[serde(default = "usual_owner")]
    pub owner: String,
    #[serde(default = "usual_cpu")]
    pub cpu: String,
    /// In the other namespace.
    #[serde(default)]
    pub elsewhere: bool,
    /// Whether they are being deleted.
    #[serde(default)]
    pub going: bool,
    /// That of a PriorityClass that is made for them, unless their spec names another.
    #[serde(default)]
    pub priority: i64,
    #[serde(default)]
    pub spec: BTreeMap<String, Value>,
    #[serde(default)]
    pub status: Value,
}

fn usual_owner() -> String {
    "ReplicaSet/web".to_owned()
}

fn usual_cpu() -> String {
    "100m".to_owned()
}

/// How many pods of each name are going that were not before.
pub type Evicted = BTreeMap<String, usize>;

/// The real descheduler.
pub struct Program {
    pub path: PathBuf,
    pub kubeconfig: PathBuf,
    pub folder: PathBuf,
}

impl Scenario {
    fn policy(&self) -> Value {
        let plugins = self.deschedule.iter().chain(&self.balance);
        let mut configs = vec![json!({"name": "DefaultEvictor", "args": self.evictor})];
        configs.extend(plugins.map(|(name, args)| json!({"name": name, "args": args})));
        let enabled =
            |of: &BTreeMap<String, Value>| json!({"enabled": of.keys().collect::<Vec<_>>()});
        let mut policy = json!({
            "apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy",
            "profiles": [{
                "name": "scene", "pluginConfig": configs,
                "plugins": {
                    "deschedule": enabled(&self.deschedule), "balance": enabled(&self.balance),
                },
            }],
        });
        for (field, value) in &self.policy {
            policy[field] = value.clone();
        }
        policy
    }

    fn make(&self, arm: &dyn Arm) {
        for (name, node) in &self.nodes {
            node.make(arm, name);
        }
        for pods in &self.pods {
            pods.make_class(arm);
            for name in pods.names() {
                pods.make(arm, &name);
            }
        }
        let budgets = format!("/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets");
        for (app, allowed) in &self.budgets {
            let selector = json!({"matchLabels": {"app": app}});
            let spec = json!({"minAvailable": 0, "selector": selector});
            arm.must("POST", &budgets, Some(json!({"metadata": {"name": app}, "spec": spec})));
            let status = json!({
                "disruptionsAllowed": allowed, "currentHealthy": 9, "desiredHealthy": 9 - allowed,
                "expectedPods": 9, "observedGeneration": 1,
            });
            let path = format!("{budgets}/{app}/status");
            arm.must("PATCH", &path, Some(json!({"status": status})));
        }
    }

    /// Pods that are going or gone, but for those that were going from the beginning.
    fn evicted(&self, arm: &dyn Arm) -> Evicted {
        let pods = arm.send("GET", "/api/v1/pods", None).1;
        let items = pods["items"].as_array().expect("a list");
        let stays = |pod: &&Value| !pod["metadata"]["deletionTimestamp"].is_string();
        let names = items.iter().filter(stays).map(|pod| pod["metadata"]["name"].as_str());
        let staying: BTreeSet<&str> = names.flatten().collect();
        let mut evicted = Evicted::new();
        for row in self.pods.iter().filter(|row| !row.going) {
            let gone = row.names().filter(|name| !staying.contains(&**name)).count();
            if gone > 0 {
                let name = row.counted_as.as_ref().unwrap_or(&row.name);
                *evicted.entry(name.clone()).or_default() += gone;
            }
        }
        evicted
    }
}

impl Node {
    fn make(&self, arm: &dyn Arm, name: &str) {
        let mut labels = self.labels.clone();
        labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        let mut size = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        for (key, value) in &self.size {
            size[key] = json!(value);
        }
        let ready = if self.ready.unwrap_or(true) { "True" } else { "False" };
        let conditions = json!([{"type": "Ready", "status": ready}]);
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {"unschedulable": self.unschedulable},
            "status": {"capacity": size, "allocatable": size, "conditions": conditions},
        });
        arm.must("POST", "/api/v1/nodes", Some(object));
        // The API server says of new nodes that they are not ready.
        let taints = json!({"spec": {"taints": self.taints}});
        arm.must("PATCH", &format!("/api/v1/nodes/{name}"), Some(taints));
    }
}

impl Pods {
    fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|at| format!("{}-{at}", self.name))
    }

    fn namespace(&self) -> &'static str {
        if self.elsewhere { OTHER } else { NAMESPACE }
    }

    fn class(&self) -> String {
        format!("p{}", self.priority)
    }

    fn make_class(&self, arm: &dyn Arm) {
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        let class = json!({"metadata": {"name": self.class()}, "value": self.priority});
        let (code, answer) = arm.send("POST", path, Some(class));
        assert!(code == 201 || code == 409, "{code} {answer}");
    }

    fn make(&self, arm: &dyn Arm, name: &str) {
        let requests = json!({"requests": {"cpu": self.cpu}});
        let mut spec = json!({
            "nodeName": self.node, "priorityClassName": self.class(),
            "containers": [{"name": "c", "image": "i", "resources": requests}],
        });
        for (field, value) in &self.spec {
            spec[field] = value.clone();
        }
        let owner = self.owner.split_once('/').map(|(kind, name)| {
            json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name})
        });
        let owners: Vec<Value> = owner.into_iter().collect();
        let metadata = json!({
            "name": name, "labels": self.labels, "annotations": self.annotations,
            "ownerReferences": owners,
        });
        let pods = format!("/api/v1/namespaces/{}/pods", self.namespace());
        arm.must("POST", &pods, Some(json!({"metadata": metadata, "spec": spec})));
        let conditions = json!([{"type": "Ready", "status": "True"}]);
        let mut status = json!({"phase": "Running", "conditions": conditions});
        for (field, value) in self.status.as_object().into_iter().flatten() {
            status[field] = value.clone();
        }
        let path = format!("{pods}/{name}");
        arm.must("PATCH", &format!("{path}/status"), Some(json!({"status": status})));
        if self.going {
            arm.must("DELETE", &path, None);
        }
    }
}

/// Whom ours evicts, in this order of what upstream keeps in maps.
pub fn by_ours(scenario: &Scenario, order: usize) -> Evicted {
    let arm = Embedded::of(vec![Controller::Descheduler], false);
    arm.0.order_maps(order);
    for name in [NAMESPACE, OTHER] {
        arm.make_namespace(name);
    }
    scenario.make(&arm);
    let map = json!({
        "metadata": {
            "name": "descheduler-policy-configmap",
            "annotations": {"trommel.dev/descheduling-interval": "0"},
        },
        "data": {"policy.yaml": scenario.policy().to_string()},
    });
    arm.must("POST", "/api/v1/namespaces/kube-system/configmaps", Some(map));
    arm.0.run_environment().expect("it comes to rest");
    scenario.evicted(&arm)
}

/// Whom the real one evicts.
pub fn by_theirs(scenario: &Scenario, real: &Real, program: &Program) -> Evicted {
    clear(real);
    scenario.make(real);
    let policy = program.folder.join("policy.yaml");
    std::fs::write(&policy, scenario.policy().to_string()).expect("a file can be written");
    let flag = |name: &str, value: &PathBuf| format!("--{name}={}", value.display());
    let ended = Command::new(&program.path)
        .arg(flag("kubeconfig", &program.kubeconfig))
        .arg(flag("policy-config-file", &policy))
        .args(["--descheduling-interval=0", "--secure-port=0", "--v=4"])
        .args(["--client-connection-qps=1000", "--client-connection-burst=1000"])
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    std::fs::write(program.folder.join(format!("{}.log", scenario.name)), &*said).expect("a file");
    assert!(ended.status.success(), "{}: {said}", scenario.name);
    scenario.evicted(real)
}

/// Takes away what a scenario made, but for its namespaces and classes.
fn clear(arm: &Real) {
    let now = json!({"gracePeriodSeconds": 0});
    for name in [NAMESPACE, OTHER] {
        let (code, answer) =
            arm.send("POST", "/api/v1/namespaces", Some(json!({"metadata": {"name": name}})));
        assert!(code == 201 || code == 409, "{code} {answer}");
        let pods = format!("/api/v1/namespaces/{name}/pods");
        arm.must("DELETE", &pods, Some(now.clone()));
        let budgets = format!("/apis/policy/v1/namespaces/{name}/poddisruptionbudgets");
        arm.must("DELETE", &budgets, None);
    }
    arm.must("DELETE", "/api/v1/nodes", Some(now));
}
