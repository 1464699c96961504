//! Defaults of the built-in types. Upstream sets them in Go code that no document describes
//! (`pkg/apis/*/v1/defaults.go`), so they are written down here, by definition, for the common types.
//!
//! What admission or a strategy sets (cluster IPs, priorities, selectors of Jobs, tolerations) is no
//! default and not here.

mod older;

use serde_json::{Map, Value, json};

use super::{Node, Schema, image};

type Fields = Map<String, Value>;

/// Fills in the defaults of a built-in object.
pub(super) fn fill(schema: &Schema, object: &mut Value) {
    walk(schema, schema.root(), object);
}

/// Parents before children, so that a field that is filled in gets its own defaults too.
fn walk(schema: &Schema, node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let name = node.name.as_deref().and_then(|name| name.strip_prefix("io.k8s."));
            if let Some(name) = name {
                of_type(name, fields);
                declared(schema, node, fields);
            }
            for (name, value) in fields.iter_mut() {
                if let Some(field) = schema.field(node, name) {
                    walk(schema, field, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = schema.items(node) {
                items.iter_mut().for_each(|item| walk(schema, node, item));
            }
        }
        _ => {}
    }
}

/// Defaults that the OpenAPI document declares (`protocol: TCP`).
fn declared(schema: &Schema, node: &Node, fields: &mut Fields) {
    for (name, &id) in &node.properties {
        if let Some(default) = &schema.node(id).default {
            set(fields, name, default.clone());
        }
    }
}

/// Sets a field that is missing, null, or an empty string where the default is a text.
fn set(fields: &mut Fields, name: &str, default: impl Into<Value>) {
    let default = default.into();
    let missing = fields
        .get(name)
        .is_none_or(|value| value.is_null() || (default.is_string() && value.as_str() == Some("")));
    if missing {
        fields.insert(name.to_owned(), default);
    }
}

fn set_all(fields: &mut Fields, defaults: Value) {
    if let Value::Object(defaults) = defaults {
        for (name, default) in defaults {
            set(fields, &name, default);
        }
    }
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or("")
}

/// An object field, made if it is missing.
fn inner<'a>(fields: &'a mut Fields, name: &str) -> &'a mut Fields {
    set(fields, name, json!({}));
    let value = fields.get_mut(name).expect("just set");
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("an object")
}

fn of_type(name: &str, fields: &mut Fields) {
    let current = older::fill(name, fields);
    let name = current.as_deref().unwrap_or(name);
    if let Some(name) = name.strip_prefix("api.core.v1.") {
        core(name, fields);
    } else if let Some(name) = name.strip_prefix("api.apps.v1.") {
        apps(name, fields);
    } else if let Some(name) = name.strip_prefix("api.batch.v1.") {
        batch(name, fields);
    } else {
        others(name, fields);
    }
}

