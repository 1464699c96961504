//! Clusters and pods drawn from a seed. Before each pod the cluster is read and our scheduler is asked what it would do;
//! the real one must do that: take one of the nodes that ours finds best, or say the same of all of them, or make
//! the same room. Nothing else waits meanwhile: who could not be placed is taken away, who preempted gets its node.

use controllers::scheduler::{Decision, Nomination};
use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    arm::{Arm, Real},
    judge::{self, decide, pod_path, remove_pod, scheduled},
};

/// Pods of each cluster.
const PODS: u64 = 10;

/// The same draws from the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        trommel_tests::drawn(&mut self.0, sides)
    }

    fn one_of<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.roll(all.len() as u64) as usize]
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }

    fn node(&mut self) -> Value {
        let mut labels = json!({"disk": self.one_of(&["ssd", "hdd"])});
        if !self.once_in(4) {
            labels["topology.kubernetes.io/zone"] = json!(self.one_of(&["x", "y", "z"]));
        }
        let mut taints = vec![];
        if self.once_in(4) {
            let effect = self.one_of(&["NoSchedule", "PreferNoSchedule", "PreferNoSchedule"]);
            taints.push(json!({"key": "own", "value": "v", "effect": effect}));
        }
        let images = self.once_in(3).then(
            || json!([{"names": [format!("big:{}", self.roll(2))], "sizeBytes": 400_000_000}]),
        );
        json!({
            "labels": labels, "taints": taints, "images": images,
            "unschedulable": self.once_in(10),
            "size": {
                "cpu": self.one_of(&["1", "2", "4"]), "memory": self.one_of(&["1Gi", "2Gi", "8Gi"]),
                "pods": self.one_of(&["3", "5", "110"]), "example.com/gpu": self.one_of(&["0", "2"]),
            },
        })
    }

    fn container(&mut self) -> Value {
        let mut requests = json!({});
        if !self.once_in(4) {
            requests["cpu"] = json!(self.one_of(&["100m", "500m", "900m", "1500m"]));
        }
        if !self.once_in(4) {
            requests["memory"] = json!(self.one_of(&["64Mi", "700Mi", "1Gi"]));
        }
        let mut container = json!({"name": "c", "image": "big:0"});
        if self.once_in(8) {
            requests["example.com/gpu"] = json!("1");
            container["resources"]["limits"] = json!({"example.com/gpu": "1"});
        }
        container["resources"]["requests"] = requests;
        if self.once_in(6) {
            container["ports"] = json!([{"containerPort": 80, "hostPort": 80 + self.roll(2)}]);
        }
        container
    }

    fn selector(&mut self) -> Value {
        json!({"matchLabels": {"app": self.one_of(&["a", "b"])}})
    }

    fn topology(&mut self) -> &'static str {
        self.one_of(&["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
    }

    fn terms(&mut self) -> Value {
        let mut term = json!({"labelSelector": self.selector(), "topologyKey": self.topology()});
        match self.roll(5) {
            0 => term["namespaceSelector"] = json!({}),
            1 => term["namespaceSelector"] = json!({"matchLabels": {"team": "b"}}),
            2 => term["namespaces"] = json!(["$NS-b"]),
            _ => {}
        }
        match self.roll(2) {
            0 => json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]}),
            _ => {
                let weight = 1 + self.roll(100);
                json!({"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": weight, "podAffinityTerm": term},
                ]})
            }
        }
    }

    fn affinity(&mut self) -> Value {
        let mut affinity = json!({});
        if self.once_in(5) {
            let disk =
                json!({"key": "disk", "operator": "In", "values": [self.one_of(&["ssd", "hdd"])]});
            let term = json!({"matchExpressions": [disk]});
            affinity["nodeAffinity"] = match self.roll(2) {
                0 => {
                    json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}})
                }
                _ => {
                    json!({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "preference": term}]})
                }
            };
        }
        if self.once_in(5) {
            affinity["podAffinity"] = self.terms();
        }
        if self.once_in(4) {
            affinity["podAntiAffinity"] = self.terms();
        }
        affinity
    }

    fn spread(&mut self) -> Value {
        let mut constraint = json!({
            "maxSkew": 1 + self.roll(2), "topologyKey": self.topology(),
            "whenUnsatisfiable": self.one_of(&["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": self.selector(),
        });
        if self.once_in(3) {
            constraint["nodeTaintsPolicy"] = json!("Honor");
        }
        if self.once_in(3) {
            constraint["nodeAffinityPolicy"] = json!("Ignore");
        }
        json!([constraint])
    }

    fn pod(&mut self, name: &str) -> Value {
        let mut spec = json!({"containers": [self.container()], "affinity": self.affinity()});
        if self.once_in(3) {
            spec["topologySpreadConstraints"] = self.spread();
        }
        if self.once_in(3) {
            spec["tolerations"] = json!([{"key": "own", "operator": "Exists"}]);
        }
        if self.once_in(6) {
            spec["nodeSelector"] = json!({"disk": "ssd"});
        }
        if self.once_in(8) {
            spec["initContainers"] = json!([self.container()]);
            spec["initContainers"][0]["name"] = json!("i");
        }
        match self.roll(6) {
            0 | 1 => spec["priorityClassName"] = json!("low"),
            2 => spec["priorityClassName"] = json!("high"),
            3 => spec["priorityClassName"] = json!("polite"),
            _ => {}
        }
        json!({"metadata": {"name": name, "labels": {"app": self.one_of(&["a", "b"])}}, "spec": spec})
    }
}

/// What came of the pods of one seed.
#[derive(Default)]
pub struct Tally {
    /// They got a node: how many, and how many of these had a choice among several of the same score.
    pub bound: [usize; 2],
    /// They could not be placed.
    pub failed: usize,
    /// They made room.
    pub preempted: usize,
}

/// Plays a seed. Errors: where the real scheduler did something else.
pub fn play(seed: u64, real: &Real, tally: &mut Tally) -> Result<(), String> {
    let (mut dice, namespace) = (Dice(seed), format!("generated-{seed}"));
    let other = format!("{namespace}-b");
    real.make_namespace(&namespace);
    let labelled = json!({"metadata": {"name": other, "labels": {"team": "b"}}});
    real.must("POST", "/api/v1/namespaces", Some(labelled));
    if dice.once_in(2) {
        let service = json!({"metadata": {"name": "s"}, "spec": {
            "selector": {"app": "a"}, "ports": [{"port": 80}],
        }});
        real.must("POST", &format!("/api/v1/namespaces/{namespace}/services"), Some(service));
    }
    if dice.once_in(2) {
        let path = format!("/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets");
        let budget = json!({"metadata": {"name": "b"}, "spec": {
            "selector": {"matchLabels": {"app": "a"}}, "maxUnavailable": 1,
        }});
        real.must("POST", &path, Some(budget));
        let status = json!({"status": {"disruptionsAllowed": dice.roll(2), "currentHealthy": 1,
            "desiredHealthy": 1, "expectedPods": 1, "observedGeneration": 1}});
        real.must("PATCH", &format!("{path}/b/status"), Some(status));
    }
    let nodes: Vec<String> = (0..2 + dice.roll(4)).map(|number| format!("n{number}")).collect();
    for name in &nodes {
        judge::make_node(real, name, &dice.node());
    }
    let last = nodes.last().expect("two nodes at least");
    // The probe is not kept away by what is drawn.
    let open = json!({"spec": {"unschedulable": false}});
    real.must("PATCH", &format!("/api/v1/nodes/{last}"), Some(open));
    judge::nodes_are_seen(real, &namespace, last);
    let mut outcome = Ok(());
    for number in 0..PODS {
        let pod = dice.pod(&format!("p{number}")).to_string().replace("$NS", &namespace);
        let pod = serde_json::from_str(&pod).expect("it was JSON");
        let namespace = if dice.once_in(4) { &other } else { &namespace };
        outcome = one(real, namespace, &pod, number, tally)
            .map_err(|why| format!("seed {seed}, pod {number}: {why}\n  {pod}"));
        if outcome.is_err() {
            break;
        }
    }
    judge::clear(real, &other);
    judge::clear(real, &namespace);
    outcome
}

/// One pod.
fn one(
    real: &Real,
    namespace: &str,
    pod: &Value,
    number: u64,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut view = judge::view(real);
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    let (code, made) = real.send("POST", &pods, Some(pod.clone()));
    assert_eq!(code, 201, "{made}");
    let key = judge::key("pods", &made);
    view.set(&key, Some(controllers::Object::read(&key, &made)));
    let path = pod_path(namespace, &key.name);
    match decide(&view, &key) {
        Decision::Bind(nodes) => {
            tally.bound[0] += 1;
            tally.bound[1] += usize::from(nodes.len() > 1);
            is_bound(real, &path, &nodes)?;
            start(real, &path, number);
        }
        Decision::Fail { message, nominate } => {
            let told =
                |arm: &dyn Arm| scheduled(&arm.send("GET", &path, None).1)["message"].clone();
            comes_to(real, &json!(message), &told)?;
            let Nomination::Preempt(best) = nominate else {
                tally.failed += 1;
                remove_pod(real, &path);
                return Ok(());
            };
            tally.preempted += 1;
            let victims = room_is_made(real, &path, &best)?;
            let mut concerned = vec![pod.clone()];
            for key in &victims {
                let path = pod_path(&key.namespace, &key.name);
                concerned.push(real.send("GET", &path, None).1);
                remove_pod(real, &path);
            }
            if concerned.iter().any(|pod| pod.to_string().contains("namespaceSelector")) {
                look_again(real, &path);
            }
            let pod = real.send("GET", &path, None).1;
            let node = pod["status"]["nominatedNodeName"].as_str().map(trace_text);
            let node = node.or_else(|| pod["spec"]["nodeName"].as_str().map(trace_text));
            is_bound(real, &path, &[node.ok_or("no node is kept for it")?])?;
            start(real, &path, number);
        }
    }
    Ok(())
}

/// Makes the real scheduler look at a pod again, by a label that no selector names.
///
/// It asks whether a pod's deletion helps another one without the labels of its namespace (`podMatchesAllAffinityTerms`
/// of its plugin InterPodAffinity), so a term with a `namespaceSelector`, of either, never matches, and a pod that such a
/// term keeps away is not looked at again before five minutes have passed, whoever has gone.
fn look_again(real: &Real, path: &str) {
    let label = json!({"metadata": {"labels": {"looked-at": "again"}}});
    real.must("PATCH", path, Some(label));
}

fn trace_text(text: &str) -> std::sync::Arc<str> {
    text.into()
}

fn comes_to(real: &Real, expect: &Value, state: &dyn Fn(&dyn Arm) -> Value) -> Result<(), String> {
    let comes = real.comes_to(std::slice::from_ref(expect), state);
    comes.map(drop).map_err(|found| format!("\n  ours {expect}\n  real {found}"))
}

fn is_bound(real: &Real, path: &str, nodes: &[std::sync::Arc<str>]) -> Result<(), String> {
    let bound = |arm: &dyn Arm| {
        let pod = arm.send("GET", path, None).1;
        match pod["spec"]["nodeName"].as_str() {
            Some(node) if nodes.iter().any(|one| **one == *node) => json!(nodes),
            Some(node) => json!(node),
            None => scheduled(&pod),
        }
    };
    comes_to(real, &json!(nodes), &bound)
}

/// The pod runs, since another second than all others.
fn start(real: &Real, path: &str, number: u64) {
    let at = format!("2026-01-01T00:00:{number:02}Z");
    let status = json!({"status": {"phase": "Running", "startTime": at}});
    real.must("PATCH", &format!("{path}/status"), Some(status));
}

/// The victims of one of the candidates are on their way, and no other pod; a node is kept for the pod.
fn room_is_made(
    real: &Real,
    path: &str,
    best: &[controllers::scheduler::Candidate],
) -> Result<Vec<ObjectKey>, String> {
    let state = |nominated: &str, mut gone: Vec<String>| {
        gone.sort();
        json!({"nominated": nominated, "gone": gone})
    };
    let names = |victims: &[ObjectKey]| victims.iter().map(ObjectKey::to_string).collect();
    let expect: Vec<Value> = best.iter().map(|one| state(&one.node, names(&one.victims))).collect();
    let found = |arm: &dyn Arm| {
        let pod = arm.send("GET", path, None).1;
        let all = arm.send("GET", "/api/v1/pods", None).1;
        let leaves = |pod: &&Value| {
            let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            pod["metadata"]["deletionTimestamp"].is_string()
                && conditions.any(|one| {
                    one["type"] == "DisruptionTarget" && one["reason"] == "PreemptionByScheduler"
                })
        };
        let gone = all["items"].as_array().into_iter().flatten().filter(leaves);
        let gone = gone.map(|pod| judge::key("pods", pod).to_string());
        let found =
            state(pod["status"]["nominatedNodeName"].as_str().unwrap_or(""), gone.collect());
        if expect.contains(&found) { json!(expect) } else { found }
    };
    comes_to(real, &json!(expect), &found)?;
    let pod = real.send("GET", path, None).1;
    let node = pod["status"]["nominatedNodeName"].as_str().unwrap_or("");
    let chosen = best.iter().find(|one| *one.node == *node);
    Ok(chosen.map(|one| one.victims.clone()).unwrap_or_default())
}
