//! A directory of logs of a running cluster: below `setup/` files whose names hold `getpod`, `getdeployment` (JSON),
//! `describenode` (text), `toppod`, `gethpa` (tables); and `user_input/intents.json`.
//!
//! Pods of `kube-system` and `local-path-storage` are no pods of deployments, as in Kivi; what they take of nodes is
//! taken. A pod is its owner's, not, as in Kivi, that of a deployment whose name its own begins with.
//!
//! The cluster can grow from there: what is equal but in name and place is of one type.

use serde_json::{Value, json};

use super::{
    File, Growing, Input, InputError, Note, configs, document::Document, field::Field,
    growing::Replicas, intents, manifests, notes, table,
};
use crate::kivi::{
    amounts,
    description::{Deployment, Description, PodTemplate},
    sizes::{Bounds, Range, Scale},
};

mod nodes;
mod types;

const SKIPPED: [&str; 2] = ["kube-system", "local-path-storage"];

/// Reads a directory of logs.
///
/// # Errors
/// A file that is missing or not of its form, and a field that is not as it should be.
pub fn read(files: &[File<'_>]) -> Result<Input, InputError> {
    let of_name = |part: &'static str| {
        let is = |file: &&File<'_>| {
            file.path.strip_prefix("setup/").is_some_and(|name| name.to_lowercase().contains(part))
        };
        files.iter().find(is)
    };
    let needed = |part: &'static str, file: &'static str, what: &'static str| {
        of_name(part).ok_or(InputError::Missing { directory: "logs", file, what })
    };
    let (mut of, mut found) = (Description::default(), Vec::new());
    of.nodes =
        nodes::read(needed("describenode", "setup/*describenode*", "`kubectl describe node`")?)?;
    let what = "`kubectl get deployment -A -o json`";
    let document = Document::read(needed("getdeployment", "setup/*getdeployment*", what)?)?;
    for item in items(&document.root())? {
        deployment(&item, &mut of, &mut found)?;
    }
    let what = "`kubectl get pod -A -o json`";
    let document = Document::read(needed("getpod", "setup/*getpod*", what)?)?;
    for item in items(&document.root())? {
        pod(&item, &mut of, &mut found)?;
    }
    if let Some(file) = of_name("gethpa") {
        autoscalers(file, &mut of)?;
    }
    if let Some(file) = of_name("toppod") {
        used(file, &mut of)?;
    }
    let path = "user_input/intents.json";
    let asked = files.iter().find(|file| file.path == path);
    let missing = InputError::Missing { directory: "logs", file: path, what: "what must hold" };
    intents::of_file(asked.ok_or(missing)?, &mut of, &mut found)?;
    found.sort();
    Ok(Input { growing: Some(growing(&of)), description: of, notes: found })
}

/// How the cluster grows: from one node of each type on, and one pod of each deployment.
fn growing(of: &Description) -> Growing {
    let any = Range { min: 1, max: u32::MAX };
    let (nodes, deployments) = (types::of_nodes(of), types::of_deployments(of));
    let bounds = Bounds {
        nodes: vec![any; nodes.len()],
        deployments: vec![any; deployments.len()],
        pods_per_node_max: configs::PODS_PER_NODE,
        nodes_scale: Scale::Free,
        deployments_scale: Scale::Free,
    };
    let place = |deployment: usize| deployments.iter().position(|of| of.contains(&deployment));
    let replicas = (0..of.deployments.len())
        .map(|at| Replicas { place: place(at).unwrap_or(0), ..Replicas::default() });
    let firsts = nodes.iter().map(|members| of.nodes[members[0]].clone());
    let types = Description { nodes: firsts.collect(), ..of.clone() };
    Growing { bounds, replicas: replicas.collect(), types }
}

/// The items of a List, or the one object.
fn items<'a>(root: &Field<'a>) -> Result<Vec<Field<'a>>, InputError> {
    let list = root.get("items");
    match list.is_there() {
        true => list.items(),
        false => Ok(vec![root.clone()]),
    }
}

fn is_skipped(item: &Field<'_>) -> bool {
    let namespace = item.get("metadata").get("namespace");
    namespace.value.as_str().is_some_and(|name| SKIPPED.contains(&name))
}

fn deployment(
    item: &Field<'_>,
    of: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    if is_skipped(item) {
        return Ok(());
    }
    let spec = item.get("spec");
    notes::of_deployment(&spec, found)?;
    let name = item.get("metadata").get("name").text()?.to_owned();
    of.deployments.push(Deployment {
        name,
        replicas: spec.get("replicas").number_or(1)?,
        template: of.templates.len(),
        strategy: Some(spec.get("strategy").value.clone()).filter(|one| !one.is_null()),
        ..Deployment::default()
    });
    let value = manifests::with_defaults(spec.get("template").value);
    of.templates.push(PodTemplate { value, usage: vec![] });
    Ok(())
}

