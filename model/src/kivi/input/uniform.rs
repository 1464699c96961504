//! Kivi's uniform JSON, to which it brings all its inputs.
//!
//! Numbers of nodes, deployments and templates count from 1 there; 0 is none. What Kivi computes itself (`score`,
//! `curScore`, `noExecuteNode`, ..) is passed over.

use serde_json::{Value, json};

use super::{
    File, Growing, Input, InputError, Note, configs, document::Document, field::Field,
    growing::Replicas, intents, notes,
};
use crate::kivi::{
    description::{Deployment, Description, Node, PodTemplate, Taint, Written},
    intent::Intent,
    sizes::Bounds,
};

mod controllers;
mod template;

const READY: u32 = 1;
/// A CPU of one is the smallest that a model counts.
pub(super) const CPU_MILLI: u64 = 1;
/// What Kivi numbers and counts by itself, or computes from the rest.
const COMPUTED: [&str; 30] = [
    "id",
    "score",
    "curScore",
    "curAffinity",
    "curTaint",
    "curCpuIndex",
    "curVersion",
    "numPod",
    "maintained",
    "replicaSets",
    "startTime",
    "workloadType",
    "matchedNode",
    "numMatchedNode",
    "numMatchedLabel",
    "numNoExecuteNode",
    "noExecuteNode",
    "numNoScheduleNode",
    "noScheduleNode",
    "numPreferNoScheduleNode",
    "preferNoScheduleNode",
    "labelKeyValue",
    "taintType",
    // Of pods and deployments, where their templates say it.
    "cpu",
    "memory",
    "labels",
    "status",
    "podTemplateId",
    "replicas",
    "numMetrics",
];

/// Reads a uniform JSON.
///
/// # Errors
/// A text that is no JSON, and a field that is not as it should be.
pub fn read(file: &File<'_>) -> Result<Input, InputError> {
    let document = Document::read(file)?;
    let root = document.root();
    let setup = root.get("setup");
    setup.object()?;
    let (mut of, mut found) = (Description::default(), Vec::new());
    for (at, item) in setup.get("nodes").items()?.iter().enumerate() {
        of.nodes.push(node(item, at)?);
    }
    let templates = setup.get("podTemplates").items()?;
    for (at, item) in setup.get("d").items()?.iter().enumerate() {
        deployment(item, at, &templates, &mut of, &mut found)?;
    }
    place(&setup.get("pods"), &mut of)?;
    for item in setup.get("deploymentTemplates").items()? {
        let written = written(&item, &of)?;
        of.written.push(written);
    }
    of.descheduler = controllers::descheduler(&root.get("controllers"), &mut found)?;
    configs::events(&root.get("events"), &mut of, &mut found)?;
    configs::events(&root.get("userCommand"), &mut of, &mut found)?;
    of.intents.push(Intent::AlwaysSchedulable);
    intents::read(&root.get("intents"), &mut of, &mut found)?;
    let growing = growing(&root.get("userDefined"), &of)?;
    document.unread(&COMPUTED, &mut found);
    found.sort();
    Ok(Input { description: of, growing, notes: found })
}

fn name(of: &Field<'_>, other: String) -> Result<String, InputError> {
    let name = of.get("name");
    match name.value {
        Value::Null => Ok(other),
        Value::Number(number) => Ok(format!("{other}-{number}")),
        _ => name.text().map(str::to_owned),
    }
}

fn node(of: &Field<'_>, at: usize) -> Result<Node, InputError> {
    let mut node = configs::node(of, &name(of, format!("node-{:03}", at + 1))?, CPU_MILLI)?;
    let taken = |left: u64, all: u64| all.saturating_sub(left);
    let (cpu, memory) = (of.get("cpuLeft"), of.get("memLeft"));
    if cpu.is_there() || memory.is_there() {
        let cpu = if cpu.is_there() { configs::cpu(&cpu, CPU_MILLI)? } else { node.cpu_milli };
        let memory = if memory.is_there() { configs::memory(&memory)? } else { node.memory_bytes };
        node.taken = (taken(cpu, node.cpu_milli), taken(memory, node.memory_bytes));
    }
    node.is_down = of.get("status").number_or(READY)? != READY;
    for taint in of.get("taint").items()? {
        node.taints.push(self::taint(&taint)?);
    }
    Ok(node)
}

