//! `cluster_configs.json`: types of nodes, how far they and deployments grow, what may happen.

use super::{InputError, Note, field::Field, intents, notes};
use crate::kivi::{
    amounts::{self, GIB},
    description::{Description, Node},
    manifests::KIVI_HOSTNAME,
    occurrence::{Occurrence, What},
    sizes::{Bounds, Range, Scale, Size},
};

/// `max_pod_per_node`, where nothing is said.
pub(super) const PODS_PER_NODE: u32 = 7;
/// How many pods Kivi's nodes run at most.
pub(super) const PODS_MAX: u32 = 80;
/// Numbers without a unit are whole processors here.
const PROCESSOR_MILLI: u64 = 1000;
/// Thousandths of a processor by which the use of pods grows, at the smallest.
const CPU_UNIT_MILLI: u64 = 1;

/// Reads it into a description whose deployments are known, which has one node of each type then. The size is that of
/// the cluster as it is described (`num`).
pub(super) fn read(
    root: &Field<'_>,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(Bounds, Size), InputError> {
    let types = root.get("nodesTypes").items()?;
    if types.is_empty() {
        return Err(root.get("nodesTypes").wrong("types of nodes"));
    }
    let hostnames = hostnames(into, root, found);
    let (mut nodes, mut described) = (Vec::new(), Size::default());
    for (at, one) in types.iter().enumerate() {
        let mut node = node(&one.get("template"), &format!("type-{:03}", at + 1), PROCESSOR_MILLI)?;
        if hostnames {
            node.labels.entry(KIVI_HOSTNAME.to_owned()).or_insert_with(|| node.name.clone());
        }
        into.nodes.push(node);
        nodes.push(range(one)?);
        described.nodes.push(one.get("num").number_or(1)?);
    }
    described.pods = into.deployments.iter().map(|one| one.replicas).collect();
    let mut deployments = vec![Range { min: 1, max: u32::MAX }; into.deployments.len()];
    for one in root.get("dTypes").items()? {
        let at = intents::deployment(&one.get("name"), into)?;
        deployments[at] = range(&one)?;
        described.pods[at] = one.get("num").number_or(described.pods[at])?;
    }
    events(&root.get("events_assumption"), into, found)?;
    let bounds = Bounds {
        nodes,
        deployments,
        pods_per_node_max: root.get("max_pod_per_node").number_or(PODS_PER_NODE)?,
        nodes_scale: scale(&root.get("nodesScaleType"), &types)?,
        deployments_scale: scale(&root.get("dScaleType"), &root.get("dTypes").items()?)?,
    };
    Ok((bounds, described))
}

/// Whether pods are spread by Kivi's label of nodes' names, which Kubernetes doesn't have: nodes have it then.
fn hostnames(of: &Description, root: &Field<'_>, found: &mut Vec<Note>) -> bool {
    let spread = of.templates.iter().flat_map(|template| {
        template.value["spec"]["topologySpreadConstraints"].as_array().into_iter().flatten()
    });
    let is_used = spread.into_iter().any(|one| one["topologyKey"] == KIVI_HOSTNAME);
    if is_used {
        let text = "pods are spread by the label hostname, which Kivi gives to each node, and so here; Kubernetes gives \
                    it kubernetes.io/hostname";
        found.push(notes::of(&root.get("nodesTypes"), text));
    }
    is_used
}

/// `minSize` to `maxSize`, or the same by the names of Kivi's talk; else `num`.
pub(super) fn range(of: &Field<'_>) -> Result<Range, InputError> {
    let number = of.get("num");
    let (min, max) = (of.any(&["minSize", "lowerBound"]), of.any(&["maxSize", "upperBound"]));
    let num = number.number_or(1)?;
    let range = Range { min: min.number_or(num.min(1))?, max: max.number_or(num)? };
    if range.max < range.min {
        return Err(max.wrong(format!("a number of {} or more", range.min)));
    }
    Ok(range)
}

/// `free`, or `proportion` with that of each type.
pub(super) fn scale(of: &Field<'_>, types: &[Field<'_>]) -> Result<Scale, InputError> {
    match of.value.as_str() {
        None if !of.is_there() => Ok(Scale::Free),
        Some("free") => Ok(Scale::Free),
        Some("proportion") => {
            let parts = types.iter().map(|one| one.any(&["proportion", "num"]).number_or(1));
            Ok(Scale::Proportion(parts.collect::<Result<_, _>>()?))
        }
        _ => Err(of.wrong("free or proportion")),
    }
}

/// A node: CPU in units of so many thousandths, memory in GiB, or both as quantities.
pub(super) fn node(of: &Field<'_>, name: &str, unit_milli: u64) -> Result<Node, InputError> {
    Ok(Node {
        name: name.to_owned(),
        labels: of.get("labels").labels()?,
        cpu_milli: cpu(&of.get("cpu"), unit_milli)?,
        memory_bytes: memory(&of.get("memory"))?,
        pods_max: PODS_MAX,
        ..Node::default()
    })
}

