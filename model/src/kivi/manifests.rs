//! Descriptions as Kubernetes' own objects, whole: with the defaults that an API server fills in.

use serde_json::{Map, Value, json};

use super::description::{Deployment, Descheduler, Description, Labels, Node, Written};

/// The namespace of all that is described.
pub const NAMESPACE: &str = "default";
/// The label by which nodes are told apart.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// What Kivi calls that label.
pub(super) const KIVI_HOSTNAME: &str = "hostname";
/// The pods that take what is taken of nodes are in this namespace: no descheduler asks for them.
const OTHERS: &str = "kube-system";

/// All objects of a description, but for pods of its deployments.
pub fn objects(of: &Description) -> Vec<Value> {
    let nodes = of.nodes.iter().map(node);
    let others = of.nodes.iter().filter(|node| node.taken != (0, 0)).map(other_pod);
    let there = || of.deployments.iter().filter(|deployment| !deployment.comes_later);
    let deployments = there().map(|one| deployment(of, one));
    let autoscalers = there().filter_map(autoscaler);
    let policy = of.descheduler.iter().map(policy);
    nodes
        .chain(others)
        .chain(deployments)
        .chain(autoscalers)
        .chain(policy)
        .chain(of.others.iter().cloned())
        .collect()
}

/// A Node that is well.
fn node(of: &Node) -> Value {
    let mut labels = of.labels.clone();
    labels.entry(HOSTNAME.to_owned()).or_insert_with(|| of.name.clone());
    let ready = if of.is_down { "False" } else { "True" };
    let amounts = json!({
        "cpu": format!("{}m", of.cpu_milli), "memory": of.memory_bytes.to_string(),
        "pods": of.pods_max.to_string(),
    });
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": of.name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": ready}],
        },
    });
    let taints = of
        .taints
        .iter()
        .map(|taint| json!({"key": taint.key, "value": taint.value, "effect": taint.effect}));
    let mut taints: Vec<Value> = taints.collect();
    if of.is_down {
        taints.push(not_ready());
    }
    if !taints.is_empty() {
        node["spec"]["taints"] = taints.into();
    }
    node
}

/// What keeps pods from a node that is not ready.
pub(super) fn not_ready() -> Value {
    json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
}

/// A pod that takes what is taken of a node by others.
fn other_pod(of: &Node) -> Value {
    let (cpu, memory) = of.taken;
    let requests = json!({"cpu": format!("{cpu}m"), "memory": memory.to_string()});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("others-{}", of.name), "namespace": OTHERS},
        "spec": {
            "nodeName": of.name, "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "others", "image": "others", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A Deployment, with its defaults.
pub(super) fn deployment(of: &Description, deployment: &Deployment) -> Value {
    let template = &of.templates[deployment.template].value;
    let labels = &template["metadata"]["labels"];
    let strategy = deployment.strategy.clone().unwrap_or_else(|| {
        let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
        json!({"type": "RollingUpdate", "rollingUpdate": rolling})
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": deployment.name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": deployment.replicas, "selector": {"matchLabels": labels},
            "strategy": strategy, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "template": template,
        },
    })
}

/// The Deployment that somebody writes down and creates anew.
pub(super) fn written(of: &Description, written: &Written) -> Value {
    let like = &of.deployments[written.deployment];
    let mut value = deployment(of, &Deployment { replicas: written.replicas, ..like.clone() });
    // Its pods are its own: two deployments that select the same pods fight for them.
    for place in
        ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"]
    {
        if let Some(labels) = value.pointer_mut(place) {
            labels["app"] = json!(written.name);
        }
    }
    value["metadata"]["name"] = json!(written.name);
    value
}

pub(super) fn autoscaler(of: &Deployment) -> Option<Value> {
    let mut spec = of.autoscaler.clone()?;
    spec["scaleTargetRef"] =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": of.name});
    Some(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": of.name, "namespace": NAMESPACE}, "spec": spec,
    }))
}

fn policy(of: &Descheduler) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "descheduler-policy-configmap", "namespace": "kube-system"},
        "data": {"policy.yaml": of.policy},
    })
}

/// What Kivi's models say of pods, and a pod template says too.
#[derive(Debug, Clone, Default)]
pub struct Pods {
    /// Labels.
    pub labels: Labels,
    /// `requests`, in thousandths of a processor.
    pub cpu_milli: u64,
    /// `requests`, in bytes.
    pub memory_bytes: u64,
    /// `nodeName`; empty for none.
    pub node_name: String,
    /// `tolerations`, as they are written.
    pub tolerations: Vec<Value>,
    /// Required and preferred node affinity: labels of nodes; preferred with a weight.
    pub required: Labels,
    /// See `required`.
    pub preferred: Vec<(u32, Labels)>,
    /// `topologySpreadConstraints`, as they are written.
    pub spread: Vec<Value>,
}

impl Pods {
    /// The template, with its defaults.
    pub fn template(&self) -> Value {
        let requests = json!({
            "cpu": format!("{}m", self.cpu_milli), "memory": self.memory_bytes.to_string(),
        });
        let mut spec = json!({
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}],
        });
        if !self.node_name.is_empty() {
            spec["nodeName"] = json!(self.node_name);
        }
        if let Some(affinity) = self.affinity() {
            spec["affinity"] = affinity;
        }
        for (field, list) in
            [("tolerations", &self.tolerations), ("topologySpreadConstraints", &self.spread)]
        {
            if !list.is_empty() {
                spec[field] = json!(list);
            }
        }
        json!({"metadata": {"labels": self.labels}, "spec": spec})
    }

    fn affinity(&self) -> Option<Value> {
        let mut of_nodes = Map::new();
        if !self.required.is_empty() {
            let terms = json!({"nodeSelectorTerms": [term(&self.required)]});
            of_nodes.insert("requiredDuringSchedulingIgnoredDuringExecution".to_owned(), terms);
        }
        if !self.preferred.is_empty() {
            let weighted = |(weight, labels): &(u32, Labels)| json!({"weight": weight, "preference": term(labels)});
            let terms = self.preferred.iter().map(weighted).collect();
            of_nodes.insert("preferredDuringSchedulingIgnoredDuringExecution".to_owned(), terms);
        }
        (!of_nodes.is_empty()).then(|| json!({"nodeAffinity": of_nodes}))
    }
}

fn term(labels: &Labels) -> Value {
    let expressions =
        labels.iter().map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]}));
    json!({"matchExpressions": expressions.collect::<Vec<Value>>()})
}

/// A topology spread constraint over pods with these labels.
pub fn spread(max_skew: u32, topology: &str, is_hard: bool, labels: &Labels) -> Value {
    let otherwise = if is_hard { "DoNotSchedule" } else { "ScheduleAnyway" };
    json!({
        "maxSkew": max_skew, "topologyKey": topology, "whenUnsatisfiable": otherwise,
        "labelSelector": {"matchLabels": labels},
    })
}

/// An autoscaler by the use of CPU, in percent of what is asked for. Kivi's looks at what is used now alone, so nothing
/// is stabilized.
pub fn by_cpu(percent: u32, min: u32, max: u32) -> Value {
    json!({
        "minReplicas": min, "maxReplicas": max,
        "metrics": [{
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
        }],
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    })
}
