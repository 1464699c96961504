//! `yaml/*.yaml`: Kubernetes' own manifests.

use serde_json::{Value, json};

use super::{File, InputError, Note, field::Field, notes};
use crate::{
    cluster::setup::key_of,
    kivi::description::{Deployment, Description, PodTemplate},
};

/// Reads manifests into a description: deployments with their pods and autoscalers, and what else models know.
pub(super) fn read(
    files: &[File<'_>],
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    let mut autoscalers = Vec::new();
    let mut documents = Vec::new();
    for file in files {
        let all: Vec<Value> = serde_saphyr::from_multiple(file.text).map_err(|error| {
            InputError::Format { file: file.path.to_owned(), why: error.to_string() }
        })?;
        documents.extend(all.into_iter().map(|document| (file.path, document)));
    }
    for (file, document) in documents.iter().filter(|(_, document)| !document.is_null()) {
        let root = Field::root(file, document);
        match root.get("kind").text()? {
            "Deployment" => deployment(&root, into, found)?,
            "HorizontalPodAutoscaler" => autoscalers.push(root),
            kind => other(&root, kind, into, found)?,
        }
    }
    for root in autoscalers {
        autoscaler(&root, into, found)?;
    }
    Ok(())
}

fn deployment(
    root: &Field<'_>,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    let spec = root.get("spec");
    notes::of_deployment(&spec, found)?;
    let name = root.get("metadata").get("name").text()?.to_owned();
    let template = spec.get("template");
    template.get("metadata").get("labels").object()?;
    if template.get("spec").get("containers").items()?.is_empty() {
        return Err(template.get("spec").get("containers").wrong("a container"));
    }
    let replicas = spec.get("replicas");
    if !replicas.is_there() {
        let text = "nothing is said of it: there is one pod, and whoever applies this again makes it one again";
        found.push(notes::of(&replicas, text));
    }
    into.deployments.push(Deployment {
        name,
        replicas: replicas.number_or(1)?,
        template: into.templates.len(),
        strategy: Some(spec.get("strategy").value.clone()).filter(|one| !one.is_null()),
        ..Deployment::default()
    });
    into.templates.push(PodTemplate { value: with_defaults(template.value), usage: vec![] });
    Ok(())
}

/// A pod template with what an API server fills in.
pub(super) fn with_defaults(template: &Value) -> Value {
    let mut template = template.clone();
    let spec = &mut template["spec"];
    for (field, value) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("schedulerName", json!("default-scheduler")),
    ] {
        if spec[field].is_null() {
            spec[field] = value;
        }
    }
    template
}

/// The autoscaler, of the deployment that it names.
fn autoscaler(
    root: &Field<'_>,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    let spec = root.get("spec");
    notes::of_autoscaler(&spec, found)?;
    let target = spec.get("scaleTargetRef");
    if target.get("kind").text()? != "Deployment" {
        return Err(target.get("kind").wrong("Deployment"));
    }
    let name = target.get("name");
    let names: Vec<&str> = into.deployments.iter().map(|one| &*one.name).collect();
    let expected = format!("the name of a Deployment in yaml/: {}", names.join(", "));
    let named = name.text()?;
    spec.get("maxReplicas").number::<u32>()?;
    let deployment = into.deployments.iter_mut().find(|one| one.name == named);
    let deployment = deployment.ok_or_else(|| name.wrong(expected))?;
    let mut value = spec.value.clone();
    if value["minReplicas"].is_null() {
        value["minReplicas"] = json!(1);
    }
    deployment.autoscaler = Some(value);
    Ok(())
}

/// What else a cluster holds.
fn other(
    root: &Field<'_>,
    kind: &str,
    into: &mut Description,
    found: &mut Vec<Note>,
) -> Result<(), InputError> {
    let name = root.get("metadata").get("name").text()?;
    if key_of(root.value).is_err() {
        let text = format!("{kind} {name} is left out: no controller of a model reads it");
        found.push(notes::of(&root.get("kind"), text));
        return Ok(());
    }
    let mut object = root.value.clone();
    if kind == "Pod" {
        notes::of_pods(&root.get("spec"), found)?;
        object = with_defaults(&object);
    } else {
        found.push(notes::of(
            &root.get("kind"),
            format!("Kivi leaves {kind} {name} unread; here it counts"),
        ));
    }
    into.others.push(object);
    Ok(())
}
