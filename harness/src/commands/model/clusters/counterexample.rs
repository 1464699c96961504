//! A run of a model as a file for `trommel model confirm`: manifests, what users do, what is violated, and the writes of the
//! controllers.

mod writes;

use std::collections::BTreeMap;

use cluster::Controller;
use model::{
    Run,
    cluster::{
        Action, State, Store,
        events::When,
        kinds::node_key,
        setup::is_descheduler_policy,
        user::{Deed, UserEvent},
    },
};
use serde_json::{Value, json};
use trace::ObjectKey;

use super::super::{
    confirm::{
        After, Begins, Counterexample, Expectation, ProgramSpec, Step, Usage, can_be_judged,
    },
    scenario::{Asked, EventSpec, Scenario},
};
use crate::config::Located;

/// A run that violates what is asked, for the real programs.
///
/// # Errors
/// Real programs can't be asked for this property: why.
pub(super) fn of(
    scenario: &Scenario,
    asked: &Asked,
    run: &Run<State, Action>,
) -> Result<Counterexample, String> {
    if run.actions.iter().any(is_forced) {
        let what = "it needs old reads, crashes or refused requests, to which nothing forces the real programs";
        return Err(what.to_owned());
    }
    // How the cluster came to rest is of no interest where the first event waits for that.
    let rests_until = rests_until(scenario, run);
    Ok(Counterexample {
        programs: Located::new(programs(scenario)?),
        objects: scenario.manifests.iter().map(|one| Located::new(timeless(one))).collect(),
        begins: if rests_until > 0 { Begins::Stable } else { Begins::AtOnce },
        usage: scenario.usage.clone(),
        steps: steps(scenario, run).into_iter().map(Located::new).collect(),
        expect: vec![Located::new(expectation(asked)?)],
        writes: writes::of(scenario, run, rests_until).into_iter().map(Located::new).collect(),
        limits: Default::default(),
    })
}

/// How many actions of the run only bring the cluster to rest, before the first event of users; 0 if that does not wait
/// for it.
fn rests_until(scenario: &Scenario, run: &Run<State, Action>) -> usize {
    let event = |(at, action): (usize, &Action)| match action {
        Action::Event { event, .. } => Some((at, &scenario.events.get(usize::from(*event))?.0)),
        _ => None,
    };
    let first = run.actions.iter().enumerate().find_map(event);
    first.filter(|(_, event)| waits_for_rest(event)).map_or(0, |(at, _)| at)
}

/// Whether something happens that only a model can make happen.
fn is_forced(action: &Action) -> bool {
    match action {
        Action::Acts(act) => act.behind.is_some() || act.fault.is_some(),
        Action::Behind { .. } | Action::Crash { .. } | Action::Restart { .. } => true,
        _ => false,
    }
}

fn waits_for_rest(event: &UserEvent) -> bool {
    matches!(event.modifiers.when, When::Stable | When::Settled)
}

/// The programs in which the model's controllers are.
fn programs(scenario: &Scenario) -> Result<BTreeMap<String, ProgramSpec>, String> {
    let mut programs = BTreeMap::new();
    for client in &scenario.cluster.setup.clients {
        let (name, config) = match client.controller {
            Controller::Kubelet => continue,
            Controller::Scheduler => ("kube-scheduler", None),
            Controller::Descheduler => ("descheduler", Some(policy(scenario)?)),
            _ => ("kube-controller-manager", None),
        };
        programs.insert(name.to_owned(), ProgramSpec { flags: vec![], config });
    }
    Ok(programs)
}

/// The descheduler's, which its ConfigMap holds as text.
fn policy(scenario: &Scenario) -> Result<Value, String> {
    let holds = |object: &&Value| is_descheduler_policy(object);
    let map = scenario.manifests.iter().find(holds).ok_or("the descheduler has no policy")?;
    let text = map["data"].as_object().and_then(|data| data.values().find_map(Value::as_str));
    serde_saphyr::from_str(text.unwrap_or_default())
        .map_err(|error| format!("the descheduler's policy: {error}"))
}

/// A node's conditions without their times, which are the model's.
fn timeless(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Node" {
        let conditions = object["status"]["conditions"].as_array_mut();
        for condition in conditions.into_iter().flatten().filter_map(Value::as_object_mut) {
            condition.retain(|field, _| !field.ends_with("Time"));
        }
    }
    object
}

fn expectation(asked: &Asked) -> Result<Expectation, String> {
    let spec = &asked.spec;
    if spec.sometimes.is_some() || spec.again_and_again.is_some() {
        let what = "`sometimes` and `againAndAgain` can't be seen on one run of real programs";
        return Err(format!("{}: {what}", spec.name));
    }
    let expectation = Expectation {
        name: Some(spec.name.clone()),
        always: spec.always.clone(),
        eventually: spec.eventually.clone(),
        leads_to: spec.leads_to.clone(),
        never_after: spec.never_after.clone(),
        ..Expectation::default()
    };
    can_be_judged(&expectation).map(|()| expectation)
}

