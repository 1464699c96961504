//! The columns of built-in types.

use serde_json::Value;
use trace::Time;

use super::{
    columns::{Cell, Column, Columns, age, column, name},
    duration, human_duration,
    path::JsonPath,
    pods, service, workload,
};

type Compute = fn(&Value, Time) -> Value;

/// The columns of a resource; name and creation time for those not listed.
pub(super) fn columns(group: &str, resource: &str) -> Columns {
    Columns(match (group, resource) {
        ("", "pods") => pods::columns(),
        ("", "services") => service::columns(),
        ("", "events") | ("events.k8s.io", "events") => events(),
        ("", _) => core(resource),
        ("apps", _) => apps(resource),
        ("batch", _) => batch(resource),
        _ => others(group, resource),
    })
}

pub(super) fn path(name: &str, kind: &str, at: &str) -> Column {
    column(name, kind, Cell::Value(JsonPath::parse(at).unwrap_or_default()))
}

pub(super) fn computed(name: &str, kind: &str, compute: Compute) -> Column {
    column(name, kind, Cell::Computed(compute))
}

pub(super) fn wide(column: Column) -> Column {
    Column { priority: 1, ..column }
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or("")
}

pub(super) fn number(object: &Value, at: &str) -> i64 {
    object.pointer(at).and_then(Value::as_i64).unwrap_or(0)
}

/// A text, or upstream's word for none.
pub(super) fn or_none(text: &str) -> Value {
    Value::from(if text.is_empty() { "<none>" } else { text })
}

