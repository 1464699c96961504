//! Endpoints that users write, and the EndpointSlices that mirror them.

use serde_json::{Value, json};

use crate::{
    scenario::{Scenario, Step, scenario},
    services::relabel_slices,
};

const SERVICES: &str = "/api/v1/namespaces/NS/services";
const SHOP: &str = "/api/v1/namespaces/NS/services/shop";
const ENDPOINTS: &str = "/api/v1/namespaces/NS/endpoints";
const OURS: &str = "/api/v1/namespaces/NS/endpoints/shop";

fn service() -> Step {
    let ports = json!([{"name": "web", "port": 80}]);
    let metadata = json!({"name": "shop", "labels": {"of": "service"}});
    Step::Create(SERVICES, json!({"metadata": metadata, "spec": {"ports": ports}}))
}

fn endpoints(subsets: Value) -> Step {
    let annotations = json!({
        "note": "own", "kubectl.kubernetes.io/last-applied-configuration": "{}",
    });
    let metadata = json!({"name": "shop", "labels": {"of": "user"}, "annotations": annotations});
    Step::Create(ENDPOINTS, json!({"metadata": metadata, "subsets": subsets}))
}

fn change(subsets: Value) -> Step {
    Step::Patch(OURS, json!({"subsets": subsets}))
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let port = |name: &str, port: u32| json!({"name": name, "port": port, "protocol": "TCP"});
    let two = || {
        json!([{
            "addresses": [
                {"ip": "10.9.0.1", "hostname": "first", "nodeName": "n"},
                {"ip": "10.9.0.2", "targetRef": {"kind": "Pod", "namespace": "$NS", "name": "p", "uid": "u"}},
            ],
            "notReadyAddresses": [{"ip": "10.9.0.3"}],
            "ports": [port("web", 80), port("admin", 81)],
        }])
    };
    let plain = |ips: &[&str], number: u32| {
        let addresses: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"addresses": addresses, "ports": [port("web", number)]})
    };
    vec![
        scenario(
            "mirror",
            vec![
                service(),
                endpoints(two()),
                change(json!([plain(&["10.9.0.1", "10.9.0.4"], 80)])),
                Step::Patch(OURS, json!({"metadata": {"labels": {"of": "another"}}})),
                Step::Patch(OURS, json!({"metadata": {"annotations": {"note": null}}})),
                Step::Delete(OURS, None),
            ],
        ),
        scenario(
            "mirror-given-away",
            vec![
                service(),
                endpoints(two()),
                relabel_slices("kubernetes.io/service-name", "other"),
                change(json!([plain(&["10.9.0.1", "10.9.0.4"], 80)])),
                relabel_slices("kubernetes.io/service-name", "shop"),
                relabel_slices("endpointslice.kubernetes.io/managed-by", "somebody"),
                change(json!([plain(&["10.9.0.5"], 80)])),
                // Of other Endpoints nothing is missed.
                Step::Delete(OURS, None),
                endpoints(two()),
            ],
        ),
        scenario(
            "mirror-families",
            vec![
                endpoints(json!([plain(&["10.9.0.1", "fd00::1"], 80)])),
                service(),
                change(json!([plain(&["fd00::1", "fd00:0::2"], 80)])),
                // Other ports: the slice that goes is used again.
                change(json!([plain(&["fd00::1"], 90)])),
                change(json!([])),
            ],
        ),
        scenario(
            "mirror-subsets",
            vec![
                service(),
                // What serves at the same ports stands together; ready here and not ready there is not ready.
                endpoints(json!([
                    plain(&["10.9.0.1", "10.9.0.2"], 80),
                    {"notReadyAddresses": [{"ip": "10.9.0.1"}], "ports": [port("web", 80)]},
                    {"addresses": [{"ip": "10.9.0.1"}, {"ip": "10.9.0.2"}], "ports": [port("more", 90)]},
                    {"addresses": [{"ip": "10.9.0.7"}]},
                ])),
                Step::Patch(SHOP, json!({"spec": {"selector": {"app": "none"}}})),
            ],
        ),
        scenario(
            "mirror-not",
            vec![
                service(),
                endpoints(two()),
                Step::Patch(
                    OURS,
                    json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}}),
                ),
                Step::Patch(
                    OURS,
                    json!({"metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": null}}}),
                ),
                Step::Delete(SHOP, None),
            ],
        ),
    ]
}
