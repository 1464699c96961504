//! Subresources of pods that a node answers: logs, exec and attach, port-forward
//! (`pkg/registry/core/pod/rest/log.go`, `subresources.go`; `LogLocation` and `streamLocation` in `strategy.go`).
//!
//! What is checked here is the API server's part; the rest is the kubelet's ([`crate::node`]), where there is one. A
//! cluster without kubelets answers as one whose nodes are away.

use std::sync::Arc;

use serde_json::Value;
use trace::{GroupResource, ObjectKey, Verb};

use super::{Outcome, Payload, Work};
use crate::{
    auth::Authorization,
    environment::is_stopped,
    node::{
        Reply,
        answers::Answers,
        begin, container, forward,
        log::{self, LogOptions},
        process::{Output, Streams},
        reach::Place,
        remote_command::{self, Translator},
        upgrade,
    },
    rbac::{self, Attributes, Decision},
    status::Refusal,
};

/// What a kubelet declares that speaks version 5 of `remotecommand` itself.
const SPEAKS_WEBSOCKETS: &str = "ExtendWebSocketsToKubelet";

impl Work<'_> {
    pub(super) fn log(&mut self) -> Result<Outcome, Refusal> {
        let now = self.live.world.now;
        let (namespace, name) = (&self.route.namespace, &self.route.name);
        let options = LogOptions::read(self.request, name, now)?;
        let pod = self.kind.present(&self.stored()?)?;
        let container = self.container(&pod)?;
        let outcome = |code, payload| Outcome { code, payload, warnings: Vec::new() };
        if node_of(&pod).is_empty() {
            return Ok(outcome(204, Payload::Nothing));
        }
        let node = self.node(&pod)?;
        let Some(answers) = self.kubelet(&node) else {
            let place = self.place(&node)?;
            let path = format!("/containerLogs/{namespace}/{name}/{container}");
            let url = place.url(&path, &log::query(self.request));
            return Err(Refusal::unclassified(format!("Get {url:?}: {}", place.refused())));
        };
        let started = container::started(&pod, &container, options.previous);
        let started = started.map_err(Refusal::bad_request)?;
        let log = options.show(answers.log(&pod, &container), started.at.unwrap_or(now));
        let goes_on = options.follow && started.runs && !options.is_enough(log.len());
        let keys = (self.key(name), node_key(&pod));
        let followed = goes_on.then(|| self.live.follows.open(keys, &pod, &container));
        Ok(outcome(200, Payload::Log(log, followed)))
    }

    /// exec and attach, port-forward, proxy.
    pub(super) fn connect(&mut self) -> Result<Outcome, Refusal> {
        let what = self.route.subresource.as_str();
        if self.kind.row().resource != "pods" || what == "proxy" {
            self.stored()?;
            return Err(Refusal::method_not_allowed());
        }
        let forwards = what == "portforward";
        let ports = if forwards { forward::ports(self.request)? } else { Vec::new() };
        self.check_create()?;
        let pod = self.kind.present(&self.stored()?)?;
        let container = if forwards { String::new() } else { self.container(&pod)? };
        if node_of(&pod).is_empty() {
            let text = format!("pod {} does not have a host assigned", self.route.name);
            return Err(Refusal::bad_request(text));
        }
        let node = self.node(&pod)?;
        let reached = match self.kubelet(&node) {
            Some(answers) => Ok(answers),
            None => Err(self.place(&node)?),
        };
        if !upgrade::is_asked(self.request) {
            return Err(Refusal::bad_request("Upgrade request required"));
        }
        let reply = match reached {
            Err(place) => self.away(&place, &node, &container)?,
            Ok(_) if forwards => forward::answer(self.request, &ports, &pod),
            Ok(answers) => self.run(&answers, &node, &pod, &container),
        };
        Ok(Outcome { code: 0, payload: Payload::Node(reply), warnings: Vec::new() })
    }

    fn run(&self, answers: &Answers, node: &Value, pod: &Value, container: &str) -> Reply {
        let begin = match self.route.subresource.as_str() {
            "attach" => begin::attach,
            _ => begin::exec,
        };
        let (streams, begun) = begin(self.request, answers, pod, container);
        remote_command::answer(self.request, streams, begun, translator(node))
    }

    /// What comes of an upgrade where there is no kubelet. Errors: 500, except to one with whom the API server speaks
    /// already.
    fn away(&self, place: &Place, node: &Value, container: &str) -> Result<Reply, Refusal> {
        let (request, what) = (self.request, self.route.subresource.as_str());
        let speaks = what != "portforward"
            && remote_command::is_translated(request)
            && translator(node) == Translator::ApiServer;
        if !speaks {
            let text = format!("error dialing backend: {}", place.refused());
            return Err(Refusal::unclassified(text));
        }
        let flags = ["stdin", "stdout", "stderr", "tty"].into_iter();
        let flags = flags.filter(|name| request.flag(name)).map(|name| (name, "1".to_owned()));
        let words = request.all("command").map(|word| ("command", word.to_owned()));
        let query: Vec<(&str, String)> = match what {
            "exec" => flags.chain(words).collect(),
            _ => flags.collect(),
        };
        let path = format!("/{what}/{}/{}/{container}", self.route.namespace, self.route.name);
        let url = place.url(&path, &query);
        let why = format!("error sending request: Post {url:?}: {}", place.refused());
        let streams = Streams::new(|name| request.flag(name));
        Ok(remote_command::over_v5(request, streams, Output::failed(why)))
    }

    /// Whoever opens a WebSocket, which must be a GET, has to be allowed to create too
    /// (`AuthorizePodWebsocketUpgradeCreatePermission`, on since 1.35). Errors: 403.
    fn check_create(&self) -> Result<(), Refusal> {
        let world = &self.live.world;
        if self.request.method == http::Method::POST || world.authorization != Authorization::Rbac {
            return Ok(());
        }
        let asked = Attributes {
            verb: Verb::Create.to_string(),
            group: self.route.group.clone(),
            resource: self.route.resource.clone(),
            subresource: self.route.subresource.clone(),
            namespace: self.route.namespace.clone(),
            name: self.route.name.clone(),
            path: String::new(),
        };
        match rbac::decide(world, &self.request.user, &asked) {
            Decision::Allowed(_) => Ok(()),
            Decision::NoOpinion(why) => {
                Err(Refusal::forbidden(&asked.served(), &self.route.name, &why))
            }
        }
    }

    /// What kubelets answer, if there are any.
    fn answers(&self) -> Option<&Arc<Answers>> {
        self.live.world.environment.as_ref()?.answers()
    }

    /// What this node's kubelet answers, if it runs.
    fn kubelet(&self, node: &Value) -> Option<Arc<Answers>> {
        self.answers().filter(|_| !is_stopped(node)).cloned()
    }

    /// Where a kubelet would be that is not there. Errors: 500.
    fn place(&self, node: &Value) -> Result<Place, Refusal> {
        Place::of(node, self.answers().is_some())
    }

    /// The node of a pod. Errors: 404 for one that nobody has made, which upstream says of a pod of that name.
    fn node(&self, pod: &Value) -> Result<Arc<Value>, Refusal> {
        let key = node_key(pod);
        let node = self.live.world.store.get(&key).cloned();
        node.ok_or_else(|| Refusal::not_found(&self.kind.served(), &key.name))
    }

    /// The container that is asked for, or the only one (`validateContainer`).
    fn container(&self, pod: &Value) -> Result<String, Refusal> {
        let names = |list: &str| -> Vec<&str> {
            let all = pod["spec"][list].as_array().into_iter().flatten();
            all.filter_map(|one| one["name"].as_str()).collect()
        };
        let own = names("containers");
        let all = [names("initContainers"), own.clone(), names("ephemeralContainers")].concat();
        let name = &self.route.name;
        match (self.request.query("container"), &own[..]) {
            ("", [only]) => Ok((*only).to_owned()),
            ("", _) => Err(Refusal::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                all.join(" ")
            ))),
            (given, _) if all.contains(&given) => Ok(given.to_owned()),
            (given, _) => {
                Err(Refusal::bad_request(format!("container {given} is not valid for pod {name}")))
            }
        }
    }
}

fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or("")
}

fn node_key(pod: &Value) -> ObjectKey {
    ObjectKey::new(GroupResource::new("", "nodes"), "", node_of(pod))
}

/// Who speaks version 5 with clients (`checkNodeSupportsWebsockets`).
fn translator(node: &Value) -> Translator {
    let mut declared = node["status"]["declaredFeatures"].as_array().into_iter().flatten();
    match declared.any(|feature| feature == SPEAKS_WEBSOCKETS) {
        true => Translator::Kubelet,
        false => Translator::ApiServer,
    }
}