/// `key=value:Effect`.
fn taint(of: &Field<'_>) -> Result<Taint, InputError> {
    let wanted = "key=value:NoSchedule, PreferNoSchedule or NoExecute";
    let (left, effect) = of.text()?.rsplit_once(':').ok_or_else(|| of.wrong(wanted))?;
    if !matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(of.wrong(wanted));
    }
    let (key, value) = left.split_once('=').unwrap_or((left, ""));
    Ok(Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() })
}

fn deployment(
    of: &Field<'_>,
    at: usize,
    templates: &[Field<'_>],
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    let name = name(of, format!("deployment-{}", at + 1))?;
    let place = of.get("podTemplateId");
    let template = place.number::<usize>()?.checked_sub(1).and_then(|at| templates.get(at));
    let wanted =
        || place.wrong(format!("the number of a pod template, from 1 to {}", templates.len()));
    let (value, usage) = template::read(template.ok_or_else(wanted)?, &name, into, found)?;
    into.deployments.push(Deployment {
        replicas: of.any(&["specReplicas", "replicas"]).number_or(1)?,
        template: into.templates.len(),
        strategy: Some(strategy(of)?),
        autoscaler: autoscaler(&of.get("hpaSpec"))?,
        comes_later: of.get("status").is_there() && !of.get("status").is_set()?,
        name,
        placed: vec![],
    });
    into.templates.push(PodTemplate { value, usage });
    Ok(())
}

fn strategy(of: &Field<'_>) -> Result<Value, InputError> {
    let percent = |name: &str| -> Result<String, InputError> {
        Ok(format!("{}%", of.get(name).number_or::<u32>(25)?))
    };
    Ok(match of.get("strategy").number_or::<u32>(1)? {
        0 => json!({"type": "Recreate"}),
        _ => json!({
            "type": "RollingUpdate",
            "rollingUpdate": {
                "maxSurge": percent("maxSurge")?, "maxUnavailable": percent("maxUnavailable")?,
            },
        }),
    })
}

/// Without a window in which it is stabilized, as Kivi's is.
fn autoscaler(of: &Field<'_>) -> Result<Option<Value>, InputError> {
    if !of.get("isEnabled").is_set()? {
        return Ok(None);
    }
    let names = of.get("metricNames").items()?;
    let (targets, types) = (of.get("metricTargets").items()?, of.get("metricTypes").items()?);
    let count = of.get("numMetrics").number_or(names.len())?;
    let mut metrics = Vec::new();
    for (at, name) in names.iter().enumerate().take(count) {
        let at_place = |list: &[Field<'_>], field: &str| {
            let wanted = || of.get(field).wrong(format!("as many as metricNames: {count}"));
            list.get(at).ok_or_else(wanted)?.number::<u64>()
        };
        let is_cpu = match name.value {
            Value::String(text) => text == "cpu",
            _ => name.number::<u32>()? == 0,
        };
        let target = at_place(&targets, "metricTargets")?;
        let target = match (at_place(&types, "metricTypes")?, is_cpu) {
            (1, _) => json!({"type": "Utilization", "averageUtilization": target}),
            (_, true) => json!({"type": "AverageValue", "averageValue": format!("{target}m")}),
            (_, false) => json!({"type": "AverageValue", "averageValue": format!("{target}Gi")}),
        };
        let name = if is_cpu { "cpu" } else { "memory" };
        metrics.push(json!({"type": "Resource", "resource": {"name": name, "target": target}}));
    }
    Ok(Some(json!({
        "minReplicas": of.get("minReplicas").number_or::<u32>(1)?,
        "maxReplicas": of.get("maxReplicas").number::<u32>()?,
        "metrics": metrics, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
    })))
}

/// Pods that run at the start, on the nodes of their `loc`. They are part of what is taken of these.
fn place(pods: &Field<'_>, of: &mut Description) -> Result<(), InputError> {
    for pod in pods.items()? {
        let loc = pod.get("loc");
        let (node, owner) = (loc.number_or::<usize>(0)?, pod.get("workloadId"));
        if node == 0 {
            continue;
        }
        let nodes = of.nodes.len();
        let wrong = || loc.wrong(format!("the number of a node, from 1 to {nodes}, or 0"));
        let host = of.nodes.get_mut(node - 1).ok_or_else(wrong)?;
        let deployments = of.deployments.len();
        let wrong = || owner.wrong(format!("the number of a deployment, from 1 to {deployments}"));
        let at = owner.number::<usize>()?.checked_sub(1).filter(|at| *at < deployments);
        let deployment = &mut of.deployments[at.ok_or_else(wrong)?];
        let requests = &of.templates[deployment.template].value["spec"]["containers"][0]["resources"]
            ["requests"];
        let (cpu, memory) = template::amounts(requests);
        host.taken = (host.taken.0.saturating_sub(cpu), host.taken.1.saturating_sub(memory));
        deployment.placed.push(node - 1);
    }
    Ok(())
}

fn written(of: &Field<'_>, description: &Description) -> Result<Written, InputError> {
    let deployment = match of.any(&["name", "deploymentId"]) {
        said if said.is_there() => intents::deployment(&said, description)?,
        _ => 0,
    };
    let name =
        description.deployments.get(deployment).map_or_else(String::new, |one| one.name.clone());
    Ok(Written { deployment, name, replicas: of.get("specReplicas").number_or(1)? })
}

/// `userDefined`: how the cluster grows, from a node of each type.
fn growing(of: &Field<'_>, description: &Description) -> Result<Option<Growing>, InputError> {
    if !of.is_there() {
        return Ok(None);
    }
    let (node_types, types) = (of.get("nodesTypes").items()?, of.get("dTypes").items()?);
    let mut grown = description.clone();
    grown.nodes.clear();
    let (mut nodes, mut deployments, mut replicas) = (vec![], vec![], vec![]);
    for (at, one) in node_types.iter().enumerate() {
        grown.nodes.push(node(&one.get("template"), at)?);
        nodes.push(configs::range(one)?);
    }
    for (at, one) in types.iter().take(grown.deployments.len()).enumerate() {
        deployments.push(configs::range(one)?);
        let number = |name: &str| one.get(name).number_or::<u32>(0);
        let per_node = (
            number("proportionNodeMin")?,
            number("proportionNodeMax")?,
            number("proportionNodeSpec")?,
        );
        replicas.push(Replicas {
            place: at,
            factor: one.any(&["HPAfactor", "proportionHPA"]).number_or(2)?,
            min: Some(one.get("minHPAReplicas"))
                .filter(Field::is_there)
                .map(|min| min.number())
                .transpose()?,
            per_node: (per_node.2 > 0).then_some(per_node),
        });
    }
    if nodes.is_empty() || deployments.len() < grown.deployments.len() {
        let field = if nodes.is_empty() { "nodesTypes" } else { "dTypes" };
        return Err(of.get(field).wrong("each type, with minSize and maxSize"));
    }
    let bounds = Bounds {
        nodes,
        deployments,
        pods_per_node_max: of.get("max_pod_per_node").number_or(configs::PODS_PER_NODE)?,
        nodes_scale: configs::scale(&of.get("nodesScaleType"), &node_types)?,
        deployments_scale: configs::scale(&of.get("dScaleType"), &types)?,
    };
    Ok(Some(Growing { bounds, types: grown, replicas }))
}
