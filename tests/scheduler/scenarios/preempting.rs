//! Pods that have to go.

use serde_json::{Value, json};

use super::{Scenario, Step, asks, pod, scenario};

const BUDGETS: &str = "/apis/policy/v1/namespaces/NS/poddisruptionbudgets";

fn of(class: &str, cpu: &str) -> Value {
    json!({"priorityClassName": class, "containers": asks(cpu)})
}

/// On a node, since a second.
fn on(name: &'static str, node: &str, mut fields: Value, second: u32) -> [Step; 2] {
    fields["nodeName"] = json!(node);
    [pod(name, fields), Step::Runs(name, second)]
}

fn small(name: &'static str) -> (&'static str, Value) {
    (name, json!({"size": {"cpu": "4"}}))
}

pub fn all() -> Vec<Scenario> {
    let plain = |cpu: &str| json!({"containers": asks(cpu)});
    let labelled = |cpu: &str| json!({"containers": asks(cpu), "labels": {"app": "a"}});
    let held = |cpu: &str| json!({"containers": asks(cpu), "terminationGracePeriodSeconds": 600});
    let steps = |parts: Vec<Vec<Step>>| parts.concat();
    vec![
        scenario(
            "preempts",
            steps(vec![
                vec![Step::Nodes(vec![small("a"), small("b")])],
                on("low", "a", of("low", "3"), 1).into(),
                on("none", "b", plain("3"), 2).into(),
                vec![pod("high", of("high", "2")), Step::Gone("none")],
            ]),
        ),
        scenario(
            "preempts-few",
            steps(vec![
                vec![Step::Nodes(vec![small("a")])],
                on("old", "a", held("2"), 1).into(),
                on("young", "a", held("2"), 2).into(),
                vec![
                    pod("high", of("high", "2")),
                    pod("polite", of("polite", "1")),
                    Step::Gone("young"),
                ],
            ]),
        ),
        scenario(
            "preempts-two",
            steps(vec![
                vec![Step::Nodes(vec![small("a")])],
                on("one", "a", held("2"), 1).into(),
                on("two", "a", held("2"), 2).into(),
                vec![pod("high", of("high", "3")), Step::Gone("one"), Step::Gone("two")],
            ]),
        ),
        scenario(
            "preempts-by-budget",
            steps(vec![
                vec![
                    Step::Nodes(vec![small("a"), small("b")]),
                    Step::Create(
                        BUDGETS,
                        json!({"metadata": {"name": "b"}, "spec": {
                            "selector": {"matchLabels": {"app": "a"}}, "minAvailable": 1,
                        }}),
                    ),
                ],
                on("guarded", "a", labelled("3"), 1).into(),
                on("free", "b", of("low", "3"), 2).into(),
                vec![pod("high", of("high", "2"))],
            ]),
        ),
        scenario(
            "preempts-against-a-budget",
            steps(vec![
                vec![
                    Step::Nodes(vec![small("a")]),
                    Step::Create(
                        BUDGETS,
                        json!({"metadata": {"name": "b"}, "spec": {
                            "selector": {"matchLabels": {"app": "a"}}, "minAvailable": 1,
                        }}),
                    ),
                ],
                on("guarded", "a", labelled("3"), 1).into(),
                vec![pod("high", of("high", "2"))],
            ]),
        ),
        scenario(
            "preempts-in-vain",
            steps(vec![
                vec![Step::Nodes(vec![
                    small("a"),
                    small("b"),
                    ("c", json!({"size": {"cpu": "1"}})),
                    ("d", json!({"unschedulable": true})),
                ])],
                on("high", "a", of("high", "3"), 1).into(),
                on("both", "b", of("high", "3"), 2).into(),
                on("low", "b", plain("1"), 3).into(),
                vec![pod("late", of("high", "2"))],
            ]),
        ),
        scenario(
            "nomination-is-taken",
            steps(vec![
                vec![Step::Nodes(vec![small("a")])],
                on("one", "a", held("2"), 1).into(),
                on("two", "a", held("2"), 2).into(),
                vec![pod("middle", of("low", "2")), pod("high", of("high", "4"))],
            ]),
        ),
        scenario(
            "victim-leaves",
            steps(vec![
                vec![Step::Nodes(vec![small("a")])],
                on("one", "a", held("3"), 1).into(),
                vec![pod("middle", of("low", "3")), pod("high", of("high", "3"))],
            ]),
        ),
        scenario(
            "kept-for-others",
            steps(vec![
                vec![Step::Nodes(vec![small("a")])],
                on("one", "a", held("3"), 1).into(),
                vec![pod("high", of("high", "3")), pod("small", plain("1"))],
            ]),
        ),
        scenario(
            "priority-first",
            vec![
                pod("a", of("low", "3")),
                pod("b", of("high", "3")),
                Step::Nodes(vec![("n", json!({"size": {"cpu": "4"}}))]),
            ],
        ),
    ]
}
