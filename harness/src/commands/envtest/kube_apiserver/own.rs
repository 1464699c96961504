//! What kube-apiserver itself makes when it starts, beyond what every world has: the Service by which pods find it, and what
//! other servers need to know of its clients.
//!
//! Left out: the Endpoints of the Service. They would have the address of this machine, at which nobody listens here.

use std::net::Ipv4Addr;

use cluster::Server;
use serde_json::{Value, json};
use trace::Actor;

use crate::exit::{Exit, Expected};

/// `--service-cluster-ip-range` where nothing is said.
const SERVICES: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 0);

/// Where Services' addresses begin, by the first of the ranges that a flag names. Errors: that is none of IPv4.
pub fn services(ranges: &[&str]) -> Result<Ipv4Addr, String> {
    let Some(range) = ranges.first() else { return Ok(SERVICES) };
    let address = range.split_once('/').map_or(*range, |(address, _)| address);
    address
        .parse()
        .map_err(|_| format!("--service-cluster-ip-range={range}: no range of IPv4 addresses"))
}

/// Makes them. `clients` are the authorities of clients, in PEM.
///
/// # Errors
/// The server refuses one.
pub async fn make(
    server: &Server,
    services: Ipv4Addr,
    port: u16,
    clients: &str,
) -> anyhow::Result<()> {
    let client = workloads::Client::as_actor(server.service(), Actor::Trommel);
    let made =
        workloads::apply_manifests(&client, &[service(services, port), facts(clients)]).await;
    made.map_err(|error| Expected::error(Exit::Environment, format!("kube-apiserver: {error}")))
}

/// `default/kubernetes` (`pkg/controlplane/controller/kubernetesservice`), at the first address.
fn service(services: Ipv4Addr, port: u16) -> Value {
    let address = Ipv4Addr::from_bits(services.to_bits().saturating_add(1));
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": address.to_string(), "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
        },
    })
}

/// `kube-system/extension-apiserver-authentication` (`pkg/controlplane/controller/clusterauthenticationtrust`).
fn facts(clients: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {"client-ca-file": clients},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_has_the_first_address() {
        let check = |ranges: &[&str], expect: &str| {
            let services = services(ranges).expect("a range");
            assert_eq!(service(services, 1)["spec"]["clusterIP"], expect);
        };
        check(&[], "10.0.0.1");
        check(&["10.0.0.0/24"], "10.0.0.1");
        check(&["192.168.4.0/24", "fd00::/108"], "192.168.4.1");
        assert!(services(&["fd00::/108"]).is_err());
    }
}
