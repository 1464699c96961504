//! What kubeadm is told in each node (kind, `pkg/cluster/internal/kubeadm/config.go`), and what the manifest of the pods'
//! network is told.

use serde_json::{Value, json};

use super::kind_file::{back_off, restarts_soon};

/// Those of kind.
const POD_SUBNET: &str = "10.244.0.0/16";
const SERVICE_SUBNET: &str = "10.96.0.0/16";
/// By which nodes join: known to everybody, as kind's. The network of the cluster is on this machine only.
const TOKEN: &str = "abcdef.0123456789abcdef";
const API_VERSION: &str = "kubeadm.k8s.io/v1beta4";
/// The first release with this version of the configuration.
const SINCE: u32 = 31;

/// What is particular to a node.
pub struct Config<'a> {
    pub cluster: &'a str,
    /// Of Kubernetes, like `v1.36.3`.
    pub version: &'a str,
    /// Host and port by which nodes reach the API server.
    pub endpoint: &'a str,
    /// The node's name.
    pub node: &'a str,
    /// Its address.
    pub address: &'a str,
    /// Whether it is of the control plane.
    pub plane: bool,
}

impl Config<'_> {
    /// The documents for `kubeadm init` and `kubeadm join`.
    ///
    /// # Errors
    /// The release is too old for them.
    pub fn text(&self) -> Result<String, String> {
        let minor = self.version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < SINCE) {
            return Err(format!(
                "the node image has Kubernetes {:?}: without the program kind, clusters are created from 1.{SINCE} on",
                self.version
            ));
        }
        let documents =
            [self.of_cluster(), self.of_init(), self.of_join(), self.of_kubelet(), of_proxy()];
        Ok(documents.map(|document| document.to_string()).join("\n---\n"))
    }

    fn of_cluster(&self) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": "ClusterConfiguration",
            "kubernetesVersion": self.version, "clusterName": self.cluster,
            "controlPlaneEndpoint": self.endpoint,
            // The API server is reached by its published port, too.
            "apiServer": {"certSANs": ["localhost", "127.0.0.1"]},
            "controllerManager": {
                "extraArgs": [{"name": "enable-hostpath-provisioner", "value": "true"}],
            },
            "networking": {"podSubnet": POD_SUBNET, "serviceSubnet": SERVICE_SUBNET},
        })
    }

    fn of_init(&self) -> Value {
        json!({
            "apiVersion": API_VERSION, "kind": "InitConfiguration",
            "bootstrapTokens": [{"token": TOKEN}],
            "localAPIEndpoint": self.local(),
            "nodeRegistration": self.registration(),
            // It would fetch images, which node images have.
            "skipPhases": ["preflight"],
        })
    }

    fn of_join(&self) -> Value {
        let mut join = json!({
            "apiVersion": API_VERSION, "kind": "JoinConfiguration",
            "nodeRegistration": self.registration(),
            "discovery": {"bootstrapToken": {
                "apiServerEndpoint": self.endpoint, "token": TOKEN, "unsafeSkipCAVerification": true,
            }},
            "skipPhases": ["preflight"],
        });
        if self.plane {
            join["controlPlane"] = json!({ "localAPIEndpoint": self.local() });
        }
        join
    }

    fn local(&self) -> Value {
        json!({"advertiseAddress": self.address, "bindPort": 6443})
    }

    fn registration(&self) -> Value {
        let provider = format!("kind://docker/{}/{}", self.cluster, self.node);
        json!({
            "criSocket": "unix:///run/containerd/containerd.sock",
            "kubeletExtraArgs": [
                {"name": "node-ip", "value": self.address},
                {"name": "provider-id", "value": provider},
            ],
        })
    }

    fn of_kubelet(&self) -> Value {
        let mut kubelet = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "cgroupDriver": "systemd", "cgroupRoot": "/kubelet", "failSwapOn": false,
            // The disk is the machine's: the kubelet must not make room on it.
            "imageGCHighThresholdPercent": 100,
            "evictionHard":
                {"nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"},
        });
        if restarts_soon(&format!(":{}", self.version)) {
            kubelet["crashLoopBackOff"] = back_off();
        }
        kubelet
    }
}

