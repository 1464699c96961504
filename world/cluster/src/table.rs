//! `meta.k8s.io/v1` Tables: the rows that `kubectl get` prints.
//!
//! Built-in types have the columns of upstream's printers, for the common types; the others show name and
//! age. Custom resources show their `additionalPrinterColumns`.

mod builtin;
mod columns;
mod duration;
mod path;
mod pods;
mod service;
mod workload;

use serde_json::{Value, json};
use trace::Time;

pub use columns::{Columns, custom};
pub use duration::human_duration;

/// `includeObject`: what rides along with each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// `PartialObjectMetadata`. The default.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

impl IncludeObject {
    /// Reads the query parameter; `None` for a value that isn't one.
    pub fn parse(text: &str) -> Option<IncludeObject> {
        match text {
            "None" => Some(IncludeObject::None),
            "" | "Metadata" => Some(IncludeObject::Metadata),
            "Object" => Some(IncludeObject::Object),
            _ => None,
        }
    }
}

/// The columns of a built-in resource.
pub fn builtin(group: &str, resource: &str) -> Columns {
    builtin::columns(group, resource)
}

/// A table of objects.
///
/// `metadata` is the list's (resourceVersion, continue) or, for a single object, what the object's
/// resourceVersion says. `now` is the world's: ages are told by it. Watches send the column definitions
/// only with the first event (`with_columns`).
pub fn table<'a>(
    columns: &Columns,
    objects: impl IntoIterator<Item = &'a Value>,
    metadata: Value,
    include: IncludeObject,
    now: Time,
    with_columns: bool,
) -> Value {
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let mut row = json!({"cells": columns.cells(object, now)});
            match include {
                IncludeObject::None => row["object"] = Value::Null,
                IncludeObject::Metadata => {
                    row["object"] = crate::encoding::metadata_view(object);
                }
                IncludeObject::Object => row["object"] = object.clone(),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": if with_columns { columns.definitions() } else { Value::Null },
        "rows": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of the columns that plain `kubectl get` shows, as text.
    fn check(group: &str, resource: &str, object: Value, expect: &[&str]) {
        let now = Time::parse_rfc3339("2026-01-01T01:00:00Z").unwrap();
        let columns = builtin(group, resource);
        let table = table(&columns, [&object], json!({}), IncludeObject::None, now, true);
        let definitions = table["columnDefinitions"].as_array().unwrap();
        let cells = table["rows"][0]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), definitions.len());
        let shown: Vec<String> = definitions
            .iter()
            .zip(cells)
            .filter(|(definition, _)| definition["priority"] == 0)
            .map(|(_, cell)| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned))
            .collect();
        assert_eq!(shown, expect, "{resource}");
    }

    fn named(name: &str, rest: Value) -> Value {
        let mut object =
            json!({"metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}});
        for (key, value) in rest.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    }

    #[test]
    fn common_types_print_like_kubectl() {
        check(
            "",
            "pods",
            named(
                "p",
                json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]},
                "status": {"phase": "Running", "containerStatuses": [
                    {"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}}},
                    {"name": "b", "ready": false, "restartCount": 0,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}),
            ),
            &["p", "1/2", "CrashLoopBackOff", "2", "60m"],
        );
        check(
            "apps",
            "deployments",
            named(
                "d",
                json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 1,
                "updatedReplicas": 3, "availableReplicas": 1}}),
            ),
            &["d", "1/3", "3", "1", "60m"],
        );
        check(
            "",
            "services",
            named(
                "s",
                json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1",
                "ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP",
                    "nodePort": 30053}]}}),
            ),
            &["s", "ClusterIP", "10.0.0.1", "<none>", "80/TCP,53:30053/UDP", "60m"],
        );
        check(
            "",
            "configmaps",
            named("c", json!({"data": {"a": "", "b": ""}})),
            &["c", "2", "60m"],
        );
        check(
            "",
            "namespaces",
            named("n", json!({"status": {"phase": "Active"}})),
            &["n", "Active", "60m"],
        );
        check(
            "batch",
            "jobs",
            named(
                "j",
                json!({"spec": {"completions": 1}, "status": {"succeeded": 1,
                "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:07Z",
                "conditions": [{"type": "Complete", "status": "True"}]}}),
            ),
            &["j", "Complete", "1/1", "7s", "60m"],
        );
        check(
            "",
            "events",
            json!({"metadata": {"name": "e"}, "lastTimestamp": "2026-01-01T00:59:30Z",
                "type": "Normal", "reason": "Created", "message": "made it ",
                "involvedObject": {"kind": "Pod", "name": "p"}}),
            &["30s", "Normal", "Created", "pod/p", "made it"],
        );
        check(
            "scheduling.k8s.io",
            "unheard",
            named("x", json!({})),
            &["x", "2026-01-01T00:00:00Z"],
        );
    }

    #[test]
    fn custom_columns_follow_their_paths() {
        let columns = custom(&[
            json!({"name": "Ready", "type": "string",
                "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}),
            json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}),
            json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}),
        ]);
        let now = Time::parse_rfc3339("2026-01-02T00:00:00Z").unwrap();
        let object = named(
            "f",
            json!({"spec": {"size": 3}, "status": {"conditions": [
            {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]}}),
        );
        assert_eq!(
            columns.cells(&object, now),
            [json!("f"), json!("True"), json!(3), json!("24h")]
        );
        let empty = named("g", json!({}));
        assert_eq!(
            columns.cells(&empty, now),
            [json!("g"), json!(null), json!(null), json!("24h")]
        );
        let plain = custom(&[]);
        assert_eq!(plain.cells(&empty, now), [json!("g"), json!("24h")]);
    }

    #[test]
    fn objects_ride_along_as_asked() {
        let object = named("f", json!({"spec": {"a": 1}}));
        let run = |include| {
            let now = Time(0);
            table(&custom(&[]), [&object], json!({"resourceVersion": "5"}), include, now, false)
        };
        assert_eq!(run(IncludeObject::None)["rows"][0]["object"], json!(null));
        assert_eq!(
            run(IncludeObject::Metadata)["rows"][0]["object"]["kind"],
            "PartialObjectMetadata"
        );
        assert_eq!(run(IncludeObject::Object)["rows"][0]["object"], object);
        assert_eq!(run(IncludeObject::None)["columnDefinitions"], json!(null));
        assert_eq!(IncludeObject::parse("All"), None);
    }
}
