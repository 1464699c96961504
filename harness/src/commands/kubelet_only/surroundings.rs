//! Nodes of our own, their leases, and what templates can ask for.

use std::{collections::BTreeMap, net::Ipv4Addr};

use serde_json::{Value, json};
use stages::{Surroundings, stages::nodes, stages::pods};
use trace::{ObjectKey, Time};

use super::ANNOTATION;
use crate::providers::client_files::real_now;

/// How long a lease is good for (`nodeLeaseDurationSeconds` of a kubelet).
const LEASE_SECONDS: u32 = 40;

/// The `number`-th of our nodes, as it registers.
pub fn node(number: u32) -> Value {
    let name = format!("trommel-{number}");
    let size = json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            },
        },
        "status": {
            "capacity": size, "allocatable": size,
            "addresses": [
                {"type": "InternalIP", "address": Ipv4Addr::from((10 << 24) + 1 + number).to_string()},
                {"type": "Hostname", "address": name},
            ],
        },
    })
}

/// A node's lease, held from now on.
pub fn lease(key: &ObjectKey, node: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": key.name, "namespace": "kube-node-lease",
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": key.name, "uid": node["metadata"]["uid"],
            }],
        },
        "spec": {
            "holderIdentity": key.name, "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": real_now().rfc3339_micro(),
        },
    })
}

/// The cluster around an object.
pub struct Around<'a> {
    /// Nodes and pods.
    pub objects: &'a BTreeMap<ObjectKey, Value>,
    /// By this machine's clock.
    pub now: Time,
    /// When we came.
    pub start: Time,
    /// How many addresses were given to pods.
    pub addresses: &'a mut u32,
}

impl Surroundings for Around<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn start(&self) -> Time {
        self.start
    }

    fn node_ips(&self, node: &str) -> Vec<String> {
        let node = self.objects.get(&ObjectKey::new(nodes(), "", node));
        let addresses = node.and_then(|node| node["status"]["addresses"].as_array());
        let internal = addresses.into_iter().flatten().filter(|of| of["type"] == "InternalIP");
        internal.filter_map(|of| of["address"].as_str()).map(str::to_owned).collect()
    }

    /// Out of 10.128.0.0/10, one that no pod has.
    fn pod_ip(&mut self, _: &str) -> String {
        loop {
            *self.addresses = *self.addresses % ((1 << 22) - 1) + 1;
            let address = Ipv4Addr::from((10 << 24 | 128 << 16) + *self.addresses).to_string();
            let all = self.objects.iter().filter(|(key, _)| key.resource == pods());
            if !all.into_iter().any(|(_, pod)| pod["status"]["podIP"] == *address) {
                return address;
            }
        }
    }
}