fn of_proxy() -> Value {
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": "iptables", "iptables": {"minSyncPeriod": "1s"},
        // Beyond the container: kube-proxy may not set it.
        "conntrack": {"maxPerCore": 0},
    })
}

/// The manifest of the pods' network with what kind fills in (`installcni`): the pods' addresses, and how to reach the API
/// server before there are Services.
///
/// # Errors
/// It can't be read.
pub fn network(manifest: &str, endpoint: &str) -> Result<String, String> {
    let filled = ["{{ .PodSubnet }}", "{{.PodSubnet}}"];
    let text =
        filled.iter().fold(manifest.to_owned(), |text, field| text.replace(field, POD_SUBNET));
    if !manifest.contains("would you kindly patch this file") {
        return Ok(text);
    }
    let documents: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&text);
    let mut documents =
        documents.map_err(|error| format!("the manifest of the network: {error}"))?;
    for daemons in documents.iter_mut().filter(|document| document["kind"] == "DaemonSet") {
        let variables = &mut daemons["spec"]["template"]["spec"]["containers"][0]["env"];
        let variable = json!({"name": "CONTROL_PLANE_ENDPOINT", "value": endpoint});
        match variables.as_array_mut() {
            Some(variables) => variables.push(variable),
            None => *variables = json!([variable]),
        }
    }
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": documents}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(version: &str, plane: bool) -> Vec<Value> {
        let config = Config {
            cluster: "life",
            version,
            endpoint: "life-control-plane:6443",
            node: "life-worker",
            address: "172.20.0.3",
            plane,
        };
        serde_saphyr::from_multiple(&config.text().unwrap()).unwrap()
    }

    #[test]
    fn kubelets_restart_soon_where_they_can() {
        let kubelet = |version: &str| documents(version, true).remove(3);
        assert_eq!(
            kubelet("v1.36.3")["crashLoopBackOff"],
            json!({"maxContainerRestartPeriod": "1s"})
        );
        assert_eq!(kubelet("v1.34.3").get("crashLoopBackOff"), None);
    }

    #[test]
    fn only_nodes_of_the_control_plane_join_as_such() {
        let join = |plane| documents("v1.36.3", plane).remove(2);
        assert_eq!(
            join(true)["controlPlane"]["localAPIEndpoint"]["advertiseAddress"],
            "172.20.0.3"
        );
        assert_eq!(join(false).get("controlPlane"), None);
        assert_eq!(
            join(false)["discovery"]["bootstrapToken"]["apiServerEndpoint"],
            "life-control-plane:6443"
        );
    }

    #[test]
    fn old_releases_are_refused() {
        let config = Config {
            cluster: "c",
            version: "v1.30.0",
            endpoint: "",
            node: "",
            address: "",
            plane: true,
        };
        assert!(config.text().unwrap_err().contains("from 1.31 on"));
    }

    #[test]
    fn the_network_gets_what_kind_fills_in() {
        let plain = "kind: ConfigMap\ndata: {subnet: '{{ .PodSubnet }}'}\n";
        assert_eq!(
            network(plain, "e").unwrap(),
            "kind: ConfigMap\ndata: {subnet: '10.244.0.0/16'}\n"
        );
        let daemons = "# would you kindly patch this file\nkind: ServiceAccount\n---\nkind: DaemonSet\nspec: {template: {spec: \
                       {containers: [{env: [{name: A, value: b}]}]}}}\n";
        let filled: Value = serde_json::from_str(&network(daemons, "e:6443").unwrap()).unwrap();
        let env = &filled["items"][1]["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!(env[1], json!({"name": "CONTROL_PLANE_ENDPOINT", "value": "e:6443"}));
    }
}
