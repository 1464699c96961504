//! What pods use: PodMetrics, as a metrics server keeps them.
//!
//! They are there at once, before anything else happens: what is measured late is not modelled. A pod uses what its
//! template says of pods of its age, and what it was made to use beyond that.

use controllers::object::Labels;
use serde_json::{Value, json};
use trace::Time;

use super::key;
use crate::{
    cluster::{
        Objects, Store,
        api::Api,
        events::{Choice, Event, Modifiers, When},
        kinds::KindId,
        objects::Stored,
        time::NOW,
    },
    kivi::{
        description::{Description, PodTemplate},
        pods::{self, Found},
    },
};

/// By how many units a pod's use may grow (`eventCpuChange`).
const UNITS: u64 = 6;
/// The annotation of PodMetrics with what a pod was made to use beyond its template, in thousandths of a processor.
const BEYOND: &str = "trommel.dev/beyond-template";

/// What pods of a template use.
#[derive(Debug)]
struct Usage {
    labels: Vec<(String, String)>,
    memory: Value,
    /// From so many seconds after its start on, thousandths of a processor; the first from the start on.
    steps: Vec<(u32, u64)>,
}

impl Usage {
    fn of(template: &PodTemplate) -> Usage {
        let labels = template.value["metadata"]["labels"].as_object().into_iter().flatten();
        let labels =
            labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or("").to_owned()));
        let requests = &template.value["spec"]["containers"][0]["resources"]["requests"];
        let asked = requests["cpu"].as_str().and_then(super::super::amounts::milli).unwrap_or(0);
        let steps = match template.usage.is_empty() {
            true => vec![(0, asked)],
            false => template.usage.clone(),
        };
        Usage { labels: labels.collect(), memory: requests["memory"].clone(), steps }
    }

    fn is_of(&self, labels: &Labels) -> bool {
        self.labels
            .iter()
            .all(|(key, value)| labels.get(key.as_str()).is_some_and(|found| **found == **value))
    }

    fn at(&self, age_seconds: u32) -> u64 {
        let begun = self.steps.iter().rev().find(|(from, _)| *from <= age_seconds);
        begun.or(self.steps.first()).map_or(0, |(_, milli)| *milli)
    }

    /// In how many seconds it changes.
    fn changes(&self, age_seconds: u32) -> Option<u32> {
        let next = self.steps.iter().find(|(from, _)| *from > age_seconds);
        next.map(|(from, _)| from - age_seconds)
    }
}

/// What pods use is measured.
#[derive(Debug)]
pub(super) struct Measured {
    usages: Vec<Usage>,
}

impl Measured {
    pub(super) fn of(of: &Description) -> Measured {
        Measured { usages: of.templates.iter().map(Usage::of).collect() }
    }

    fn running<'m, 's, 'o>(
        &'m self,
        objects: &'o Objects,
        store: &'s Store,
    ) -> impl Iterator<Item = (Found<'o>, &'m Usage)> + use<'s, 'm, 'o> {
        let running =
            pods::all(objects, store).filter(|found| found.is_live() && found.is_running());
        running.filter_map(|found| {
            let usage = self.usages.iter().find(|usage| usage.is_of(&found.object.meta.labels))?;
            Some((found, usage))
        })
    }

    fn wanted(known: Option<&Value>, (found, usage): (Found<'_>, &Usage)) -> Value {
        let name = &found.stored.key.name;
        let beyond = known.map_or(0, beyond);
        let milli = usage.at(age(&found)) + beyond;
        let labels: Vec<(&str, &str)> =
            found.object.meta.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
        let labels: serde_json::Map<String, Value> =
            labels.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
        json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {
                "name": name, "namespace": found.stored.key.namespace, "labels": labels,
                "annotations": {BEYOND: beyond.to_string()},
            },
            "timestamp": NOW.rfc3339(), "window": "0s",
            "containers": [{
                "name": "main", "usage": {"cpu": format!("{milli}m"), "memory": usage.memory},
            }],
        })
    }
}

