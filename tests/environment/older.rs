//! ReplicationControllers.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario, template};

const OLDER: &str = "/api/v1/namespaces/NS/replicationcontrollers";
const ONE: &str = "/api/v1/namespaces/NS/replicationcontrollers/old";

fn old(replicas: u32, template: Value) -> Step {
    let spec = json!({"replicas": replicas, "template": template});
    Step::Create(OLDER, json!({"metadata": {"name": "old"}, "spec": spec}))
}

fn scale(replicas: u32) -> Step {
    Step::Patch(ONE, json!({"spec": {"replicas": replicas}}))
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let mut refused = template("v1");
    refused["spec"]["priorityClassName"] = json!("none");
    vec![
        scenario(
            "older",
            vec![
                old(2, template("v1")),
                Step::Ready,
                scale(4),
                Step::ReadyOne,
                scale(1),
                Step::DeleteOnePod,
                Step::RelabelOnePod("other"),
                Step::Delete(ONE, Some("Background")),
            ],
        ),
        scenario(
            "older-adopts",
            vec![
                old(2, template("v1")),
                Step::Ready,
                Step::Delete(ONE, Some("Orphan")),
                old(1, template("v1")),
                Step::Delete(ONE, Some("Foreground")),
            ],
        ),
        scenario("older-refused", vec![old(1, refused)]),
    ]
}
