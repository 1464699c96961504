//! The workload: what the author's samples need, then each sample made, changed and deleted.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value};

use super::sample::{Missing, Sample, called};

/// What the workload works on.
#[derive(Default)]
pub(super) struct Samples {
    /// What the author's samples have besides: what they need.
    pub others: Vec<Value>,
    /// Of each custom resource that the CRDs define, in their order: those of the author, else one by its schema.
    pub own: Vec<Sample>,
    /// Custom resources of which there is none.
    pub missing: Vec<Missing>,
    /// Which samples of the author are left out or refused, and why.
    pub refused: Vec<String>,
}

impl Samples {
    /// Of objects that are the same one, the first: folders with samples have alternatives.
    pub fn keep_first_of_each(&mut self) {
        let mut seen = BTreeSet::new();
        self.others.retain(|object| {
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
            let version = object["apiVersion"].as_str().unwrap_or_default();
            seen.insert((version.to_owned(), called(object), namespace.to_owned()))
        });
    }

    /// All objects that there are.
    pub fn objects(&self) -> impl Iterator<Item = &Value> + Clone {
        self.others.iter().chain(self.own.iter().map(|sample| &sample.object))
    }

    /// What the author has to look after, one sentence each.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        let missing = self.missing.iter().map(|missing| {
            let kind = missing.object["kind"].as_str().unwrap_or_default();
            format!("workload.yaml: no sample of {kind}: {}", missing.why)
        });
        let fixed = self.own.iter().filter(|sample| sample.change.is_none());
        let fixed = fixed.map(|sample| format!("workload.yaml: {}", no_change(sample)));
        let refused = self.refused.iter().map(|why| format!("workload.yaml: {why}"));
        refused.chain(missing).chain(fixed)
    }
}

/// Why there is none, with what the author can write instead.
fn no_change(sample: &Sample) -> String {
    format!(
        "no change of {}: no field of it has other values that are safe by its schema",
        sample.name()
    )
}

/// The workload file.
pub(super) fn text(samples: &Samples) -> anyhow::Result<String> {
    let is_empty = samples.others.is_empty() && samples.own.is_empty();
    let mut out = format!(
        "# What the user does, step by step. After each step that changes something, `settle` waits until all\n\
         # is quiet: end states are compared there.\n\
         apiVersion: trommel.dev/v1alpha1\nkind: Test\nmetadata: {{name: samples}}\nspec:\n  steps:{}\n",
        if is_empty { " []" } else { "" }
    );
    for object in &samples.others {
        step(&mut out, &format!("create {}", called(object)));
        out.push_str(&operation("apply", "resource", object)?);
    }
    for sample in &samples.own {
        step(&mut out, &format!("create {}", sample.name()));
        out.push_str(&operation("apply", "resource", &sample.object)?);
        out.push_str(SETTLE);
    }
    for missing in &samples.missing {
        let mut object = missing.object.clone();
        object["spec"] = "…".into();
        let _ = writeln!(
            out,
            "    # No sample of {}: {}. If users create it, write one:\n    # - name: create {}\n    #   try:\n    \
             #     - apply: {{resource: {object}}}\n    #     - settle: {{}}",
            object["kind"].as_str().unwrap_or_default(),
            missing.why,
            called(&missing.object),
        );
    }
    out.push_str(
        "    # Changes and deletions are where controllers go wrong: write what your users do.\n",
    );
    for sample in &samples.own {
        match &sample.change {
            Some(change) => {
                step(&mut out, &format!("change {} of {}", change.path, sample.name()));
                out.push_str(&operation("patch", "resource", &change.patch)?);
                out.push_str(SETTLE);
            }
            None => {
                let _ = writeln!(
                    out,
                    "    # {}:\n    # - name: change {}\n    #   try:\n    #     - patch: {{resource: {{…}}}}\n    \
                     #     - settle: {{}}",
                    capital(&no_change(sample)),
                    sample.name()
                );
            }
        }
    }
    for sample in samples.own.iter().rev() {
        step(&mut out, &format!("delete {}", sample.name()));
        out.push_str(&operation("delete", "ref", &reference(&sample.object))?);
        out.push_str(SETTLE);
    }
    Ok(out)
}

/// Waits until all has settled.
const SETTLE: &str = "        - settle: {}\n";

/// The head of a step. Names are texts of their own (`a: b` in one would be a map).
fn step(out: &mut String, name: &str) {
    let _ = writeln!(out, "    - name: {name}\n      try:");
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What a deletion calls the object.
fn reference(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let holders =
        [("apiVersion", object), ("kind", object), ("name", metadata), ("namespace", metadata)];
    let fields = holders.into_iter().filter_map(|(field, holder)| {
        holder.get(field).map(|value| (field.to_owned(), value.clone()))
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

/// One operation of a step on this object.
fn operation(name: &str, field: &str, object: &Value) -> anyhow::Result<String> {
    let mut out = format!("        - {name}:\n            {field}:\n");
    for line in serde_saphyr::to_string(object)?.lines() {
        let _ = writeln!(out, "              {line}");
    }
    Ok(out)
}
