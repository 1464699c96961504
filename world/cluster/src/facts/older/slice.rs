//! EndpointSlices of `discovery.k8s.io/v1beta1` (`pkg/apis/discovery/v1beta1/conversion.go`): an endpoint's zone is a
//! label of its topology, and so may its node be.

use serde_json::{Map, Value, json};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

pub(super) fn up(object: &mut Value) {
    endpoints(object, |endpoint| {
        let Some(Value::Object(mut topology)) = endpoint.remove("topology") else { return };
        if let Some(zone) = topology.remove(ZONE) {
            endpoint.insert("zone".to_owned(), zone);
        }
        // The two may differ; then both are kept.
        if topology.get(HOST).is_some_and(|host| endpoint.get("nodeName") == Some(host)) {
            topology.remove(HOST);
        }
        if !topology.is_empty() {
            endpoint.insert("deprecatedTopology".to_owned(), Value::Object(topology));
        }
    });
}

pub(super) fn down(object: &mut Value) {
    endpoints(object, |endpoint| {
        let mut topology = match endpoint.remove("deprecatedTopology") {
            Some(Value::Object(topology)) => topology,
            _ => Map::new(),
        };
        if let Some(zone) = endpoint.remove("zone") {
            topology.insert(ZONE.to_owned(), zone);
        }
        if let Some(node) = endpoint.get("nodeName")
            && topology.get(HOST).is_none_or(|host| *host == json!(""))
        {
            topology.insert(HOST.to_owned(), node.clone());
        }
        if !topology.is_empty() {
            endpoint.insert("topology".to_owned(), Value::Object(topology));
        }
    });
}

fn endpoints(object: &mut Value, change: impl Fn(&mut Map<String, Value>)) {
    let list = object.get_mut("endpoints").and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut).for_each(change);
}

#[cfg(test)]
mod tests {
    use super::{super::convert::check, *};

    #[test]
    fn zones_and_nodes_are_in_the_topology_of_old_slices() {
        let slice = |endpoint: Value| json!({"addressType": "IPv4", "endpoints": [endpoint]});
        let check = |old: Value, current: Value| {
            check("EndpointSlice", "v1beta1", &slice(old), &slice(current));
        };
        check(
            json!({"addresses": ["10.0.0.1"], "nodeName": "n", "topology": {ZONE: "z", HOST: "n"}}),
            json!({"addresses": ["10.0.0.1"], "nodeName": "n", "zone": "z"}),
        );
        check(
            json!({"nodeName": "n", "topology": {HOST: "m", "region": "r"}}),
            json!({"nodeName": "n", "deprecatedTopology": {HOST: "m", "region": "r"}}),
        );
        // Clients of 1.17 to 1.19 knew no `nodeName`.
        check(json!({"topology": {HOST: "m"}}), json!({"deprecatedTopology": {HOST: "m"}}));
        check(json!({"hostname": "h"}), json!({"hostname": "h"}));
    }
}
