//! ResourceQuotas: what is used after what was made, changed and deleted.

use serde_json::{Value, json};

use crate::{
    scenario::{Scenario, Step, change, map, scenario, web},
    services::PODS,
    stateful::claim,
};

const QUOTAS: &str = "/api/v1/namespaces/NS/resourcequotas";
const QUOTA: &str = "/api/v1/namespaces/NS/resourcequotas/q";
const SERVICES: &str = "/api/v1/namespaces/NS/services";
const ONE: &str = "/api/v1/namespaces/NS/pods/one";

fn quota(spec: Value) -> Step {
    Step::Create(QUOTAS, json!({"metadata": {"name": "q"}, "spec": spec}))
}

fn pod(name: &str, resources: Value, more: Value) -> Step {
    let mut spec = json!({"containers": [{"name": "c", "image": "v1", "resources": resources}]});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    Step::Create(PODS, json!({"metadata": {"name": name}, "spec": spec}))
}

fn ended(phase: &str) -> Step {
    Step::PatchPods(json!({"status": {"phase": phase}}))
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let some =
        || json!({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}});
    let service = |name: &str, kind: &str| {
        let ports = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
        let spec = json!({"type": kind, "ports": ports, "selector": {"app": "none"}});
        Step::Create(SERVICES, json!({"metadata": {"name": name}, "spec": spec}))
    };
    vec![
        scenario(
            "quota-counts",
            vec![
                map("early", &[]),
                quota(json!({"hard": {
                    "pods": "5", "count/configmaps": "10", "configmaps": "10", "secrets": "3",
                    "requests.cpu": "2000m", "limits.memory": "4096Mi", "memory": "4Gi",
                    "count/deployments.apps": "2", "count/replicasets.apps": "3",
                    "resourcequotas": "2", "count/nothings.example.com": "1", "services": "0",
                }})),
                pod("one", some(), json!({})),
                pod("two", some(), json!({})),
                map("late", &[]),
                Step::Delete(ONE, None),
                Step::Delete("/api/v1/namespaces/NS/configmaps/early", None),
                Step::Patch(QUOTA, json!({"spec": {"hard": {"memory": null, "cpu": "1"}}})),
                web(0, json!({})),
                Step::Delete("/apis/apps/v1/namespaces/NS/deployments/web", None),
                Step::Delete(QUOTA, None),
            ],
        ),
        scenario(
            "quota-ended-pods",
            vec![
                pod("one", some(), json!({})),
                pod("two", some(), json!({})),
                quota(json!({"hard": {"pods": "5", "count/pods": "5", "requests.memory": "3Gi"}})),
                ended("Succeeded"),
                pod("three", some(), json!({})),
                Step::Delete(ONE, None),
            ],
        ),
        scenario(
            "quota-scopes",
            vec![
                pod("one", json!({}), json!({})),
                pod("two", some(), json!({"activeDeadlineSeconds": 3600})),
                quota(json!({"scopes": ["BestEffort"], "hard": {"pods": "2"}})),
                Step::Create(
                    QUOTAS,
                    json!({"metadata": {"name": "ends"}, "spec": {
                        "scopes": ["Terminating", "NotBestEffort"],
                        "hard": {"pods": "2", "limits.memory": "9Gi"},
                    }}),
                ),
                Step::Create(
                    QUOTAS,
                    json!({"metadata": {"name": "class"}, "spec": {
                        "hard": {"pods": "9"},
                        "scopeSelector": {"matchExpressions": [{
                            "scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"],
                        }]},
                    }}),
                ),
                pod("three", json!({}), json!({"activeDeadlineSeconds": 3600})),
                Step::Delete(ONE, None),
                Step::Patch(
                    "/api/v1/namespaces/NS/pods/three",
                    json!({"spec": {"activeDeadlineSeconds": 60}}),
                ),
            ],
        ),
        scenario(
            "quota-claims-and-services",
            vec![
                claim("early", json!({"storageClassName": "gold"})),
                quota(json!({"hard": {
                    "requests.storage": "10Gi", "persistentvolumeclaims": "3",
                    "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
                    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
                    "services": "5", "services.nodeports": "6", "services.loadbalancers": "1",
                }})),
                claim("c", json!({})),
                service("plain", "ClusterIP"),
                service("ported", "NodePort"),
                Step::Patch(
                    "/api/v1/namespaces/NS/services/ported",
                    json!({"spec": {"type": "ClusterIP"}}),
                ),
                service("balanced", "LoadBalancer"),
                Step::Delete("/api/v1/namespaces/NS/services/balanced", None),
                Step::Delete("/api/v1/namespaces/NS/persistentvolumeclaims/early", None),
            ],
        ),
        scenario(
            "quota-refuses",
            vec![
                quota(json!({"hard": {"pods": "2"}})),
                web(3, json!({})),
                Step::Ready,
                change(json!({"replicas": 1})),
                change(json!({"replicas": 2})),
            ],
        ),
    ]
}