/// What users do and nodes suffer on the run.
fn steps(scenario: &Scenario, run: &Run<State, Action>) -> Vec<Step> {
    let mut all = Vec::new();
    for (at, action) in run.actions.iter().enumerate() {
        let Action::Event { event, .. } = action else { continue };
        // The metrics server's is no user's.
        let Some((event, said)) = scenario.events.get(usize::from(*event)) else { continue };
        let stores = (run.states[at].store(), run.states[at + 1].store());
        let mut steps = of_event(scenario, (event, said), stores);
        if let Some(first) = steps.first_mut() {
            first.after = waits_for_rest(event).then_some(After::Stable);
        }
        all.extend(steps);
    }
    all
}

/// An event by the two stores around it: a deed that can be done in several ways is known by what it left.
fn of_event(
    scenario: &Scenario,
    (event, said): (&UserEvent, &EventSpec),
    (before, after): (&Store, &Store),
) -> Vec<Step> {
    let value = |store: &Store, key: &ObjectKey| {
        store.get(&scenario.cluster.objects, key).and_then(|stored| stored.value()).cloned()
    };
    let node = |name: &str| value(after, &node_key(name));
    let unschedulable = |store: &Store, name: &str| {
        let node = value(store, &node_key(name));
        node.is_some_and(|node| node["spec"]["unschedulable"] == true)
    };
    let step = match &event.deed {
        Deed::Apply(_) => {
            let apply = |object: &Value| Step { apply: Some(object.clone()), ..Step::default() };
            return said.apply.iter().flatten().map(apply).collect();
        }
        Deed::Patch(key, ways) => {
            let stored = value(after, key).unwrap_or_default();
            let way = ways.iter().find(|way| has(&stored, way)).cloned().unwrap_or_default();
            Step { patch: Some(named(&stored, &way)), ..Step::default() }
        }
        Deed::Delete(key) => {
            let gone = value(before, key).unwrap_or_default();
            Step { delete: Some(named(&gone, &json!({}))), ..Step::default() }
        }
        Deed::NodeFails(name) | Deed::NodeReturns(name) => {
            let node = timeless(&node(name).unwrap_or_default());
            let conditions = json!({"status": {"conditions": node["status"]["conditions"]}});
            Step { patch_status: Some(named(&node, &conditions)), ..Step::default() }
        }
        Deed::Drain(name) => Step { drain: Some(name.clone()), ..Step::default() },
        Deed::Maintenance(names) => {
            let changed =
                |name: &&String| unschedulable(before, name) != unschedulable(after, name);
            match names.iter().find(changed) {
                // A drain tries again by itself.
                None => return vec![],
                Some(name) if unschedulable(after, name) => {
                    Step { drain: Some(name.clone()), ..Step::default() }
                }
                Some(name) => uncordons(&node(name).unwrap_or_default()),
            }
        }
        Deed::Uncordon(name) => uncordons(&node(name).unwrap_or_default()),
        Deed::Usage { labels, usages } => {
            let told: Vec<&Value> = after
                .changed_since(&scenario.cluster.objects, before)
                .into_iter()
                .filter_map(|(_, after)| after?.value())
                .collect();
            let uses =
                |usage: &&Value| told.iter().any(|told| told["containers"][0]["usage"] == **usage);
            let usage = usages.iter().find(uses).cloned().unwrap_or_default();
            let text = |field: &str| usage[field].as_str().unwrap_or("0").to_owned();
            let pods = labels.iter().cloned().collect();
            let uses = Usage { pods, cpu: text("cpu"), memory: text("memory") };
            Step { uses: Some(vec![uses]), ..Step::default() }
        }
    };
    vec![step]
}

fn uncordons(node: &Value) -> Step {
    let patch = named(node, &json!({"spec": {"unschedulable": null}}));
    Step { patch: Some(patch), ..Step::default() }
}

/// Fields, with what names their object.
fn named(object: &Value, fields: &Value) -> Value {
    let mut named = fields.clone();
    for field in ["apiVersion", "kind"] {
        named[field] = object[field].clone();
    }
    for field in ["namespace", "name"] {
        if !object["metadata"][field].is_null() {
            named["metadata"][field] = object["metadata"][field].clone();
        }
    }
    named
}

/// Whether an object has all that a merge patch says.
fn has(object: &Value, patch: &Value) -> bool {
    match patch.as_object() {
        Some(fields) => fields.iter().all(|(field, value)| has(&object[field], value)),
        None => object == patch,
    }
}

#[cfg(test)]
mod tests;
