//! What is drawn of ReplicaSets, owners, namespaces, endpoints and budgets.

use serde_json::{Value, json};

use super::{Dice, Plot};
use crate::{
    jobs,
    scenario::{MAPS, SETS, Step, change, map, template, web},
    services::{self, PODS, SHOP},
    stateful,
};

const ALONE: &str = "/apis/apps/v1/namespaces/NS/replicasets/alone";
const NAMESPACE: &str = "/api/v1/namespaces/NS";
const BUDGET: &str = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets/b";

/// What keeps an object that is deleted.
const HOLD: &str = "example.com/hold";

/// ConfigMaps and their paths.
const OWNERS: [(&str, &str); 6] = [
    ("m0", "/api/v1/namespaces/NS/configmaps/m0"),
    ("m1", "/api/v1/namespaces/NS/configmaps/m1"),
    ("m2", "/api/v1/namespaces/NS/configmaps/m2"),
    ("m3", "/api/v1/namespaces/NS/configmaps/m3"),
    ("m4", "/api/v1/namespaces/NS/configmaps/m4"),
    ("m5", "/api/v1/namespaces/NS/configmaps/m5"),
];

/// Pods: name, path, path of the status, address.
const BACKENDS: [(&str, &str, &str, &str); 3] = [
    ("p0", "/api/v1/namespaces/NS/pods/p0", "/api/v1/namespaces/NS/pods/p0/status", "10.1.0.1"),
    ("p1", "/api/v1/namespaces/NS/pods/p1", "/api/v1/namespaces/NS/pods/p1/status", "10.1.0.2"),
    ("p2", "/api/v1/namespaces/NS/pods/p2", "/api/v1/namespaces/NS/pods/p2/status", "10.1.0.3"),
];

fn held(mut step: Step) -> Step {
    if let Step::Create(_, object) = &mut step {
        object["metadata"]["finalizers"] = json!([HOLD]);
    }
    step
}

fn release(path: &'static str) -> Step {
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [HOLD]}});
    Step::MayPatch(path, patch)
}

/// A pod that nobody made, as the ReplicaSet would: which of them it deletes is chance.
fn stray() -> Step {
    let mut pod = template("v1");
    pod["metadata"]["generateName"] = json!("alone-");
    Step::Create(PODS, pod)
}

/// A pod by name.
fn lone() -> Step {
    let mut pod = template("v1");
    pod["metadata"]["name"] = json!("lone");
    Step::Create(PODS, pod)
}

fn alone(replicas: u64) -> Step {
    let spec = json!({
        "replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template("v1"),
    });
    Step::Create(SETS, json!({"metadata": {"name": "alone"}, "spec": spec}))
}

fn backend((name, _, _, _): (&str, &str, &str, &str)) -> Step {
    let ports = json!([{"name": "web", "containerPort": 8080}]);
    Step::Create(
        PODS,
        json!({
            "metadata": {"name": name, "labels": {"app": "shop"}},
            "spec": {
                "nodeName": "$NS-a", "hostname": name, "subdomain": "shop",
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "v1", "ports": ports}],
            },
        }),
    )
}

/// Lets a namespace go, so that nobody has to look after it for ever.
pub(super) fn release_all() -> Vec<Step> {
    let others =
        ["/api/v1/namespaces/NS/configmaps/last", "/api/v1/namespaces/NS/pods/lone"].into_iter();
    OWNERS.iter().map(|(_, path)| *path).chain(others).map(release).collect()
}

/// As a kubelet says it.
fn succeeded() -> Value {
    let ready = json!({"type": "Ready", "status": "False", "reason": "PodCompleted"});
    json!({"status": {"phase": "Succeeded", "conditions": [ready]}})
}

