//! Kivi's events and commands, as events of a cluster.

use controllers::Request;
use trace::ObjectKey;

use super::{
    description::Description,
    occurrence::{Occurrence, What},
    options::Mode,
};
use crate::cluster::{
    Store,
    api::Api,
    events::{Event, Modifiers, When},
    kinds::KindId,
    looks::Asked,
};

/// The name of what measures pods.
pub(super) const MEASURED: &str = "podCpuChangeWithPattern";

mod commands;
mod nodes;
mod usage;

pub(super) use commands::replicas;
pub(super) use nodes::is_broken;

/// All that may happen, and what measures pods where somebody asks.
pub(super) fn all(of: &Description, mode: Mode) -> Vec<Box<dyn Event>> {
    let mut all: Vec<Box<dyn Event>> = Vec::new();
    let measures = of.deployments.iter().any(|one| one.autoscaler.is_some());
    let changes = |one: &Occurrence| matches!(one.what, What::CpuChange { .. });
    if measures || of.occurrences.iter().any(changes) {
        all.push(Box::new(usage::Measured::of(of)));
    }
    for occurrence in &of.occurrences {
        let modifiers = modifiers(occurrence);
        match &occurrence.what {
            What::CpuPattern => {}
            What::CpuChange { deployment, unit_milli } => {
                let deployment = of.deployments[*deployment].name.clone();
                all.push(Box::new(usage::Change {
                    deployment,
                    unit_milli: *unit_milli,
                    modifiers,
                }));
            }
            What::KernelPanic => {
                all.push(Box::new(nodes::Panic { mode, modifiers }));
                all.push(Box::new(nodes::Recovery));
            }
            What::NodeFailure { node } => {
                let node = of.nodes[*node].name.clone();
                all.push(Box::new(nodes::Failure { node, mode, modifiers }));
            }
            What::Maintenance { at_a_time, every_seconds } => {
                let (at_a_time, every_seconds) = (*at_a_time, *every_seconds);
                all.push(Box::new(nodes::Maintenance { at_a_time, every_seconds, modifiers }));
                all.push(Box::new(nodes::Return));
            }
            command => all.extend(commands::of(of, command, modifiers)),
        }
    }
    all
}

/// When something may happen.
fn modifiers(of: &Occurrence) -> Modifiers {
    let when = match (of.first, of.after_stable) {
        (true, _) => When::First,
        (false, true) => When::Stable,
        (false, false) => When::Anytime,
    };
    Modifiers { when, is_urgent: of.priority }
}

/// The store after an eviction.
fn evict(api: &Api<'_>, store: &Store, key: &ObjectKey) -> Store {
    let (profile, key) = ("".into(), key.clone());
    let request = Request::Evict { key, profile, plugin: "drain", grace_seconds: None };
    api.carry_out(store, &Asked::of(request)).0
}

fn key(kind: &str, name: &str) -> ObjectKey {
    let kind = KindId::named(kind).expect("the type is served");
    ObjectKey::new(kind.resource(), super::manifests::NAMESPACE, name)
}

#[cfg(test)]
mod tests;
