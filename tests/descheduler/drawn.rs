//! Scenarios drawn from a seed: some nodes, some pods, and one plugin. Each pod has a priority of its own, so that what
//! upstream sorts by them is no chance.

use serde_json::{Value, json};

use crate::played::Scenario;

/// The same draws from the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        trommel_tests::drawn(&mut self.0, sides)
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len() as u64) as usize].clone()
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }

    fn node(&mut self) -> Value {
        let mut node = json!({
            "labels": {"zone": self.one_of(&["a", "b", "c"]), "disk": self.one_of(&["ssd", "hdd"])},
            "size": {"cpu": self.one_of(&["1", "4", "4"])},
            "unschedulable": self.once_in(12),
        });
        if self.once_in(4) {
            let effect = self.one_of(&["NoSchedule", "PreferNoSchedule"]);
            node["taints"] = json!([{"key": "own", "effect": effect}]);
        }
        if self.once_in(12) {
            node["labels"] = json!({});
        }
        node
    }

    fn selector(&mut self) -> Value {
        json!({"matchLabels": {"app": self.one_of(&["x", "x", "y"])}})
    }

    /// Of pods about which the plugin has something to say, as a rule.
    fn spec(&mut self, plugin: &str) -> Value {
        let mut spec = json!({});
        let is_of = |part: &str| if plugin.contains(part) { 1 } else { 4 };
        if self.once_in(is_of("Spread")) {
            let mut constraint = json!({
                "maxSkew": 1 + self.roll(2),
                "topologyKey": self.one_of(&["zone", "kubernetes.io/hostname"]),
                "whenUnsatisfiable": self.one_of(&["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": self.selector(),
            });
            for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
                if self.once_in(3) {
                    constraint[policy] = json!(self.one_of(&["Honor", "Ignore"]));
                }
            }
            spec["topologySpreadConstraints"] = json!([constraint]);
        }
        if self.once_in(6) {
            spec["nodeSelector"] = json!({"disk": self.one_of(&["ssd", "hdd"])});
        }
        if self.once_in(4) {
            spec["tolerations"] = json!([{"key": "own", "operator": "Exists"}]);
        }
        if self.once_in(is_of("NodeAffinity")) {
            let values = json!([self.one_of(&["a", "b"])]);
            let term =
                json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": values}]});
            let preferred = json!([{"weight": 10, "preference": term}]);
            spec["affinity"]["nodeAffinity"] = match self.roll(2) {
                0 => {
                    json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}})
                }
                _ => json!({"preferredDuringSchedulingIgnoredDuringExecution": preferred}),
            };
        }
        if self.once_in(is_of("PodAntiAffinity")) {
            let topology = self.one_of(&["zone", "kubernetes.io/hostname"]);
            let term = json!({"topologyKey": topology, "labelSelector": self.selector()});
            let required = json!([term]);
            spec["affinity"]["podAntiAffinity"] =
                json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
        }
        spec
    }

    /// A name of a plugin, its extension point, and arguments.
    fn plugin(&mut self) -> (&'static str, &'static str, Value) {
        let both = json!(["DoNotSchedule", "ScheduleAnyway"]);
        let kinds = ["required", "preferred"]
            .map(|kind| format!("{kind}DuringSchedulingIgnoredDuringExecution"));
        let spread = "RemovePodsViolatingTopologySpreadConstraint";
        self.one_of(&[
            ("RemoveDuplicates", "balance", json!({})),
            ("RemoveDuplicates", "balance", json!({})),
            (spread, "balance", json!({})),
            (spread, "balance", json!({"constraints": both})),
            (spread, "balance", json!({"constraints": both, "topologyBalanceNodeFit": false})),
            (
                "RemovePodsViolatingNodeTaints",
                "deschedule",
                json!({"includePreferNoSchedule": true}),
            ),
            ("RemovePodsViolatingNodeAffinity", "deschedule", json!({"nodeAffinityType": kinds})),
            ("RemovePodsViolatingInterPodAntiAffinity", "deschedule", json!({})),
            (
                "LowNodeUtilization",
                "balance",
                json!({"thresholds": {"cpu": 30}, "targetThresholds": {"cpu": 50}}),
            ),
            ("HighNodeUtilization", "balance", json!({"thresholds": {"cpu": 30}})),
        ])
    }
}

/// The one of this seed.
pub fn scenario(seed: u64) -> Scenario {
    let dice = &mut Dice(seed);
    let nodes: Vec<String> = (0..2 + dice.roll(3)).map(|at| format!("n{at}")).collect();
    let mut scenario = json!({"name": format!("drawn-{seed}"), "nodes": {}, "pods": []});
    for name in &nodes {
        scenario["nodes"][name] = dice.node();
    }
    let (plugin, point, args) = dice.plugin();
    let kinds: Vec<(Value, Value, Value)> = (0..1 + dice.roll(3))
        .map(|at| {
            let labels = json!({"app": dice.one_of(&["x", "x", "y"])});
            let owner = if dice.once_in(12) { String::new() } else { format!("ReplicaSet/{at}") };
            (labels, json!(owner), dice.spec(plugin))
        })
        .collect();
    let pods = 4 + dice.roll(12);
    let all = (0..pods).map(|at| {
        let (labels, owner, spec) = dice.one_of(&kinds);
        // More on the first ones.
        let node = dice.roll(nodes.len() as u64).min(dice.roll(nodes.len() as u64));
        let node = &nodes[node as usize];
        // Which of one owner's pods on a node stays is chance.
        let counted_as = (plugin == "RemoveDuplicates").then(|| format!("{owner} on {node}"));
        json!({
            "name": format!("p{at}"), "count": 1, "node": node, "priority": at, "counted_as": counted_as,
            "labels": labels, "owner": owner, "spec": spec,
            "cpu": dice.one_of(&["100m", "200m", "400m"]), "going": dice.once_in(20),
        })
    });
    scenario["pods"] = all.collect();
    scenario[point] = json!({plugin: args});
    scenario["evictor"] = json!({"nodeFit": dice.once_in(4)});
    serde_json::from_value(scenario).expect("a scenario")
}