fn core(name: &str, fields: &mut Fields) {
    match name {
        "PodSpec" => {
            set_all(
                fields,
                json!({"restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
                    "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
                    "securityContext": {}}),
            );
            host_ports(fields);
            if let Some(account) = fields.get("serviceAccountName").cloned() {
                // The deprecated twin is always shown by conversion.
                set(fields, "serviceAccount", account);
            } else if let Some(account) = fields.get("serviceAccount").cloned() {
                set(fields, "serviceAccountName", account);
            }
        }
        "Pod" => pod(fields),
        "Container" | "EphemeralContainer" => container(fields),
        "Probe" => set_all(
            fields,
            json!({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
                "failureThreshold": 3}),
        ),
        "HTTPGetAction" => set_all(fields, json!({"path": "/", "scheme": "HTTP"})),
        "ObjectFieldSelector" => set(fields, "apiVersion", "v1"),
        "ConfigMapVolumeSource"
        | "SecretVolumeSource"
        | "ProjectedVolumeSource"
        | "DownwardAPIVolumeSource" => set(fields, "defaultMode", 420),
        "ServiceAccountTokenProjection" => set(fields, "expirationSeconds", 3600),
        "HostPathVolumeSource" => set(fields, "type", ""),
        "Volume" if fields.iter().all(|(name, value)| name == "name" || value.is_null()) => {
            set(fields, "emptyDir", json!({}));
        }
        // Of Go's structs there is always one.
        "Service" => {
            inner(fields, "spec");
        }
        "ServiceSpec" => service(fields),
        "ServicePort" => {
            set(fields, "protocol", "TCP");
            let port = fields.get("port").cloned().unwrap_or_else(|| json!(0));
            if matches!(fields.get("targetPort"), Some(value) if value == "" || value == 0) {
                fields.remove("targetPort");
            }
            set(fields, "targetPort", port);
        }
        "ContainerPort" | "EndpointPort" => set(fields, "protocol", "TCP"),
        "Secret" => set(fields, "type", "Opaque"),
        "Namespace" => {
            let metadata = inner(fields, "metadata");
            let name = text(metadata, "name").to_owned();
            if !name.is_empty() {
                let labels = inner(metadata, "labels");
                labels.insert("kubernetes.io/metadata.name".to_owned(), Value::from(name));
            }
            inner(fields, "status");
        }
        "NamespaceStatus" => set(fields, "phase", "Active"),
        "PersistentVolumeClaimSpec" => set(fields, "volumeMode", "Filesystem"),
        "PersistentVolumeSpec" => set_all(
            fields,
            json!({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}),
        ),
        // Whether or not they have a status: Go's structs always have.
        "PersistentVolumeClaim" | "PersistentVolume" => {
            inner(fields, "spec");
            set(inner(fields, "status"), "phase", "Pending");
        }
        "ReplicationController" => replication_controller(fields),
        "GRPCAction" => {
            fields.entry("service").or_insert_with(|| json!(""));
        }
        "NodeSpec" => {
            // The list holds what counts; where the two differ, the single one does
            // (`Convert_v1_NodeSpec_To_core_NodeSpec`).
            let first = fields.get("podCIDRs").and_then(|list| list.get(0)).cloned();
            let single =
                fields.get("podCIDR").filter(|one| one.as_str().is_some_and(|one| !one.is_empty()));
            match (single.cloned(), first) {
                (Some(single), first) if first.as_ref() != Some(&single) => {
                    fields.insert("podCIDRs".to_owned(), json!([single]));
                }
                (None, Some(first)) => {
                    fields.insert("podCIDR".to_owned(), first);
                }
                _ => {}
            }
        }
        "ReplicationControllerSpec" => set(fields, "replicas", 1),
        "LimitRangeItem" if text(fields, "type") == "Container" => limit_range(fields),
        _ => {}
    }
}

/// A maximum stands in for a default, that or a minimum for a default request (`SetDefaults_LimitRangeItem`).
fn limit_range(fields: &mut Fields) {
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")]
    {
        let amounts = fields.get(from).and_then(Value::as_object).cloned().unwrap_or_default();
        for (resource, amount) in amounts {
            set(inner(fields, to), &resource, amount);
        }
    }
}

/// Limits stand in for requests that are not set.
fn pod(fields: &mut Fields) {
    let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) else { return };
    set(spec, "enableServiceLinks", true);
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for resources in containers.filter_map(|container| container.get_mut("resources")) {
            let Some(resources) = resources.as_object_mut() else { continue };
            let Some(Value::Object(limits)) = resources.get("limits").cloned() else { continue };
            let requests = inner(resources, "requests");
            for (name, limit) in limits {
                set(requests, &name, limit);
            }
        }
    }
}

fn container(fields: &mut Fields) {
    let latest = image::is_latest(text(fields, "image"));
    set_all(
        fields,
        json!({"terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": if latest { "Always" } else { "IfNotPresent" }}),
    );
}