/// A pod runs on its node, and is part of what is taken there.
fn pod(item: &Field<'_>, of: &mut Description, found: &mut Vec<Note>) -> Result<(), InputError> {
    if is_skipped(item) {
        return Ok(());
    }
    let (metadata, spec) = (item.get("metadata"), item.get("spec"));
    let node = spec.get("nodeName");
    let Some(on) = node.value.as_str() else { return Ok(()) };
    let names: Vec<&str> = of.nodes.iter().map(|node| &*node.name).collect();
    let expected = format!("a node of describenode: {}", names.join(", "));
    let at =
        of.nodes.iter().position(|node| node.name == on).ok_or_else(|| node.wrong(expected))?;
    let owners = metadata.get("ownerReferences").items()?;
    let sets = owners.iter().filter_map(|owner| owner.get("name").value.as_str());
    let is_owner = |deployment: &Deployment, set: &str| {
        // A ReplicaSet's name is its deployment's and a hash.
        set.strip_prefix(&*deployment.name)
            .and_then(|rest| rest.strip_prefix('-'))
            .is_some_and(|hash| !hash.contains('-'))
    };
    let mut sets = sets.filter_map(|set| of.deployments.iter().position(|one| is_owner(one, set)));
    let Some(owner) = sets.next() else {
        found.push(notes::of(
            &metadata.get("name"),
            "a pod of no deployment: what it asks for is taken",
        ));
        return Ok(());
    };
    let template = &of.templates[of.deployments[owner].template].value;
    let (cpu, memory) = asked(template);
    let taken = &mut of.nodes[at].taken;
    *taken = (taken.0.saturating_sub(cpu), taken.1.saturating_sub(memory));
    of.deployments[owner].placed.push(at);
    Ok(())
}

/// What the containers of a template ask for, in thousandths of a processor and bytes.
fn asked(template: &Value) -> (u64, u64) {
    let containers = template["spec"]["containers"].as_array().into_iter().flatten();
    containers.fold((0, 0), |sum, container| {
        let requests = &container["resources"]["requests"];
        let text = |name: &str| requests[name].as_str();
        let cpu = text("cpu").and_then(amounts::milli).unwrap_or(0);
        (sum.0 + cpu, sum.1 + text("memory").and_then(amounts::bytes).unwrap_or(0))
    })
}

/// `kubectl get hpa`: NAME, REFERENCE, TARGETS, MINPODS, MAXPODS.
fn autoscalers(file: &File<'_>, of: &mut Description) -> Result<(), InputError> {
    for row in table::rows(file) {
        let wrong = |field: &str, expected: &str, found: &str| InputError::Field {
            file: file.path.to_owned(),
            field: format!("line {}, {field}", row.line),
            expected: expected.to_owned(),
            found: found.to_owned(),
        };
        let number = |columns: &[&str]| {
            let text = row.get(file, columns)?;
            text.parse::<u32>().map_err(|_| wrong(columns[0], "a whole number", text))
        };
        let reference = row.get(file, &["REFERENCE"])?;
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let (min, max) = (number(&["MINPODS", "MIN"])?, number(&["MAXPODS", "MAX"])?);
        let targets = row.get(file, &["TARGETS", "TARGET"])?;
        let metrics = metrics(targets)
            .ok_or_else(|| wrong("TARGETS", "targets like `50%/91%` or `cpu: 50%/91%`", targets))?;
        let deployment = of.deployments.iter_mut().find(|one| one.name == name);
        let deployment = deployment
            .ok_or_else(|| wrong("REFERENCE", "a Deployment of getdeployment", reference))?;
        deployment.autoscaler =
            Some(json!({"minReplicas": min, "maxReplicas": max, "metrics": metrics}));
    }
    Ok(())
}

/// Of `cpu: 50%/91%, memory: 3%/80%`; without a name it is CPU.
fn metrics(targets: &str) -> Option<Vec<Value>> {
    let one = |text: &str| {
        let (name, shares) = text.rsplit_once(':').unwrap_or(("cpu", text));
        let target = shares.rsplit('/').next()?.trim();
        let target = match target.strip_suffix('%') {
            Some(percent) => {
                json!({"type": "Utilization", "averageUtilization": percent.parse::<u32>().ok()?})
            }
            None => json!({"type": "AverageValue", "averageValue": target}),
        };
        let resource = json!({"name": name.trim(), "target": target});
        Some(json!({"type": "Resource", "resource": resource}))
    };
    targets.split(',').map(str::trim).filter(|text| !text.is_empty()).map(one).collect()
}

/// `kubectl top pod`: what pods use from now on, the average over those of a deployment.
fn used(file: &File<'_>, of: &mut Description) -> Result<(), InputError> {
    let mut sums = vec![(0, 0); of.deployments.len()];
    for row in table::rows(file) {
        let (name, cpu) = (row.get(file, &["NAME"])?, row.get(file, &["CPU"])?);
        let milli = amounts::milli(cpu).ok_or_else(|| InputError::Field {
            file: file.path.to_owned(),
            field: format!("line {}, CPU", row.line),
            expected: "a quantity like 250m".to_owned(),
            found: cpu.to_owned(),
        })?;
        // Two parts are random: the ReplicaSet's and the pod's own.
        let deployment = name.rsplitn(3, '-').nth(2);
        let at = of.deployments.iter().position(|one| Some(&*one.name) == deployment);
        if let Some((sum, count)) = at.and_then(|at| sums.get_mut(at)) {
            (*sum, *count) = (*sum + milli, *count + 1);
        }
    }
    for (deployment, (sum, count)) in of.deployments.iter().zip(sums) {
        if count > 0 {
            of.templates[deployment.template].usage = vec![(0, u64::div_ceil(sum, count))];
        }
    }
    Ok(())
}
