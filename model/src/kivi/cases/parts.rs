//! What cases are made of.

use crate::kivi::{
    amounts::GIB,
    description::{Deployment, Descheduler, Description, Labels, Node, PodTemplate},
    manifests::Pods,
};

/// A unit of Kivi's cases: a processor, in thousandths.
pub(super) const CPU: u64 = 1000;
/// What nodes have, in units; as much memory, in GiB.
pub(super) const NODE: u64 = 64;
/// What pods ask for, in units, where a case does not say otherwise.
pub(super) const POD: u64 = 8;
/// How many pods Kivi's nodes run at most.
const PODS_MAX: u32 = 80;
/// The name of the deployment.
pub(super) const APP: &str = "app";

pub(super) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The labels of the pods.
pub(super) fn app() -> Labels {
    labels(&[("app", APP)])
}

/// So many nodes, the first of number `from`, with these labels.
pub(super) fn nodes(from: u32, count: u32, of: &[(&str, &str)]) -> Vec<Node> {
    let node = |number: u32| Node {
        name: format!("node-{number:03}"),
        labels: labels(of),
        cpu_milli: NODE * CPU,
        memory_bytes: NODE * GIB,
        pods_max: PODS_MAX,
        ..Node::default()
    };
    (from..from + count).map(node).collect()
}

/// Nodes of which so many units are taken.
pub(super) fn with_taken(mut nodes: Vec<Node>, units: u64) -> Vec<Node> {
    nodes.iter_mut().for_each(|node| node.taken = (units * CPU, units * GIB));
    nodes
}

/// Pods that ask for so many units.
pub(super) fn pods(units: u64) -> Pods {
    Pods { labels: app(), cpu_milli: units * CPU, memory_bytes: units * GIB, ..Pods::default() }
}

/// Nodes, and one deployment.
pub(super) fn description(nodes: Vec<Node>, pods: &Pods, replicas: u32) -> Description {
    let deployment = Deployment { name: APP.to_owned(), replicas, ..Deployment::default() };
    let template = PodTemplate { value: pods.template(), usage: vec![] };
    Description {
        nodes,
        deployments: vec![deployment],
        templates: vec![template],
        ..Description::default()
    }
}

/// A descheduler with one plugin of the extension point Balance, with its arguments as YAML of one line.
pub(super) fn descheduler(plugin: &str, args: &str) -> Descheduler {
    let policy = format!(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: kivi\n  pluginConfig:\n  \
         - name: {plugin}\n    args: {args}\n  plugins:\n    balance:\n      enabled: [{plugin}]\n"
    );
    Descheduler { policy }
}

/// The same for RemovePodsViolatingTopologySpreadConstraint, of hard constraints, and of soft ones too if asked.
pub(super) fn spreading(soft: bool) -> Descheduler {
    let constraints = if soft { "DoNotSchedule, ScheduleAnyway" } else { "DoNotSchedule" };
    let args = format!("{{constraints: [{constraints}]}}");
    descheduler("RemovePodsViolatingTopologySpreadConstraint", &args)
}
