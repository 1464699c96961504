//! The workload: what the author's samples need, then each sample made, changed and deleted.

use std::fmt::Write as _;

use serde_json::Value;

use super::sample::Sample;

/// What the workload works on.
pub(super) struct Samples {
    /// What the author's samples have besides: what they need.
    pub others: Vec<Value>,
    /// Of each custom resource that the CRDs define, in their order: those of the author, else one by its schema.
    pub own: Vec<Sample>,
}

/// The workload file.
pub(super) fn text(samples: &Samples) -> anyhow::Result<String> {
    let mut out = String::from(
        "# What the user does, step by step. After each step that changes something, `settle` waits until all\n\
         # is quiet: end states are compared there.\n\
         apiVersion: trommel.dev/v1alpha1\nkind: Test\nmetadata: {name: samples}\nspec:\n  steps:\n",
    );
    for object in &samples.others {
        let kind = object["kind"].as_str().unwrap_or_default();
        let _ = writeln!(out, "    - name: create the {kind} of the samples\n      try:");
        out.push_str(&operation("apply", "resource", object)?);
    }
    for sample in &samples.own {
        let kind = &sample.kind;
        let article = if kind.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
        let _ = writeln!(out, "    - name: create {article} {kind}\n      try:");
        for doubt in &sample.doubts {
            let _ = writeln!(out, "        # check {doubt}");
        }
        out.push_str(&operation("apply", "resource", &sample.object)?);
        out.push_str(SETTLE);
    }
    out.push_str(
        "    # Changes and deletions are where controllers go wrong: write what your users do.\n",
    );
    for sample in &samples.own {
        let kind = &sample.kind;
        match &sample.change {
            Some((patch, path)) => {
                let _ = writeln!(out, "    - name: change {path} of the {kind}\n      try:");
                out.push_str(&operation("patch", "resource", patch)?);
                out.push_str(SETTLE);
            }
            None => {
                let _ = writeln!(out, "    # - name: change the {kind}\n    #   try:");
                out.push_str("    #     - patch: {resource: {…}}\n    #     - settle: {}\n");
            }
        }
    }
    for sample in samples.own.iter().rev() {
        let _ = writeln!(out, "    - name: delete the {}\n      try:", sample.kind);
        let object = &sample.object;
        let mut named = serde_json::Map::new();
        let fields = [("apiVersion", object), ("kind", object)].into_iter();
        let meta = [("name", &object["metadata"]), ("namespace", &object["metadata"])];
        for (field, holder) in
            fields.chain(meta).filter(|(field, holder)| holder.get(field).is_some())
        {
            named.insert(field.to_owned(), holder[field].clone());
        }
        out.push_str(&operation("delete", "ref", &Value::Object(named))?);
        out.push_str(SETTLE);
    }
    Ok(out)
}

/// Waits until all has settled.
const SETTLE: &str = "        - settle: {}\n";

/// One operation of a step on this object.
fn operation(name: &str, field: &str, object: &Value) -> anyhow::Result<String> {
    let mut out = format!("        - {name}:\n            {field}:\n");
    for line in serde_saphyr::to_string(object)?.lines() {
        let _ = writeln!(out, "              {line}");
    }
    Ok(out)
}