pub(super) fn cpu(of: &Field<'_>, unit_milli: u64) -> Result<u64, InputError> {
    let wanted = "a whole number of processors, or a quantity like \"4\" or \"500m\"";
    match of.value.as_str() {
        Some(text) => amounts::milli(text).ok_or_else(|| of.wrong(wanted)),
        None => {
            let milli = of.value.as_u64().and_then(|number| number.checked_mul(unit_milli));
            milli.ok_or_else(|| of.wrong(wanted))
        }
    }
}

pub(super) fn memory(of: &Field<'_>) -> Result<u64, InputError> {
    let wanted = "GiB, or a quantity like \"512Mi\"";
    match of.value.as_str() {
        Some(text) => amounts::bytes(text).ok_or_else(|| of.wrong(wanted)),
        None => {
            let bytes = of.value.as_u64().and_then(|gib| gib.checked_mul(GIB));
            bytes.ok_or_else(|| of.wrong(wanted))
        }
    }
}

/// Events and commands, with their modifiers.
pub(super) fn events(
    list: &Field<'_>,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    for item in list.items()? {
        let what = what(&item, into, found)?;
        into.occurrences.push(Occurrence {
            what,
            after_stable: item.any(&["after_stable", "afterStable"]).is_set()?,
            priority: item.get("priority").is_set()?,
            first: item.get("first").is_set()?,
        });
    }
    Ok(())
}

fn what(
    item: &Field<'_>,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<What, InputError> {
    let (name, para) = (item.get("name"), item.get("para"));
    let deployment = || intents::deployment(&para, into);
    Ok(match name.text()? {
        "eventCpuChange" => {
            What::CpuChange { deployment: deployment()?, unit_milli: CPU_UNIT_MILLI }
        }
        "podCpuChangeWithPattern" => What::CpuPattern,
        "kernelPanic" => What::KernelPanic,
        "nodeFailure" => What::NodeFailure { node: node_place(&para, into)? },
        "maintenance" => {
            let said = if para.value.is_object() { para.any(&["p", "num"]) } else { para.clone() };
            if para.value.is_object() {
                let text = "Kivi looks for it among the deployments, and ends with an error; here it is how many \
                            nodes are out at a time";
                found.push(notes::of(&said, text));
            }
            let at_a_time = said.number_or(1)?;
            What::Maintenance { at_a_time, every_seconds: What::MAINTENANCE_SECONDS }
        }
        "createTargetDeployment" => What::CreateTarget { deployment: created(&para, into)? },
        "createDeployment" => What::Create { written: written(&para, into, true)? },
        "applyDeployment" => What::Apply { written: written(&para, into, false)? },
        "scaleDeployment" => What::Scale { deployment: deployment()? },
        _ => {
            return Err(name.wrong(
                "one of eventCpuChange, podCpuChangeWithPattern, kernelPanic, nodeFailure, maintenance, \
                 createTargetDeployment, createDeployment, applyDeployment, scaleDeployment",
            ));
        }
    })
}

fn node_place(para: &Field<'_>, of: &Description) -> Result<usize, InputError> {
    let said = if para.value.is_object() { para.any(&["node", "i", "id"]) } else { para.clone() };
    let all = of.nodes.len();
    let by_name =
        said.value.as_str().and_then(|name| of.nodes.iter().position(|node| node.name == name));
    let by_number = || said.number::<usize>().ok().filter(|number| (1..=all).contains(number));
    let place = by_name.or_else(|| by_number().map(|number| number - 1));
    place.ok_or_else(|| said.wrong(format!("the number of a node, from 1 to {all}, or its name")))
}

/// A deployment that is not there before it is created.
fn created(para: &Field<'_>, into: &mut Description) -> Result<usize, InputError> {
    let deployment = intents::deployment(para, into)?;
    into.deployments[deployment].comes_later = true;
    Ok(deployment)
}

/// What a command writes: by its place in `deploymentTemplates`, or of a deployment that is named, with one replica
/// where nothing is said.
fn written(para: &Field<'_>, into: &mut Description, anew: bool) -> Result<usize, InputError> {
    let place = para.number::<usize>().ok().filter(|at| (1..=into.written.len()).contains(at));
    if let Some(place) = place {
        return Ok(place - 1);
    }
    let deployment = intents::deployment(para, into)?;
    let name = into.deployments[deployment].name.clone();
    into.written.push(crate::kivi::description::Written {
        deployment,
        name: if anew { format!("{name}-new") } else { name },
        replicas: para.any(&["replicas", "specReplicas"]).number_or(1)?,
    });
    Ok(into.written.len() - 1)
}
