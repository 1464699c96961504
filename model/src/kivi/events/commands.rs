//! What users do.

use serde_json::{Value, json};

use super::key;
use crate::{
    cluster::{
        Objects, Store,
        api::Api,
        events::{Choice, Event, Modifiers},
        objects::Stored,
    },
    kivi::{description::Description, manifests, occurrence::What},
};

/// How many pods more or less a user may want (`scaleDeployment`).
const SCALES: i64 = 3;

/// The command, once.
pub(super) fn of(of: &Description, what: &What, modifiers: Modifiers) -> Option<Box<dyn Event>> {
    let does = match what {
        What::CreateTarget { deployment } => {
            let deployment = &of.deployments[*deployment];
            let autoscaler = manifests::autoscaler(deployment);
            Does::Create(
                [Some(manifests::deployment(of, deployment)), autoscaler]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        }
        What::Create { written } => {
            Does::Create(vec![manifests::written(of, &of.written[*written])])
        }
        What::Apply { written } => {
            let written = &of.written[*written];
            Does::Apply(of.deployments[written.deployment].name.clone(), written.replicas)
        }
        What::Scale { deployment } => Does::Scale(of.deployments[*deployment].name.clone()),
        _ => return None,
    };
    Some(Box::new(Command { name: what.name(), does, modifiers }))
}

#[derive(Debug)]
struct Command {
    name: &'static str,
    does: Does,
    modifiers: Modifiers,
}

#[derive(Debug)]
enum Does {
    Create(Vec<Value>),
    Apply(String, u32),
    Scale(String),
}

impl Event for Command {
    fn name(&self) -> &str {
        self.name
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        if progress != 0 {
            return vec![];
        }
        match &self.does {
            Does::Create(manifests) => create(api, store, manifests).into_iter().collect(),
            Does::Apply(name, replicas) => {
                set(api, store, name, (*replicas).into(), "applies").into_iter().collect()
            }
            Does::Scale(name) => {
                let Some(now) = replicas(objects, store, name) else { return vec![] };
                let numbers = (-SCALES..=SCALES).filter(|by| *by != 0 && now + by >= 0);
                let choice = |by: i64| set(api, store, name, now + by, "scales");
                numbers.filter_map(choice).collect()
            }
        }
    }
}

fn create(api: &Api<'_>, store: &Store, manifests: &[Value]) -> Option<Choice> {
    let (mut after, mut names) = (store.clone(), Vec::new());
    for manifest in manifests {
        let (kind, name) = (manifest["kind"].as_str()?, manifest["metadata"]["name"].as_str()?);
        after = api.create(&after, &key(kind, name), manifest.clone()).ok()?.0;
        names.push(format!("{kind} {name}"));
    }
    let told = format!("user: creates {}", names.join(", ")).into();
    Some(Choice { told, store: after, progress: 1 })
}

fn deployment<'o>(objects: &'o Objects, store: &Store, name: &str) -> Option<&'o Stored> {
    store.get(objects, &key("Deployment", name))
}

/// `spec.replicas` of a deployment.
pub(in crate::kivi) fn replicas(objects: &Objects, store: &Store, name: &str) -> Option<i64> {
    deployment(objects, store, name)?.value()?["spec"]["replicas"].as_i64()
}

fn set(api: &Api<'_>, store: &Store, name: &str, to: i64, does: &str) -> Option<Choice> {
    let stored = deployment(api.objects, store, name)?;
    let mut value = stored.value()?.clone();
    value["spec"]["replicas"] = json!(to);
    let after = api.put(store, &stored.key, value);
    let told = format!("user: {does} Deployment {name} replicas={to}").into();
    Some(Choice { told, store: after, progress: 1 })
}