fn service(fields: &mut Fields) {
    set_all(fields, json!({"sessionAffinity": "None", "type": "ClusterIP"}));
    match text(fields, "sessionAffinity") {
        "ClientIP" => {
            let config = inner(inner(fields, "sessionAffinityConfig"), "clientIP");
            set(config, "timeoutSeconds", 10800);
        }
        "None" => {
            fields.remove("sessionAffinityConfig");
        }
        _ => {}
    }
    let kind = text(fields, "type").to_owned();
    let addresses = fields.get("externalIPs").and_then(Value::as_array);
    let external = addresses.is_some_and(|addresses| !addresses.is_empty());
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && external) {
        set(fields, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set(fields, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set(fields, "allocateLoadBalancerNodePorts", true);
    }
}

fn apps(name: &str, fields: &mut Fields) {
    match name {
        "DeploymentSpec" => {
            set_all(
                fields,
                json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}),
            );
            let strategy = inner(fields, "strategy");
            set(strategy, "type", "RollingUpdate");
            if text(strategy, "type") == "RollingUpdate" {
                let rolling = inner(strategy, "rollingUpdate");
                set_all(rolling, json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
            }
        }
        "ReplicaSetSpec" => set(fields, "replicas", 1),
        "StatefulSet" | "DaemonSet" => {
            inner(fields, "spec");
        }
        "StatefulSetSpec" => {
            set_all(
                fields,
                json!({"replicas": 1, "revisionHistoryLimit": 10,
                    "podManagementPolicy": "OrderedReady"}),
            );
            let strategy = inner(fields, "updateStrategy");
            // How to roll is filled in where nothing is said, not where only that is left out.
            if text(strategy, "type").is_empty() {
                inner(strategy, "rollingUpdate");
            }
            set(strategy, "type", "RollingUpdate");
            if text(strategy, "type") == "RollingUpdate"
                && strategy.get("rollingUpdate").is_some_and(Value::is_object)
            {
                set(inner(strategy, "rollingUpdate"), "partition", 0);
            }
            let claims = fields.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
            for claim in claims.into_iter().flatten().filter_map(Value::as_object_mut) {
                set_all(claim, json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}));
                set(inner(claim, "status"), "phase", "Pending");
            }
            let retention = inner(fields, "persistentVolumeClaimRetentionPolicy");
            set_all(retention, json!({"whenDeleted": "Retain", "whenScaled": "Retain"}));
        }
        "DaemonSetSpec" => {
            set(fields, "revisionHistoryLimit", 10);
            let strategy = inner(fields, "updateStrategy");
            set(strategy, "type", "RollingUpdate");
            if text(strategy, "type") == "RollingUpdate" {
                let rolling = inner(strategy, "rollingUpdate");
                set_all(rolling, json!({"maxUnavailable": 1, "maxSurge": 0}));
            }
        }
        _ => {}
    }
}

fn batch(name: &str, fields: &mut Fields) {
    match name {
        // Of a Job only: the template in a CronJob is left as it is.
        "Job" => {
            job(inner(fields, "spec"));
            labels_of_template(fields);
        }
        "PodFailurePolicyOnPodConditionsPattern" => set(fields, "status", "True"),
        "CronJobSpec" => set_all(
            fields,
            json!({"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3,
                "failedJobsHistoryLimit": 1}),
        ),
        _ => {}
    }
}

fn job(spec: &mut Fields) {
    // Without completions and parallelism both are one; with parallelism alone completions stays unset
    // (a work queue).
    if spec.get("completions").is_none_or(Value::is_null)
        && spec.get("parallelism").is_none_or(Value::is_null)
    {
        set(spec, "completions", 1);
    }
    let per_index = spec.get("backoffLimitPerIndex").is_some_and(|limit| !limit.is_null());
    set_all(
        spec,
        json!({"parallelism": 1, "backoffLimit": if per_index { i32::MAX } else { 6 },
            "completionMode": "NonIndexed", "suspend": false, "manualSelector": false}),
    );
    let replacement =
        if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set(spec, "podReplacementPolicy", replacement);
}

/// A job without labels has those of its pods.
fn labels_of_template(fields: &mut Fields) {
    let labels = fields.get("spec").and_then(|spec| spec.pointer("/template/metadata/labels"));
    let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|l| !l.is_empty()))
    else {
        return;
    };
    let labels = labels.clone();
    let metadata = inner(fields, "metadata");
    if metadata.get("labels").is_none_or(|own| own.as_object().is_none_or(Fields::is_empty)) {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// Labels and selector of a ReplicationController are those of its pods.
fn replication_controller(fields: &mut Fields) {
    let labels = fields.get("spec").and_then(|spec| spec.pointer("/template/metadata/labels"));
    let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|l| !l.is_empty()))
    else {
        return;
    };
    let labels = labels.clone();
    let empty =
        |value: Option<&Value>| value.is_none_or(|v| v.as_object().is_none_or(Fields::is_empty));
    let spec = inner(fields, "spec");
    if empty(spec.get("selector")) {
        spec.insert("selector".to_owned(), labels.clone());
    }
    let metadata = inner(fields, "metadata");
    if empty(metadata.get("labels")) {
        metadata.insert("labels".to_owned(), labels);
    }
}

