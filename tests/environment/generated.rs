//! Scenarios drawn from a seed: a workload of any kind, then scaled, changed, paused, its pods becoming ready, ending
//! or going away one at a time; owners, namespaces, endpoints and budgets (`plots.rs`). One event between two rests, so
//! that upstream has one end to come to, whichever of its controllers is faster; but for Deployments, two of whose
//! changes may come at once, and which then may come to several ends (`ends.rs`).
//!
//! Left out, because upstream's end is chance there: DaemonSets with surge (which of two pods of a node counts is
//! decided by their names); where one of the nodes is tainted, updates and deletions of pods (which node's pod goes
//! first); two budgets over one pod (a change of it is told to one of them); and ReplicaSets whose template changes (of
//! two pods that are equally well, the younger one goes, but ages of the same magnitude count as equal).

use serde_json::{Value, json};

use crate::{
    daemons, jobs,
    scenario::{Scenario, Step, change, image, web},
    services, stateful,
};

mod plots;

/// Steps after the creation.
const STEPS: usize = 10;

/// The same draws from the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        trommel_tests::drawn(&mut self.0, sides)
    }

    fn amount(&mut self) -> Value {
        match self.roll(3) {
            0 => json!(self.roll(3)),
            1 => json!("25%"),
            _ => json!("50%"),
        }
    }

    fn strategy(&mut self) -> Value {
        if self.roll(4) == 0 {
            return json!({"strategy": {"type": "Recreate"}});
        }
        let (surge, mut unavailable) = (self.amount(), self.amount());
        if surge == 0 && unavailable == 0 {
            unavailable = json!(1); // both zero is refused
        }
        let bounds = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        json!({"strategy": {"rollingUpdate": bounds}, "revisionHistoryLimit": self.roll(3)})
    }

    fn step(&mut self) -> Step {
        match self.roll(12) {
            0 | 1 => change(json!({"replicas": self.size()})),
            2 | 3 => image(self.image()),
            4 => change(json!({"paused": self.roll(2) == 0})),
            5 => Step::DeleteOnePod,
            6 | 7 => self.two_changes(),
            8 => Step::Ready,
            _ => Step::ReadyOne,
        }
    }

    fn size(&mut self) -> u64 {
        self.roll(9)
    }

    /// Two changes of a Deployment, at most one of them of its template: which of two sets of the same second is the
    /// older one is chance.
    fn two_changes(&mut self) -> Step {
        let first = change(json!({"replicas": self.size()}));
        let second = match self.roll(4) {
            0 => change(json!({"replicas": self.size()})),
            1 => change(json!({"paused": self.roll(2) == 0})),
            _ => image(self.image()),
        };
        Step::AtOnce(if self.roll(2) == 0 { vec![first, second] } else { vec![second, first] })
    }
}

/// A scenario's first steps, and one that is drawn again and again.
type Plot = (Vec<Step>, fn(&mut Dice) -> Vec<Step>);

impl Dice {
    fn image(&mut self) -> &'static str {
        ["v1", "v2", "v3"][self.roll(3) as usize]
    }

    /// A Deployment, half of the time with a budget over its pods.
    fn deployment(&mut self) -> Plot {
        let replicas = 1 + self.roll(8) as u32;
        let mut first = vec![web(replicas, self.strategy())];
        if self.roll(2) == 0 {
            let field = ["minAvailable", "maxUnavailable"][self.roll(2) as usize];
            first.push(services::budget(json!({field: self.amount()})));
        }
        (first, |dice| vec![dice.step()])
    }

    fn stateful_set(&mut self) -> Plot {
        let policy = ["OrderedReady", "Parallel"][self.roll(2) as usize];
        let mut spec = json!({
            "podManagementPolicy": policy, "revisionHistoryLimit": self.roll(3),
            "ordinals": {"start": self.roll(3)},
        });
        spec["updateStrategy"] = match self.roll(4) {
            0 => json!({"type": "OnDelete"}),
            _ => json!({"rollingUpdate": {"partition": self.roll(3)}}),
        };
        let first = vec![stateful::db(1 + self.roll(3) as u32, spec)];
        (first, |dice| {
            vec![match dice.roll(10) {
                0 | 1 => stateful::change(json!({"replicas": dice.roll(4)})),
                2 | 3 => stateful::image(dice.image()),
                4 => Step::DeleteOnePod,
                5 => Step::End(1, dice.roll(2) as i32),
                _ => Step::ReadyOne,
            }]
        })
    }

    fn job(&mut self) -> Plot {
        let mut spec = json!({"parallelism": 1 + self.roll(3), "backoffLimit": self.roll(4)});
        if self.roll(3) > 0 {
            spec["completions"] = json!(1 + self.roll(4));
        }
        if self.roll(2) == 0 {
            spec["completionMode"] = json!("Indexed");
            spec["completions"] = json!(1 + self.roll(4));
            if self.roll(2) == 0 {
                spec["backoffLimitPerIndex"] = json!(self.roll(2));
                spec["backoffLimit"] = json!(i32::MAX);
            }
        }
        if self.roll(3) == 0 {
            let action = ["FailJob", "Ignore", "Count"][self.roll(3) as usize];
            spec["podFailurePolicy"] = json!({"rules": [jobs::on_codes(action, &[2])]});
        }
        (vec![jobs::job(spec)], |dice| {
            vec![match dice.roll(8) {
                0 => jobs::change(json!({"suspend": dice.roll(2) == 0})),
                1 => jobs::change(json!({"parallelism": dice.roll(4)})),
                2 => Step::Ready,
                _ => Step::End(1, dice.roll(3) as i32),
            }]
        })
    }

    /// One that is updated, or one whose nodes are tainted.
    fn daemon_set(&mut self) -> Plot {
        let mut first = daemons::nodes(&["a", "b", "c"][..1 + self.roll(3) as usize]);
        if self.roll(2) == 0 {
            first.extend([daemons::log(json!({})), Step::Bind]);
            return (first, |dice| {
                let step = match dice.roll(6) {
                    0 => daemons::taint("NoSchedule"),
                    1 => daemons::taint("NoExecute"),
                    2 | 3 => daemons::no_taint(),
                    _ => Step::Ready,
                };
                vec![step, Step::Bind]
            });
        }
        let unavailable = [json!(1), json!(2), json!("50%")][self.roll(3) as usize].clone();
        let mut spec = daemons::rolling(json!(0), unavailable);
        spec["revisionHistoryLimit"] = json!(self.roll(3));
        first.extend([daemons::log(spec), Step::Bind]);
        (first, |dice| {
            let step = match dice.roll(8) {
                0..=2 => daemons::image(dice.image()),
                3 => Step::DeleteOnePod,
                4 => Step::End(1, 1),
                _ => Step::ReadyOne,
            };
            vec![step, Step::Bind]
        })
    }
}

/// The scenario of a seed.
pub fn scenario(seed: u64) -> Scenario {
    let mut dice = Dice(seed);
    let (kind, (mut steps, step)) = match seed % 9 {
        0 => ("deployment", dice.deployment()),
        1 => ("replicaset", dice.replica_set()),
        2 => ("stateful", dice.stateful_set()),
        3 => ("daemon", dice.daemon_set()),
        4 => ("job", dice.job()),
        5 => ("gc", dice.owners()),
        6 => ("namespace", dice.namespace()),
        7 => ("slice", dice.endpoints()),
        _ => ("budget", dice.budget()),
    };
    for _ in 0..STEPS {
        steps.extend(step(&mut dice));
    }
    if kind == "namespace" {
        steps.extend(plots::release_all());
    }
    Scenario { name: format!("generated-{kind}-{seed}"), steps }
}
