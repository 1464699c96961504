//! What is asked of a scenario.

use std::sync::Arc;

use model::{
    Fairness, Property,
    cluster::{
        Action, Cluster, Objects, State, Store,
        events::{Monitor, Step},
        system::Part,
    },
};
use serde_json::Value;

use super::{file::PropertySpec, truth::Truth};
use crate::campaign::expression;

/// A property of a scenario.
#[derive(Debug)]
pub(in crate::commands::model) struct Asked {
    /// As a file says it.
    pub spec: PropertySpec,
    kind: Kind,
    truths: Vec<Arc<Truth>>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Always,
    Sometimes,
    Eventually,
    AgainAndAgain,
    LeadsTo,
    NeverAfter,
}

/// What is asked where the file asks nothing.
pub(in crate::commands::model) fn all_run() -> PropertySpec {
    PropertySpec {
        name: "all pods come to run and stay".to_owned(),
        eventually: Some(ALL_RUN.to_owned()),
        ..PropertySpec::default()
    }
}

/// Pods that are there run, and those that are wanted are there.
const ALL_RUN: &str = "objects.filter(o, o.kind == 'Pod' && !has(o.metadata.deletionTimestamp))\
    .all(p, has(p.status) && has(p.status.phase) && p.status.phase in ['Running', 'Succeeded']) && \
    objects.filter(o, o.kind in ['Deployment', 'ReplicaSet', 'ReplicationController', 'StatefulSet'])\
    .all(w, !has(w.spec.replicas) || w.spec.replicas == 0 || \
    has(w.status) && has(w.status.replicas) && w.status.replicas >= w.spec.replicas)";

/// All of them.
///
/// # Errors
/// What is wrong with one, with its place in the file.
pub(super) fn all(specs: &[PropertySpec], objects: &[Value]) -> Result<Vec<Asked>, String> {
    if specs.is_empty() {
        return all(&[all_run()], objects);
    }
    let read = |(at, spec): (usize, &PropertySpec)| {
        let is_twice = specs[..at].iter().any(|other| other.name == spec.name);
        let asked = match is_twice {
            true => Err("another property has this name".to_owned()),
            false => asked(spec, objects),
        };
        asked.map_err(|what| format!("spec.properties[{at}] ({}): {what}", spec.name))
    };
    specs.iter().enumerate().map(read).collect()
}

fn asked(spec: &PropertySpec, objects: &[Value]) -> Result<Asked, String> {
    let one =
        |field, text: &Option<String>, kind| text.clone().map(|text| (kind, vec![(field, text)]));
    let both = spec
        .leads_to
        .clone()
        .map(|two| (Kind::LeadsTo, vec![("leadsTo.from", two.from), ("leadsTo.to", two.to)]));
    let after = spec.never_after.clone().map(|two| {
        (Kind::NeverAfter, vec![("neverAfter.after", two.after), ("neverAfter.never", two.never)])
    });
    let all = [
        one("always", &spec.always, Kind::Always),
        one("sometimes", &spec.sometimes, Kind::Sometimes),
        one("eventually", &spec.eventually, Kind::Eventually),
        one("againAndAgain", &spec.again_and_again, Kind::AgainAndAgain),
        both,
        after,
    ];
    let mut all = all.into_iter().flatten();
    let (Some((kind, texts)), None) = (all.next(), all.next()) else {
        return Err(
            "it has one of always, sometimes, eventually, againAndAgain, leadsTo, neverAfter, and no more"
                .to_owned(),
        );
    };
    let start: Vec<_> = objects.iter().map(|object| std::sync::Arc::new(object.clone())).collect();
    let read = |(field, text): &(&str, String)| {
        let read = Truth::read(text).map_err(|what| format!("{field}: {what}"))?;
        match expression::over_objects(text, &start) {
            Ok(Value::Bool(_)) => Ok(Arc::new(read)),
            Ok(other) => Err(format!("{field}: it is neither true nor false, but {other}")),
            Err(what) => Err(format!("{field}: {what} (on what is stored at the start)")),
        }
    };
    let truths = texts.iter().map(read).collect::<Result<_, _>>()?;
    Ok(Asked { spec: spec.clone(), kind, truths })
}

