//! What a node would answer: the log of a pod's container, and streams into it
//! (`pkg/registry/core/pod/rest/log.go`, `subresources.go`).
//!
//! Nobody runs containers here: past the server's own checks a node can't be reached. Who could notice: a
//! controller that reads logs or runs commands, which gets the errors of a cluster whose nodes are away.

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use super::{Outcome, Payload, Work};
use crate::status::Refusal;

/// Where kubelets listen.
const KUBELET_PORT: u16 = 10250;

impl Work<'_> {
    pub(super) fn log(&mut self) -> Result<Outcome, Refusal> {
        let pod = self.kind.present(&self.stored()?)?;
        let container = self.container(&pod)?;
        let path =
            format!("/containerLogs/{}/{}/{container}", self.route.namespace, self.route.name);
        match node(&pod) {
            "" => Ok(Outcome {
                code: 200,
                payload: Payload::Text(String::new()),
                warnings: Vec::new(),
            }),
            node => Err(self.unreachable(node, &path)),
        }
    }

    /// exec and attach, port-forward, proxy.
    pub(super) fn connect(&mut self) -> Result<Outcome, Refusal> {
        let object = self.kind.present(&self.stored()?)?;
        let (name, what) = (&self.route.name, self.route.subresource.as_str());
        if self.kind.row().resource != "pods" || what == "proxy" {
            return Err(Refusal::method_not_allowed());
        }
        let container = match what {
            "portforward" => String::new(),
            _ => format!("/{}", self.container(&object)?),
        };
        match node(&object) {
            "" => Err(Refusal::bad_request(format!("pod {name} does not have a host assigned"))),
            node => {
                let path = match what {
                    "portforward" => "portForward",
                    other => other,
                };
                let path = format!("/{path}/{}/{name}{container}", self.route.namespace);
                Err(self.unreachable(node, &path))
            }
        }
    }

    /// The container that is asked for, or the only one (`validateContainer`).
    fn container(&self, pod: &Value) -> Result<String, Refusal> {
        let names = |list: &str| -> Vec<&str> {
            let all = pod["spec"][list].as_array().into_iter().flatten();
            all.filter_map(|one| one["name"].as_str()).collect()
        };
        let (own, first, late) =
            (names("containers"), names("initContainers"), names("ephemeralContainers"));
        let name = &self.route.name;
        match (self.request.query("container"), &own[..]) {
            ("", [only]) => Ok((*only).to_owned()),
            ("", many) => {
                let mut text = format!(
                    "a container name must be specified for pod {name}, choose one of: [{}]",
                    many.join(" ")
                );
                if !first.is_empty() {
                    text += &format!(" or one of the init containers: [{}]", first.join(" "));
                }
                Err(Refusal::bad_request(text))
            }
            (given, _) if own.iter().chain(&first).chain(&late).any(|known| *known == given) => {
                Ok(given.to_owned())
            }
            (given, _) => {
                Err(Refusal::bad_request(format!("container {given} is not valid for pod {name}")))
            }
        }
    }

    fn unreachable(&self, node: &str, path: &str) -> Refusal {
        let nodes = GroupResource::new("", "nodes");
        let key = ObjectKey::new(nodes.clone(), "", node);
        if self.live.world.store.get(&key).is_none() {
            return Refusal::not_found(&nodes, node);
        }
        let at = format!("{node}:{KUBELET_PORT}");
        Refusal::internal(format!(
            "Get \"https://{at}{path}\": dial tcp: lookup {node}: no such host"
        ))
    }
}

fn node(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or("")
}
