//! What pods wait for before they are started: volumes, and what the environments of their containers name.
//!
//! While containers lack something, those that lack nothing run, as upstream's do. Simplification: they end, and are
//! killed by probes, only once all run, and from then on the age of the one that was started last counts for all. Who
//! could notice: whoever has a container that ends beside one that can't start.

use std::time::Duration;

use trace::{GroupResource, ObjectKey, Time};

use super::life::Life;
use crate::{
    controller::{Affected, Change},
    data,
    object::{Body, Object, Text},
    pod::{Container, Pod},
    request::{Beside, PodState},
    view::View,
    volumes::{self, ephemeral},
};

/// Why a container waits whose environment can't be made (`ErrCreateContainerConfig`).
pub const CONFIG_ERROR: &str = "CreateContainerConfigError";

/// What it waits for before anything of it is started: none if for nothing, otherwise the containers that lack something
/// and what, or an empty list where its volumes are missing.
pub(super) fn lacks(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    pod: &Pod,
) -> Option<Vec<(Text, Text)>> {
    let needs = pod.needs.as_ref();
    let unmounted = needs.is_some_and(|needs| needs.volumes_lack(view, &key.namespace).is_some());
    if unmounted || !has_claims(view, key, object, pod) {
        return Some(vec![]);
    }
    containers_lack(view, key, pod)
}

/// The containers that can't be started for what their environment names, and why; none if there are none.
pub(super) fn containers_lack(
    view: &View,
    key: &ObjectKey,
    pod: &Pod,
) -> Option<Vec<(Text, Text)>> {
    let lacks = pod.needs.as_ref()?.containers_lack(view, &key.namespace);
    (!lacks.is_empty()).then_some(lacks)
}

/// Whether all its claims are bound, and those that are made for it are its own.
fn has_claims(view: &View, key: &ObjectKey, object: &Object, pod: &Pod) -> bool {
    pod.claims.iter().all(|(_, name)| {
        let claim = ObjectKey::new(volumes::claims(), &key.namespace, name);
        let Some(found) = view.get(&claim) else { return false };
        let bound = matches!(&found.body, Body::Claim(claim) if *claim.phase == *"Bound");
        bound && (!pod.is_ephemeral(name) || ephemeral::is_for(&found.meta, &object.meta))
    })
}

/// What is to be told of a pod that lacks something; if that is told already, after how long there is something else to
/// tell. Those that wait were started again so often, and those that run beside them so often.
pub(super) fn wait(
    pod: &Pod,
    lacks: Vec<(Text, Text)>,
    life: &Life,
    (waiting, running): (i64, i64),
    now: Time,
) -> Result<PodState, Option<Duration>> {
    let is_init = |name: &str| pod.needs.as_ref().is_some_and(|needs| needs.is_init(name));
    let all_wait = lacks.is_empty() || lacks.iter().any(|(name, _)| is_init(name));
    let since = others(pod, &lacks).filter_map(|one| one.started).max().filter(|_| !all_wait);
    let age = since.map_or(Duration::ZERO, |since| now.since(since));
    let beside = (!all_wait).then(|| Beside {
        started: life.is_started(age),
        ready: life.is_ready(age),
        restarts: running,
    });
    if is_told(pod, &lacks, beside) {
        return Err(since.and_then(|_| life.next(age)).map(|moment| moment - age));
    }
    Ok(PodState::Waits { lacks, restarts: waiting, beside })
}

/// The containers that lack nothing, as far as the status tells of them.
fn others<'p>(pod: &'p Pod, lacks: &'p [(Text, Text)]) -> impl Iterator<Item = &'p Container> {
    pod.containers.iter().filter(move |one| lacks.iter().all(|(name, _)| *name != one.name))
}

/// Whether its status says already what it waits for, and what runs meanwhile.
fn is_told(pod: &Pod, lacks: &[(Text, Text)], beside: Option<Beside>) -> bool {
    let as_told = |one: &Container, beside: &Beside| {
        one.started.is_some() && (one.is_started, one.is_ready) == (beside.started, beside.ready)
    };
    if beside.is_some_and(|beside| !others(pod, lacks).all(|one| as_told(one, &beside))) {
        return false;
    }
    let sandbox = if lacks.is_empty() { "False" } else { "True" };
    let all = || pod.init_containers.iter().chain(&pod.containers);
    let tells = |(name, why): &(Text, Text)| {
        let of = all().find(|container| container.name == *name);
        of.and_then(|container| container.waits.as_ref())
            .is_some_and(|(reason, message)| **reason == *CONFIG_ERROR && message == why)
    };
    pod.conditions.contains(&("PodReadyToStartContainers".into(), sandbox.into()))
        && lacks.iter().all(tells)
        && all().filter(|container| is_config_error(container)).count() == lacks.len()
}

pub(super) fn is_config_error(container: &Container) -> bool {
    container.waits.as_ref().is_some_and(|(reason, _)| **reason == *CONFIG_ERROR)
}

/// The pods that wait for what has changed; none where nobody waits for anything of the kind.
pub(super) fn keys_affected(view: &View, change: &Change<'_>) -> Option<Vec<Affected>> {
    let resource = &change.key.resource;
    if *resource == volumes::claims() {
        let uses = |pod: &Pod| pod.claims.iter().any(|(_, claim)| *claim == change.key.name);
        return Some(pods(view, change, &|pod| *pod.phase == *"Pending" && uses(pod)));
    }
    if *resource != data::config_maps() && *resource != data::secrets() {
        return None;
    }
    let keys = |object: Option<&Object>| object.and_then(|object| object.body.keys().cloned());
    if change.after.is_none() || keys(change.before) == keys(change.after) {
        return Some(vec![]);
    }
    let starts = |pod: &Pod| {
        *pod.phase == *"Pending" || !pod.has_ended() && pod.containers.iter().any(is_config_error)
    };
    let uses = |pod: &Pod| pod.needs.as_ref().is_some_and(|needs| needs.name(change.key));
    Some(pods(view, change, &|pod| starts(pod) && uses(pod)))
}

/// Of the pods on nodes in the namespace of what has changed, those of which this holds.
fn pods(view: &View, change: &Change<'_>, which: &dyn Fn(&Pod) -> bool) -> Vec<Affected> {
    let all = view.list(&GroupResource::new("", "pods"), &change.key.namespace);
    let waiting = all.filter(
        |(_, object)| matches!(&object.body, Body::Pod(pod) if !pod.node.is_empty() && which(pod)),
    );
    waiting.map(|(key, _)| Affected::now(&key)).collect()
}