/// Whether what a pod uses is what is measured.
fn is_measured(known: &Value, found: &Found<'_>, usage: &Usage) -> bool {
    let cpu = known["containers"][0]["usage"]["cpu"].as_str();
    let wanted = usage.at(age(found)) + beyond(known);
    cpu.and_then(|cpu| cpu.strip_suffix('m')?.parse().ok()) == Some(wanted)
}

fn beyond(metrics: &Value) -> u64 {
    let text = metrics["metadata"]["annotations"][BEYOND].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn age(found: &Found<'_>) -> u32 {
    let started: Time = found.pod.started.unwrap_or(NOW);
    u32::try_from(NOW.since(started).as_secs()).unwrap_or(u32::MAX)
}

impl Event for Measured {
    fn name(&self) -> &str {
        super::MEASURED
    }

    fn modifiers(&self) -> Modifiers {
        Modifiers::at(When::First)
    }

    fn due(&self, objects: &Objects, store: &Store, _progress: u64) -> Option<u32> {
        self.running(objects, store).filter_map(|(found, usage)| usage.changes(age(&found))).min()
    }

    fn choices(&self, api: &Api<'_>, store: &Store, _progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        let kind = KindId::named("PodMetrics").expect("the type is served");
        // Both are in the order of their names.
        let mut known = store.of_kind(objects, kind).map(|(_, metrics)| metrics).peekable();
        let mut after = store.clone();
        for (found, usage) in self.running(objects, store) {
            let name = &found.stored.key.name;
            while let Some(gone) = known.next_if(|metrics| metrics.key.name < *name) {
                after = api.delete(&after, &gone.key, None, None);
            }
            let known = known.next_if(|metrics| metrics.key.name == *name).and_then(Stored::value);
            if !known.is_some_and(|known| is_measured(known, &found, usage)) {
                let wanted = Measured::wanted(known, (found, usage));
                after = api.put(&after, &key("PodMetrics", name), wanted);
            }
        }
        for gone in known {
            after = api.delete(&after, &gone.key, None, None);
        }
        match after == *store {
            true => vec![],
            false => vec![Choice { told: "pods are measured".into(), store: after, progress: 0 }],
        }
    }
}

/// A pod uses more from now on, once.
#[derive(Debug)]
pub(super) struct Change {
    pub deployment: String,
    pub unit_milli: u64,
    pub modifiers: Modifiers,
}

impl Event for Change {
    fn name(&self) -> &str {
        "eventCpuChange"
    }

    fn modifiers(&self) -> Modifiers {
        self.modifiers
    }

    fn choices(&self, api: &Api<'_>, store: &Store, progress: u64) -> Vec<Choice> {
        let objects = api.objects;
        if progress != 0 {
            return vec![];
        }
        let mut pods: Vec<Found<'_>> = pods::live(objects, store, &self.deployment).collect();
        // Those on one node are alike: one stands for all.
        pods.sort_by(|one, other| one.pod.node.cmp(&other.pod.node));
        pods.dedup_by(|one, other| one.pod.node == other.pod.node);
        let changes =
            pods.into_iter().flat_map(|found| (1..=UNITS).map(move |units| (found, units)));
        changes.filter_map(|(found, units)| self.choice(api, store, &found, units)).collect()
    }
}

impl Change {
    fn choice(
        &self,
        api: &Api<'_>,
        store: &Store,
        found: &Found<'_>,
        units: u64,
    ) -> Option<Choice> {
        let name = &found.stored.key.name;
        let key = key("PodMetrics", name);
        let mut value = store.get(api.objects, &key)?.value()?.clone();
        let more = units * self.unit_milli;
        let usage = &mut value["containers"][0]["usage"]["cpu"];
        let milli = usage.as_str().and_then(super::super::amounts::milli).unwrap_or(0) + more;
        *usage = json!(format!("{milli}m"));
        let beyond = beyond(&value) + more;
        value["metadata"]["annotations"][BEYOND] = json!(beyond.to_string());
        let told = format!("Pod {name} uses {more}m of CPU more").into();
        Some(Choice { told, store: api.put(store, &key, value), progress: 1 })
    }
}
