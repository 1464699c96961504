//! Scenarios of which Events are compared too: what each controller tells of each object, as a set of type, reason and
//! message. Not how often, nor when: the real controllers try again where they meet each other. Left out are rollouts of
//! many pods, whose steps depend on how many of them are seen to be ready at once.

use serde_json::json;

use crate::{
    daemons,
    scenario::{Scenario, Step, scenario, web},
};

/// What their names begin with.
pub const PREFIX: &str = "events-";

/// Those among the scenarios by hand that are played again for it.
const AGAIN: [&str; 28] = [
    "rollout",
    "rollback",
    "scale",
    "pause",
    "recreate",
    "replace",
    "replica-set",
    "corner-stateful-pod-without-labels",
    "older",
    "stateful-ordered",
    "stateful-parallel",
    "stateful-scale",
    "stateful-update",
    "stateful-on-delete",
    "stateful-claims-retain",
    "daemon",
    "daemon-update",
    "daemon-surge",
    "job-many",
    "job-indexed",
    "job-backoff-limit",
    "job-deadline",
    "job-suspend",
    "job-policy-fail",
    "cron-due",
    "cron-allow",
    "cron-replace",
    "cron-failed-history",
];

/// All of them, of those by hand.
pub fn all(by_hand: &[Scenario]) -> Vec<Scenario> {
    let again = AGAIN.map(|name| {
        let found = by_hand.iter().find(|scenario| scenario.name == name);
        let steps = found.unwrap_or_else(|| panic!("no scenario {name}")).steps.clone();
        Scenario { name: format!("{PREFIX}{name}"), steps }
    });
    let own = [
        // More than nine of a kind, which are told together.
        scenario("events-many", vec![web(12, json!({}))]),
        // On one node: on two, chance says which of them is told of.
        scenario(
            "events-daemon-pod-ends",
            [
                daemons::nodes(&["a"]),
                vec![daemons::log(json!({})), Step::End(1, 1), Step::Bind, Step::End(1, 0)],
            ]
            .concat(),
        ),
    ];
    again.into_iter().chain(own).collect()
}

/// What is told, without what chance put into the names of pods of this owner.
pub fn message(text: &str, owner: &str) -> String {
    let word = |word: &str| {
        let plain = word.trim_matches(['"', ',']);
        let name = plain.rsplit('/').next().unwrap_or(plain);
        match name.rsplit_once('-') {
            Some((stem, chance))
                if matches!(chance.len(), 0 | 5)
                    && format!("{stem}-").starts_with(&format!("{owner}-")) =>
            {
                word.replace(name, &format!("{stem}-POD"))
            }
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<String>>().join(" ")
}

#[test]
fn names_of_pods_are_left_out() {
    assert_eq!(message("Created pod: web-5d9-x8d2k", "web-5d9"), "Created pod: web-5d9-POD");
    assert_eq!(
        message("pods \"web-5d9-\" is, \"web-5d9-x8d2k\"", "web-5d9"),
        "pods \"web-5d9-POD\" is, \"web-5d9-POD\""
    );
    assert_eq!(message("pod n/log-x8d2k on node", "log"), "pod n/log-POD on node");
    assert_eq!(
        message("Create Pod db-0 in StatefulSet db", "db"),
        "Create Pod db-0 in StatefulSet db"
    );
    assert_eq!(message("Created pod: work-0-x8d2k", "work"), "Created pod: work-0-POD");
}
