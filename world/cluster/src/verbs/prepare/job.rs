//! Jobs select their pods by their own uid (`pkg/registry/batch/job/strategy.go`).

use serde_json::{Value, json};

use crate::world::meta;

/// Labels the pod template and selects by that, unless the user does it himself (`manualSelector`).
pub(super) fn generate_selector(job: &mut Value) {
    if job.pointer("/spec/manualSelector") == Some(&json!(true)) {
        return;
    }
    let (name, uid) = (meta(job, "name").to_owned(), meta(job, "uid").to_owned());
    // Labels that were filled in from the template's are the same map to upstream, and stay so.
    let shared = job.pointer("/metadata/labels") == job.pointer("/spec/template/metadata/labels");
    let labels = &mut job["spec"]["template"]["metadata"]["labels"];
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ] {
        if labels.get(key).is_none() {
            labels[key] = json!(value);
        }
    }
    let labels = labels.clone();
    if shared {
        job["metadata"]["labels"] = labels;
    }
    job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = json!(uid);
}