impl Dice {
    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize].clone()
    }

    fn policy(&mut self) -> Option<&'static str> {
        self.one(&[None, Some("Background"), Some("Foreground"), Some("Orphan")])
    }

    /// A ReplicaSet, sometimes with pods to adopt; sometimes orphaned and made anew.
    pub(super) fn replica_set(&mut self) -> Plot {
        let mut first = vec![stray(); self.roll(3) as usize];
        first.push(alone(1 + self.roll(4)));
        (first, |dice| match dice.roll(12) {
            0..=2 => {
                let patch = json!({"spec": {"replicas": dice.roll(5)}});
                vec![Step::Patch(ALONE, patch)]
            }
            3 | 4 => vec![Step::DeleteOnePod],
            5 => vec![Step::End(1, dice.roll(2) as i32)],
            6 => vec![Step::RelabelOnePod("other")],
            7 => vec![Step::RelabelOnePod("web")],
            8 => vec![Step::Delete(ALONE, dice.policy()), alone(1 + dice.roll(4))],
            _ => vec![Step::ReadyOne],
        })
    }

    /// ConfigMaps that own each other, some of which are held, deleted in any way.
    pub(super) fn owners(&mut self) -> Plot {
        let mut first = Vec::new();
        for (index, (name, _)) in OWNERS.iter().enumerate() {
            let owners: Vec<String> = OWNERS[..index].iter().fold(vec![], |mut owners, (of, _)| {
                match self.roll(4) {
                    0 => owners.push(format!("{of}!")),
                    1 => owners.push((*of).to_owned()),
                    _ => {}
                }
                owners
            });
            let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
            let made = map(name, &owners);
            first.push(if self.roll(4) == 0 { held(made) } else { made });
        }
        (first, |dice| {
            let (_, path) = dice.one(&OWNERS);
            vec![match dice.roll(4) {
                0 => release(path),
                _ => Step::MayDelete(path, dice.policy()),
            }]
        })
    }

    /// A namespace with things in it, some of which are held, deleted.
    pub(super) fn namespace(&mut self) -> Plot {
        let mut first = vec![];
        for (name, _) in &OWNERS[..1 + self.roll(4) as usize] {
            let made = map(name, &[]);
            first.push(if self.roll(2) == 0 { held(made) } else { made });
        }
        for _ in 0..self.roll(3) {
            let more = [
                web(2, json!({})),
                stateful::db(1, json!({})),
                jobs::job(json!({})),
                services::shop(json!({})),
                stray(),
                held(lone()),
            ];
            let more = self.one(&more);
            if !first.iter().any(|step| format!("{step:?}") == format!("{more:?}")) {
                first.push(more);
            }
        }
        if self.roll(2) == 0 {
            first.push(Step::Ready);
        }
        first.push(held(map("last", &[])));
        first.push(Step::Delete(NAMESPACE, None));
        // Nothing new comes into it.
        let refused = json!({"metadata": {"name": "late"}});
        first.push(Step::Post(MAPS, refused, 403));
        (first, |dice| {
            let (_, path) = dice.one(&OWNERS);
            vec![match dice.roll(8) {
                0 => release("/api/v1/namespaces/NS/configmaps/last"),
                1 => release("/api/v1/namespaces/NS/pods/lone"),
                _ => release(path),
            }]
        })
    }

    /// A Service and pods that come and go behind it. One that is held is terminating for a while, and gone where it
    /// is not.
    pub(super) fn endpoints(&mut self) -> Plot {
        let more = match self.roll(3) {
            0 => json!({"publishNotReadyAddresses": true}),
            1 => json!({"ports": [{"name": "http", "port": 80, "targetPort": 8080}]}),
            _ => json!({}),
        };
        let mut first = vec![services::node(), services::shop(more)];
        for of in &BACKENDS[..1 + self.roll(3) as usize] {
            let made = backend(*of);
            first.push(if self.roll(2) == 0 { held(made) } else { made });
        }
        (first, |dice| {
            let (_, path, status, address) = dice.one(&BACKENDS);
            vec![match dice.roll(12) {
                0 => Step::MayDelete(path, None),
                1 => release(path),
                2 => {
                    let label = dice.one(&["shop", "other"]);
                    Step::MayPatch(path, json!({"metadata": {"labels": {"app": label}}}))
                }
                3 => {
                    let flag = dice.roll(2) == 0;
                    Step::Patch(SHOP, json!({"spec": {"publishNotReadyAddresses": flag}}))
                }
                4 => {
                    let target = dice.one(&[json!("web"), json!(9090), json!("none")]);
                    let ports = json!([{"name": "http", "port": 80, "targetPort": target}]);
                    Step::Patch(SHOP, json!({"spec": {"ports": ports}}))
                }
                5 => Step::Patch(SHOP, json!({"metadata": {"labels": {"of": dice.image()}}})),
                6 => Step::MayPatch(status, succeeded()),
                _ => match services::state(status, address, dice.roll(3) > 0) {
                    Step::Patch(path, patch) => Step::MayPatch(path, patch),
                    other => other,
                },
            }]
        })
    }

    fn limit(&mut self) -> Value {
        let field = self.one(&["minAvailable", "maxUnavailable"]);
        json!({field: self.amount()})
    }

    /// A budget over a Deployment or a StatefulSet, whose pods are evicted.
    pub(super) fn budget(&mut self) -> Plot {
        let stateful = self.roll(3) == 0;
        let mut spec = self.limit();
        let app = if stateful { "db" } else { "web" };
        spec["selector"] = json!({"matchLabels": {"app": app}});
        if self.roll(2) == 0 {
            spec["unhealthyPodEvictionPolicy"] =
                json!(self.one(&["IfHealthyBudget", "AlwaysAllow"]));
        }
        let replicas = 1 + self.roll(4) as u32;
        let workload = match stateful {
            true => stateful::db(replicas, json!({"podManagementPolicy": "Parallel"})),
            false => web(replicas, json!({})),
        };
        let mut first = vec![workload, services::budget(spec), Step::Ready];
        let step: fn(&mut Dice) -> Vec<Step> = |dice| {
            vec![match dice.roll(10) {
                0..=3 => Step::EvictOnePod,
                4 => Step::DeleteOnePod,
                5 => {
                    let spec = dice.limit();
                    let other = json!({"minAvailable": null, "maxUnavailable": null});
                    let mut patch = other;
                    for (field, value) in spec.as_object().into_iter().flatten() {
                        patch[field] = value.clone();
                    }
                    Step::Patch(BUDGET, json!({"spec": patch}))
                }
                6 => Step::Ready,
                _ => Step::ReadyOne,
            }]
        };
        if stateful {
            // Whether the real budget remembers an eviction when the next pod has the same name is chance.
            return (first, |dice| match dice.roll(4) {
                0 => vec![Step::DeleteOnePod],
                1 => vec![stateful::change(json!({"replicas": dice.roll(4)}))],
                _ => vec![Step::ReadyOne],
            });
        }
        first.push(change(json!({"replicas": 1 + self.roll(4)})));
        (first, step)
    }
}
