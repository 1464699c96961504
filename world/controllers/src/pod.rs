//! A Pod as controllers see it.

use std::time::Duration;

use serde_json::Value;
use trace::Time;

use crate::{
    autoscaler::Asks,
    data::{self, Needs},
    descheduler::Leaving,
    node_affinity::NodeAffinity,
    object::{Labels, Text},
    quota::Counted,
    read,
    resources::Requests,
    scheduler::Placing,
    volumes::ephemeral::Ephemeral,
};

/// A Pod.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pod {
    /// `spec.nodeName`; empty while it is not bound.
    pub node: Text,
    /// `spec.schedulerName`.
    pub scheduler: Text,
    /// `status.phase`.
    pub phase: Text,
    /// `spec.restartPolicy`.
    pub restart_policy: Text,
    /// `spec.terminationGracePeriodSeconds`.
    pub termination_grace_seconds: i64,
    /// Since when the condition `Ready` is True.
    pub ready_since: Option<Time>,
    /// The message of a condition `PodScheduled` that is False.
    pub unschedulable: Option<Text>,
    /// Since when that is so.
    pub unschedulable_since: Option<Time>,
    /// The largest `restartCount` of its containers.
    pub restarts: i64,
    /// What its containers ask of a node.
    pub requests: Requests,
    /// What only the scheduler reads.
    pub placing: Placing,
    /// What only the descheduler reads.
    pub leaving: Leaving,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// `status.podIPs`.
    pub addresses: Vec<Text>,
    /// `spec.hostname`.
    pub hostname: Text,
    /// `spec.subdomain`.
    pub subdomain: Text,
    /// Ports of its containers that have names: name, protocol, number.
    pub ports: Vec<(Text, Text, i64)>,
    /// Since when the condition `DisruptionTarget` is True, unless the kubelet says so.
    pub disrupted_since: Option<Time>,
    /// The node affinity that it requires.
    pub affinity: Option<NodeAffinity>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// Since when the condition `Ready` is False.
    pub unready_since: Option<Time>,
    /// `status.conditions`: types and statuses.
    pub conditions: Vec<(Text, Text)>,
    /// `status.containerStatuses`.
    pub containers: Vec<Container>,
    /// `status.initContainerStatuses`.
    pub init_containers: Vec<Container>,
    /// Of `spec.volumes`, names and the claims that they use, those of its own among them.
    pub claims: Vec<(Text, Text)>,
    /// Of `spec.volumes`, those whose claims are made for it.
    pub ephemeral: Vec<Ephemeral>,
    /// The ConfigMaps and Secrets that it can't start without, if there are any.
    pub needs: Option<Box<Needs>>,
    /// The names of all Secrets that it uses.
    pub secrets: Vec<Text>,
    /// What quotas count.
    pub counted: Counted,
    /// What its containers ask for, each.
    pub asks: Asks,
    /// `status.startTime`.
    pub started: Option<Time>,
    /// Of its containers, where there are any.
    pub probes: Option<Box<Probes>>,
    /// `spec.readinessGates`: types of conditions that must be True before it is ready.
    pub gates: Vec<Text>,
    /// `spec.activeDeadlineSeconds`.
    pub deadline_seconds: Option<i64>,
    /// `status.observedGeneration`.
    pub observed_generation: i64,
}

/// The probes of a pod's containers, of each kind the one that takes longest to begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probes {
    /// `startupProbe`.
    pub startup: Option<Probe>,
    /// `readinessProbe`.
    pub readiness: Option<Probe>,
    /// `livenessProbe`.
    pub liveness: Option<Probe>,
}

/// When a probe is made, and how many answers count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probe {
    /// `initialDelaySeconds`.
    pub initial: Duration,
    /// `periodSeconds`.
    pub period: Duration,
    /// `failureThreshold`.
    pub failures: u32,
    /// `successThreshold`.
    pub successes: u32,
}