/// A pod in the host's network has the host's ports.
fn host_ports(spec: &mut Fields) {
    if spec.get("hostNetwork") != Some(&Value::Bool(true)) {
        return;
    }
    for list in ["containers", "initContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        let ports = containers
            .filter_map(|container| container.get_mut("ports").and_then(Value::as_array_mut))
            .flatten();
        for port in ports.filter_map(Value::as_object_mut) {
            if let Some(number) = port.get("containerPort").cloned() {
                set(port, "hostPort", number);
            }
        }
    }
}

/// Rules in both directions, once there are any (`SetDefaults_HorizontalPodAutoscalerBehavior`). For how long scaling
/// down is stabilized is the controller's affair.
fn behavior(fields: &mut Fields) {
    let Some(behavior) = fields.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let up = json!({
        "stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent],
    });
    let down = json!({"selectPolicy": "Max", "policies": [percent]});
    for (direction, rules) in [("scaleUp", up), ("scaleDown", down)] {
        let given = behavior.entry(direction).or_insert_with(|| json!({}));
        if given.is_null() {
            *given = json!({});
        }
        if let Some(given) = given.as_object_mut() {
            set_all(given, rules);
        }
    }
}

fn others(name: &str, fields: &mut Fields) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    match name {
        "api.autoscaling.v1.HorizontalPodAutoscalerSpec" => set(fields, "minReplicas", 1),
        "api.autoscaling.v2.HorizontalPodAutoscalerSpec" => {
            set(fields, "minReplicas", 1);
            let cpu =
                json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}});
            let metrics = fields.get("metrics").and_then(Value::as_array);
            if metrics.is_none_or(Vec::is_empty) {
                fields.insert("metrics".to_owned(), json!([{"type": "Resource", "resource": cpu}]));
            }
            behavior(fields);
        }
        "api.scheduling.v1.PriorityClass" => {
            set(fields, "preemptionPolicy", "PreemptLowerPriority")
        }
        "api.autoscaling.v1.ScaleSpec" => {}
        "api.rbac.v1.RoleBinding" | "api.rbac.v1.ClusterRoleBinding" => {
            set(inner(fields, "roleRef"), "apiGroup", RBAC);
        }
        "api.rbac.v1.Subject" => match text(fields, "kind") {
            "User" | "Group" => set(fields, "apiGroup", RBAC),
            _ => {}
        },
        "api.discovery.v1.EndpointPort" => {
            set_all(fields, json!({"name": "", "protocol": "TCP"}));
        }
        "api.storage.v1.StorageClass" => {
            set_all(fields, json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}))
        }
        "api.storage.v1.CSIDriverSpec" => set_all(
            fields,
            json!({"attachRequired": true, "podInfoOnMount": false, "storageCapacity": false,
                "fsGroupPolicy": "ReadWriteOnceWithFSType", "volumeLifecycleModes": ["Persistent"],
                "requiresRepublish": false, "seLinuxMount": false}),
        ),
        "api.networking.v1.IngressClassParametersReference" => set(fields, "scope", "Cluster"),
        "api.networking.v1.NetworkPolicySpec" => {
            let egress = fields.get("egress").and_then(Value::as_array);
            let types = if egress.is_some_and(|rules| !rules.is_empty()) {
                json!(["Ingress", "Egress"])
            } else {
                json!(["Ingress"])
            };
            if fields.get("policyTypes").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                fields.insert("policyTypes".to_owned(), types);
            }
        }
        "api.networking.v1.NetworkPolicy" => {
            inner(fields, "spec");
        }
        "api.networking.v1.NetworkPolicyPort" => set(fields, "protocol", "TCP"),
        "api.admissionregistration.v1.MutatingWebhook"
        | "api.admissionregistration.v1.ValidatingWebhook" => {
            set_all(
                fields,
                json!({"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10,
                    "namespaceSelector": {}, "objectSelector": {}}),
            );
            if name.ends_with("MutatingWebhook") {
                set(fields, "reinvocationPolicy", "Never");
            }
        }
        "api.admissionregistration.v1.MutatingAdmissionPolicySpec"
        | "api.admissionregistration.v1.ValidatingAdmissionPolicySpec" => {
            set(fields, "failurePolicy", "Fail");
        }
        "api.admissionregistration.v1.MatchResources" => set_all(
            fields,
            json!({"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}),
        ),
        "api.admissionregistration.v1.NamedRuleWithOperations"
        | "api.admissionregistration.v1.RuleWithOperations" => set(fields, "scope", "*"),
        "api.admissionregistration.v1.ServiceReference"
        | "apiextensions-apiserver.pkg.apis.apiextensions.v1.ServiceReference" => {
            set(fields, "port", 443);
        }
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionSpec" => {
            set(inner(fields, "conversion"), "strategy", "None");
        }
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames" => {
            let kind = text(fields, "kind").to_owned();
            if !kind.is_empty() {
                set(fields, "singular", kind.to_lowercase());
                set(fields, "listKind", format!("{kind}List"));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(gvk: (&str, &str, &str), mut object: Value, expect: &[(&str, Value)]) {
        let schema = Schema::builtin(gvk.0, gvk.1, gvk.2).expect(gvk.2);
        schema.default(&mut object);
        for (path, value) in expect {
            assert_eq!(object.pointer(path), Some(value), "{path} of {object}");
        }
        let once = object.clone();
        schema.default(&mut object);
        assert_eq!(object, once, "defaulting twice changes nothing");
    }

    #[test]
    fn common_types_get_the_defaults_of_upstream() {
        check(
            ("apps", "v1", "Deployment"),
            json!({"metadata": {"name": "d"}, "spec": {"template": {"spec": {"containers": [
                {"name": "a", "image": "reg:5000/a", "ports": [{"containerPort": 80}]},
                {"name": "b", "image": "b:1.2", "livenessProbe": {"httpGet": {"port": 1}}}]}}}}),
            &[
                ("/spec/replicas", json!(1)),
                ("/spec/strategy/rollingUpdate/maxSurge", json!("25%")),
                ("/spec/template/spec/restartPolicy", json!("Always")),
                ("/spec/template/spec/containers/0/imagePullPolicy", json!("Always")),
                ("/spec/template/spec/containers/0/ports/0/protocol", json!("TCP")),
                ("/spec/template/spec/containers/1/imagePullPolicy", json!("IfNotPresent")),
                ("/spec/template/spec/containers/1/livenessProbe/periodSeconds", json!(10)),
                ("/spec/template/spec/containers/1/livenessProbe/httpGet/scheme", json!("HTTP")),
            ],
        );
        check(
            ("", "v1", "Service"),
            json!({"spec": {"ports": [{"port": 80}]}}),
            &[
                ("/spec/ports/0/targetPort", json!(80)),
                ("/spec/type", json!("ClusterIP")),
                ("/spec/internalTrafficPolicy", json!("Cluster")),
            ],
        );
        check(("", "v1", "Service"), json!({}), &[("/spec/sessionAffinity", json!("None"))]);
        check(("batch", "v1", "Job"), json!({"spec": {}}), &[("/spec/completions", json!(1))]);
        let types = |spec: Value, expect: Value| {
            let policy = json!({ "spec": spec });
            let path = "/spec/policyTypes";
            check(("networking.k8s.io", "v1", "NetworkPolicy"), policy, &[(path, expect)]);
        };
        types(Value::Null, json!(["Ingress"]));
        types(json!({"policyTypes": [], "egress": [{}]}), json!(["Ingress", "Egress"]));
        let group = ("/roleRef/apiGroup", json!("rbac.authorization.k8s.io"));
        check(("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"), json!({}), &[group]);
        check(
            ("", "v1", "Namespace"),
            json!({"metadata": {"name": "n"}, "status": {}}),
            &[
                ("/metadata/labels/kubernetes.io~1metadata.name", json!("n")),
                ("/status/phase", json!("Active")),
            ],
        );
        check(
            ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            json!({"spec": {"names": {"kind": "Foo", "plural": "foos"}}}),
            &[
                ("/spec/names/singular", json!("foo")),
                ("/spec/names/listKind", json!("FooList")),
                ("/spec/conversion/strategy", json!("None")),
            ],
        );
    }
}