impl Asked {
    /// Why it had no value in some state.
    pub fn failed(&self) -> Option<String> {
        self.truths.iter().find_map(|truth| truth.failed())
    }

    /// What has to be kept of a run to judge it.
    pub fn monitor(&self) -> Option<Box<dyn Monitor>> {
        let (Kind::NeverAfter, [after, never]) = (self.kind, &self.truths[..]) else { return None };
        let (after, never) = (after.clone(), never.clone());
        Some(Box::new(Later { name: self.spec.name.clone(), after, never }))
    }

    /// As the checker asks it.
    pub fn property<'a>(&'a self, cluster: &'a Cluster) -> Property<'a, Cluster> {
        let holds =
            |at: usize| move |state: &State| self.truths[at].of(&cluster.objects, state.store());
        let name = self.spec.name.clone();
        match self.kind {
            Kind::Always => Property::always(name, holds(0)),
            Kind::Sometimes => Property::sometimes(name, holds(0)),
            Kind::Eventually => Property::eventually_always(name, holds(0)),
            Kind::AgainAndAgain => Property::always_eventually(name, holds(0)),
            Kind::LeadsTo => Property::leads_to(name, holds(0), holds(1)),
            Kind::NeverAfter => Property::always(name, move |state: &State| {
                let monitors = cluster.setup.monitors.iter().zip(&state.environment.monitors);
                monitors.into_iter().all(|(monitor, kept)| {
                    monitor.name() != self.spec.name || *kept != Later::BROKEN
                })
            }),
        }
    }
}

/// Keeps whether something was, and whether something else came later.
#[derive(Debug)]
struct Later {
    name: String,
    after: Arc<Truth>,
    never: Arc<Truth>,
}

impl Later {
    const NOT_YET: u64 = 0;
    const SEEN: u64 = 1;
    const BROKEN: u64 = 2;

    fn seen(&self, objects: &Objects, store: &Store) -> u64 {
        if self.after.of(objects, store) { Later::SEEN } else { Later::NOT_YET }
    }
}

impl Monitor for Later {
    fn name(&self) -> &str {
        &self.name
    }

    fn begin(&self, objects: &Objects, store: &Store) -> u64 {
        self.seen(objects, store)
    }

    fn step(&self, objects: &Objects, kept: u64, step: &Step<'_>) -> u64 {
        match kept {
            Later::NOT_YET => self.seen(objects, step.after),
            Later::SEEN if self.never.of(objects, step.after) => Later::BROKEN,
            kept => kept,
        }
    }
}

/// What no run puts off for ever: each controller acts as long as it has something to do, nodes come back from
/// maintenance, answers arrive, and time passes.
pub(in crate::commands::model) fn fairness(cluster: &Cluster) -> Vec<Fairness<'static, Cluster>> {
    let clients = cluster.setup.clients.iter().enumerate().map(|(at, client)| {
        let acts = move |action: &Action| match action {
            Action::Acts(act) => usize::from(act.client) == at && act.fault.is_none(),
            _ => false,
        };
        Fairness::weak(client.name.to_string(), acts)
    });
    let events = cluster.setup.events.iter().enumerate().filter(|(_, event)| event.is_fair());
    let events = events.map(|(at, event)| {
        let happens = move |action: &Action| matches!(action, Action::Event { event, .. } if usize::from(*event) == at);
        // Each look of an autoscaler interrupts the rest for which an event may wait.
        Fairness::strong(event.name().to_owned(), happens)
    });
    let hears = |action: &Action| matches!(action, Action::Acts(act) if act.part == Part::Hears);
    let passes = |action: &Action| matches!(action, Action::Tick { .. });
    clients
        .chain(events)
        .chain([Fairness::weak("answers arrive", hears), Fairness::weak("time passes", passes)])
        .collect()
}