/// A container, as its pod's status tells of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Container {
    /// `name`.
    pub name: Text,
    /// `restartCount`.
    pub restarts: i64,
    /// Since when it runs.
    pub started: Option<Time>,
    /// Whether its startup probe has succeeded, or it has none.
    pub is_started: bool,
    /// `ready`.
    pub is_ready: bool,
    /// Exit code and time, once it has ended.
    pub ended: Option<(i64, Option<Time>)>,
    /// When it ended before it was started again, where it runs.
    pub ended_before: Option<Time>,
    /// Why it waits: reason and message.
    pub waits: Option<(Text, Text)>,
    /// Whether the pod's spec names another image by now than it was started with.
    pub is_outdated: bool,
}

/// A toleration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Toleration {
    /// `key`; empty for all.
    pub key: Text,
    /// Whether `operator` is Exists.
    pub exists: bool,
    /// `value`.
    pub value: Text,
    /// `effect`; empty for all.
    pub effect: Text,
    /// `tolerationSeconds`; none for ever.
    pub seconds: Option<i64>,
}

impl Pod {
    /// Whether nothing but its containers keeps it from being ready (KEP-580).
    pub fn gates_hold(&self) -> bool {
        let holds = |gate: &Text| {
            self.conditions.iter().any(|(kind, status)| kind == gate && **status == *"True")
        };
        self.gates.iter().all(holds)
    }

    /// The node that it is on, or the only one that it may come to (`GetTargetNodeName`).
    pub(crate) fn target_node(&self) -> Option<Text> {
        if !self.node.is_empty() {
            return Some(self.node.clone());
        }
        self.affinity.as_ref().and_then(NodeAffinity::target)
    }

    /// Whether its containers have ended for good.
    pub fn has_ended(&self) -> bool {
        matches!(&*self.phase, "Succeeded" | "Failed")
    }

    /// Whether this claim is made for it.
    pub fn is_ephemeral(&self, claim: &str) -> bool {
        self.ephemeral.iter().any(|own| *own.claim == *claim)
    }

    pub(crate) fn read(object: &Value) -> Pod {
        let (spec, status) = (&object["spec"], &object["status"]);
        let condition = |name: &str, value: &str| {
            read::list(status, "conditions").find(|c| c["type"] == name && c["status"] == value)
        };
        let unready = condition("Ready", "False");
        let unscheduled = condition("PodScheduled", "False");
        let ready = condition("Ready", "True");
        let ready = ready.map(|found| read::time(found, "lastTransitionTime").unwrap_or_default());
        let restarts = read::list(status, "containerStatuses");
        let name = read::text(&object["metadata"], "name");
        Pod {
            node: read::text(spec, "nodeName"),
            scheduler: read::text(spec, "schedulerName"),
            phase: read::text(status, "phase"),
            restart_policy: read::text(spec, "restartPolicy"),
            termination_grace_seconds: read::number(spec, "terminationGracePeriodSeconds"),
            ready_since: ready,
            unschedulable: unscheduled.map(|found| read::text(found, "message")),
            unschedulable_since: unscheduled
                .and_then(|found| read::time(found, "lastTransitionTime")),
            restarts: restarts.map(|one| read::number(one, "restartCount")).max().unwrap_or(0),
            requests: Requests::read(object),
            placing: Placing::read(object),
            leaving: Leaving::read(object),
            node_selector: read::labels(spec, "nodeSelector"),
            addresses: addresses(status),
            hostname: read::text(spec, "hostname"),
            subdomain: read::text(spec, "subdomain"),
            ports: read::list(spec, "containers").flat_map(ports).collect(),
            disrupted_since: condition("DisruptionTarget", "True")
                .filter(|found| found["reason"] != "TerminationByKubelet")
                .and_then(|found| read::time(found, "lastTransitionTime")),
            affinity: NodeAffinity::read(spec),
            tolerations: read::list(spec, "tolerations").map(toleration).collect(),
            unready_since: unready.and_then(|found| read::time(found, "lastTransitionTime")),
            conditions: read::list(status, "conditions")
                .map(|found| (read::text(found, "type"), read::text(found, "status")))
                .collect(),
            containers: containers(object, "containers", "containerStatuses"),
            init_containers: containers(object, "initContainers", "initContainerStatuses"),
            claims: read::list(spec, "volumes").filter_map(|one| claim(&name, one)).collect(),
            ephemeral: read::list(spec, "volumes")
                .filter_map(|volume| Ephemeral::read(&name, volume))
                .collect(),
            needs: Needs::read(spec),
            secrets: data::secret_names(spec),
            counted: Counted::pod(object),
            asks: Asks::read(object),
            started: read::time(status, "startTime"),
            probes: probes(spec),
            gates: read::list(spec, "readinessGates")
                .map(|gate| read::text(gate, "conditionType"))
                .collect(),
            deadline_seconds: spec.get("activeDeadlineSeconds").and_then(Value::as_i64),
            observed_generation: read::number(status, "observedGeneration"),
        }
    }
}