fn count(object: &Value, at: &str) -> usize {
    let value = object.pointer(at);
    value.and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn number_column(name: &str, compute: Compute) -> Column {
    computed(name, "integer", compute)
}

fn list(columns: impl IntoIterator<Item = Column>) -> Vec<Column> {
    let mut all = vec![name()];
    all.extend(columns);
    all.push(age());
    all
}

fn core(resource: &str) -> Vec<Column> {
    match resource {
        "configmaps" => list([computed("Data", "string", |object, _| {
            Value::from(count(object, "/data") + count(object, "/binaryData"))
        })]),
        "secrets" => list([
            path("Type", "string", ".type"),
            computed("Data", "string", |object, _| Value::from(count(object, "/data"))),
        ]),
        "namespaces" => list([path("Status", "string", ".status.phase")]),
        "nodes" => nodes(),
        "serviceaccounts" => list([]),
        "persistentvolumeclaims" => list([
            computed("Status", "string", |object, _| {
                let deleted = object.pointer("/metadata/deletionTimestamp").is_some();
                let phase = text(object, "/status/phase");
                Value::from(if deleted { "Terminating" } else { phase })
            }),
            path("Volume", "string", ".spec.volumeName"),
            path("Capacity", "string", ".status.capacity.storage"),
            path("Access Modes", "string", ".status.accessModes[*]"),
            path("StorageClass", "string", ".spec.storageClassName"),
        ]),
        "persistentvolumes" => list([
            path("Capacity", "string", ".spec.capacity.storage"),
            path("Access Modes", "string", ".spec.accessModes[*]"),
            path("Reclaim Policy", "string", ".spec.persistentVolumeReclaimPolicy"),
            path("Status", "string", ".status.phase"),
            path("StorageClass", "string", ".spec.storageClassName"),
        ]),
        "endpoints" => list([computed("Endpoints", "string", |object, _| {
            let at = JsonPath::parse(".subsets[*].addresses[*].ip").unwrap_or_default();
            let found: Vec<&str> = at.find(object).iter().filter_map(|ip| ip.as_str()).collect();
            or_none(&found.join(","))
        })]),
        _ => plain(),
    }
}

fn nodes() -> Vec<Column> {
    vec![
        name(),
        computed("Status", "string", |object, _| {
            let at = JsonPath::parse(".status.conditions[?(@.type==\"Ready\")].status");
            let ready = at.unwrap_or_default();
            let mut status = match ready.find(object).first().and_then(|value| value.as_str()) {
                Some("True") => "Ready".to_owned(),
                Some(_) => "NotReady".to_owned(),
                None => "Unknown".to_owned(),
            };
            if object.pointer("/spec/unschedulable") == Some(&Value::Bool(true)) {
                status.push_str(",SchedulingDisabled");
            }
            Value::from(status)
        }),
        computed("Roles", "string", |object, _| {
            let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
            let role =
                |label: &String| label.strip_prefix("node-role.kubernetes.io/").map(str::to_owned);
            let roles: Vec<String> =
                labels.into_iter().flat_map(|labels| labels.keys().filter_map(role)).collect();
            or_none(&roles.join(","))
        }),
        age(),
        path("Version", "string", ".status.nodeInfo.kubeletVersion"),
    ]
}

fn events() -> Vec<Column> {
    vec![
        computed("Last Seen", "string", |object, now| {
            let times = ["/lastTimestamp", "/series/lastObservedTime", "/deprecatedLastTimestamp"];
            let others = ["/firstTimestamp", "/eventTime", "/metadata/creationTimestamp"];
            let seen = times.iter().chain(&others).map(|at| text(object, at));
            let last = seen.into_iter().find(|time| !time.is_empty()).unwrap_or("");
            Value::from(duration::age(last, now))
        }),
        path("Type", "string", ".type"),
        path("Reason", "string", ".reason"),
        computed("Object", "string", |object, _| {
            let about = ["/involvedObject", "/regarding"]
                .into_iter()
                .find(|at| object.pointer(at).is_some());
            let about = about.unwrap_or("/involvedObject");
            let kind = text(object, &format!("{about}/kind")).to_lowercase();
            Value::from(format!("{kind}/{}", text(object, &format!("{about}/name"))))
        }),
        computed("Message", "string", |object, _| {
            Value::from(format!("{}{}", text(object, "/message"), text(object, "/note")).trim())
        }),
    ]
}

fn apps(resource: &str) -> Vec<Column> {
    let ready = |object: &Value, _| {
        let wanted = number(object, "/spec/replicas");
        Value::from(format!("{}/{wanted}", number(object, "/status/readyReplicas")))
    };
    match resource {
        "deployments" => workload::columns(
            [
                computed("Ready", "string", ready),
                number_column("Up-to-date", |o, _| number(o, "/status/updatedReplicas").into()),
                number_column("Available", |o, _| number(o, "/status/availableReplicas").into()),
            ],
            true,
        ),
        "replicasets" => workload::columns(
            [
                number_column("Desired", |o, _| number(o, "/spec/replicas").into()),
                number_column("Current", |o, _| number(o, "/status/replicas").into()),
                number_column("Ready", |o, _| number(o, "/status/readyReplicas").into()),
            ],
            true,
        ),
        "statefulsets" => workload::columns([computed("Ready", "string", ready)], false),
        "daemonsets" => workload::columns(
            [
                number_column("Desired", |o, _| number(o, "/status/desiredNumberScheduled").into()),
                number_column("Current", |o, _| number(o, "/status/currentNumberScheduled").into()),
                number_column("Ready", |o, _| number(o, "/status/numberReady").into()),
                number_column("Up-to-date", |o, _| {
                    number(o, "/status/updatedNumberScheduled").into()
                }),
                number_column("Available", |o, _| number(o, "/status/numberAvailable").into()),
            ],
            true,
        ),
        "controllerrevisions" => list([
            computed("Controller", "string", |object, _| {
                let owner = |name: &str| {
                    text(object, &format!("/metadata/ownerReferences/0/{name}")).to_owned()
                };
                let shown = format!("{}/{}", owner("kind").to_lowercase(), owner("name"));
                or_none(if shown == "/" { "" } else { &shown })
            }),
            path("Revision", "integer", ".revision"),
        ]),
        _ => plain(),
    }
}

fn batch(resource: &str) -> Vec<Column> {
    match resource {
        "jobs" => workload::columns(
            [
                computed("Status", "string", |object, _| {
                    let at = |kind: &str| {
                        let path = format!(".status.conditions[?(@.type==\"{kind}\")].status");
                        let found = JsonPath::parse(&path).unwrap_or_default();
                        found.find(object).first().is_some_and(|status| *status == "True")
                    };
                    let deleted = object.pointer("/metadata/deletionTimestamp").is_some();
                    let known =
                        ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"];
                    let found = known.into_iter().find(|kind| at(kind));
                    let running = if deleted { "Terminating" } else { "Running" };
                    Value::from(found.unwrap_or(running))
                }),
                computed("Completions", "string", |object, _| {
                    let done = number(object, "/status/succeeded");
                    let wanted = object.pointer("/spec/completions").and_then(Value::as_i64);
                    Value::from(format!("{done}/{}", wanted.unwrap_or(1)))
                }),
                computed("Duration", "string", |object, now| {
                    let time = |at: &str| Time::parse_rfc3339(text(object, at));
                    let Some(start) = time("/status/startTime") else { return Value::from("") };
                    let end = time("/status/completionTime").unwrap_or(now);
                    Value::from(human_duration(end.since(start)))
                }),
            ],
            true,
        ),
        "cronjobs" => workload::columns(
            [
                path("Schedule", "string", ".spec.schedule"),
                computed("Suspend", "string", |object, _| {
                    let suspended = object.pointer("/spec/suspend") == Some(&Value::Bool(true));
                    Value::from(if suspended { "True" } else { "False" })
                }),
                number_column("Active", |object, _| {
                    let active = object.pointer("/status/active").and_then(Value::as_array);
                    Value::from(active.map_or(0, Vec::len))
                }),
                computed("Last Schedule", "string", |object, now| {
                    match text(object, "/status/lastScheduleTime") {
                        "" => Value::from("<none>"),
                        last => Value::from(duration::age(last, now)),
                    }
                }),
            ],
            true,
        ),
        _ => plain(),
    }
}

fn others(group: &str, resource: &str) -> Vec<Column> {
    match (group, resource) {
        ("coordination.k8s.io", "leases") => {
            list([path("Holder", "string", ".spec.holderIdentity")])
        }
        ("networking.k8s.io", "ingresses") => list([
            path("Class", "string", ".spec.ingressClassName"),
            path("Hosts", "string", ".spec.rules[*].host"),
            path("Address", "string", ".status.loadBalancer.ingress[*].ip"),
        ]),
        ("autoscaling", "horizontalpodautoscalers") => list([
            computed("Reference", "string", |object, _| {
                let target = |name: &str| text(object, &format!("/spec/scaleTargetRef/{name}"));
                Value::from(format!("{}/{}", target("kind"), target("name")))
            }),
            computed("Targets", "string", |object, _| workload::metrics(object)),
            path("MinPods", "string", ".spec.minReplicas"),
            path("MaxPods", "string", ".spec.maxReplicas"),
            path("Replicas", "string", ".status.currentReplicas"),
        ]),
        ("policy", "poddisruptionbudgets") => list([
            path("Min Available", "string", ".spec.minAvailable"),
            path("Max Unavailable", "string", ".spec.maxUnavailable"),
            path("Allowed Disruptions", "string", ".status.disruptionsAllowed"),
        ]),
        ("discovery.k8s.io", "endpointslices") => list([
            path("AddressType", "string", ".addressType"),
            path("Ports", "string", ".ports[*].port"),
            path("Endpoints", "string", ".endpoints[*].addresses[*]"),
        ]),
        ("storage.k8s.io", "storageclasses") => list([
            path("Provisioner", "string", ".provisioner"),
            path("ReclaimPolicy", "string", ".reclaimPolicy"),
            path("VolumeBindingMode", "string", ".volumeBindingMode"),
        ]),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            list([computed("Role", "string", |object, _| {
                let role = |name: &str| text(object, &format!("/roleRef/{name}"));
                Value::from(format!("{}/{}", role("kind"), role("name")))
            })])
        }
        _ => plain(),
    }
}

/// What upstream's default converter shows: the name and the moment of creation.
fn plain() -> Vec<Column> {
    let created = path("Created At", "date", ".metadata.creationTimestamp");
    vec![name(), created]
}