fn probes(spec: &Value) -> Option<Box<Probes>> {
    let slowest = |kind: &str| {
        let found = read::list(spec, "containers").filter_map(|container| container.get(kind));
        found.map(probe).max_by_key(|probe| probe.initial)
    };
    let probes = Probes {
        startup: slowest("startupProbe"),
        readiness: slowest("readinessProbe"),
        liveness: slowest("livenessProbe"),
    };
    (probes != Probes::default()).then(|| Box::new(probes))
}

/// The API server has set what was left out.
fn probe(probe: &Value) -> Probe {
    let number = |field: &str| u32::try_from(read::number(probe, field)).unwrap_or(0);
    let seconds = |field: &str| Duration::from_secs(number(field).into());
    Probe {
        initial: seconds("initialDelaySeconds"),
        period: seconds("periodSeconds"),
        failures: number("failureThreshold"),
        successes: number("successThreshold"),
    }
}

/// All addresses, or the one that older kubelets tell.
fn addresses(status: &Value) -> Vec<Text> {
    let all: Vec<Text> = read::list(status, "podIPs").map(|one| read::text(one, "ip")).collect();
    let one = read::text(status, "podIP");
    if all.is_empty() && !one.is_empty() { vec![one] } else { all }
}

fn ports(container: &Value) -> impl Iterator<Item = (Text, Text, i64)> {
    let named = read::list(container, "ports").filter(|port| port["name"].is_string());
    named.map(|port| {
        let number = read::number(port, "containerPort");
        (read::text(port, "name"), read::text(port, "protocol"), number)
    })
}

fn containers(object: &Value, wanted: &str, told: &str) -> Vec<Container> {
    let wanted = |name: &Value| {
        read::list(&object["spec"], wanted).find(|container| container["name"] == *name)
    };
    let told = read::list(&object["status"], told);
    told.map(|status| container(wanted(&status["name"]), status)).collect()
}

fn container(wanted: Option<&Value>, status: &Value) -> Container {
    // What waits to be started again has ended last.
    let waits = status["state"].get("waiting");
    let running = status["state"].get("running");
    let last = status["lastState"].get("terminated");
    let ended = if waits.is_some() { last } else { status["state"].get("terminated") };
    Container {
        name: read::text(status, "name"),
        restarts: read::number(status, "restartCount"),
        started: running.and_then(|run| read::time(run, "startedAt")),
        is_started: status["started"] == true,
        is_ready: status["ready"] == true,
        ended: ended.map(|end| (read::number(end, "exitCode"), read::time(end, "finishedAt"))),
        ended_before: running.and(last).and_then(|end| read::time(end, "finishedAt")),
        waits: waits.map(|wait| (read::text(wait, "reason"), read::text(wait, "message"))),
        is_outdated: wanted.is_some_and(|wanted| {
            let (wanted, runs) = (&wanted["image"], &status["image"]);
            wanted.is_string() && runs.is_string() && wanted != runs
        }),
    }
}

fn claim(pod: &str, volume: &Value) -> Option<(Text, Text)> {
    let own = || Ephemeral::read(pod, volume).map(|own| own.claim);
    let claim = match volume.get("persistentVolumeClaim") {
        Some(claim) => read::text(claim, "claimName"),
        None => own()?,
    };
    Some((read::text(volume, "name"), claim))
}

fn toleration(value: &Value) -> Toleration {
    Toleration {
        key: read::text(value, "key"),
        exists: value["operator"] == "Exists",
        value: read::text(value, "value"),
        effect: read::text(value, "effect"),
        seconds: value.get("tolerationSeconds").and_then(Value::as_i64),
    }
}
