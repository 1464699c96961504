//! An operator with a StatefulSet, claims, a headless Service, a budget and a Job, in front of the embedded cluster: with
//! our controllers and with the real kube-controller-manager beside it, it ends in the same world.

use std::{fs::File, path::Path, sync::Arc};

use serde_json::{Value, json};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, run},
    real::program,
};

use crate::{
    arm::Arm,
    form,
    scenario::{Scenario, Step},
};

const FOLDER: &str = "examples/go-operator";

#[test]
fn an_operator_gets_as_far_as_with_the_real_controllers() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("environment-operator", &[FOLDER]);
    let mut build = std::process::Command::new("go");
    build.args(["build", "-C", "operator", "-o", "../bin/go-operator", "."]);
    build.current_dir(house.path(FOLDER));
    Ended::of(build).expect(0);
    let manager = program("kube-controller-manager").display().to_string();
    let full = end(&house, "full", "");
    let real = end(&house, "kcm", &format!(", controllerManager: ['{manager}']"));
    let ready =
        full["apis/apps/v1/namespaces/NS/statefulsets"][0]["status"]["readyReplicas"].clone();
    assert_eq!(ready, 2, "{full}");
    assert!(full == real, "{}", form::difference(&full, &real));
}

/// What the controllers decided in an undisturbed run.
fn end(house: &House, environment: &str, more: &str) -> Value {
    let text = std::fs::read_to_string(house.path(&format!("{FOLDER}/campaign.yaml")));
    let text = text.expect("the campaign is there");
    let (ours, theirs) = ("environment: full", format!("environment: {environment}{more}"));
    assert!(text.contains(ours), "the campaign names its environment");
    let campaign = format!("{FOLDER}/{environment}.yaml");
    house.write(&campaign, &text.replace(ours, &theirs));
    let ended = run(&house.root, ["play", &campaign, "--out", environment]);
    ended.expect(0);
    let told: Value = serde_json::from_str(&ended.stdout).expect("trommel play prints JSON");
    assert_eq!(told["runs"][0]["end"], "completed", "{told}");
    let file = told["runs"][0]["history"].as_str().expect("a path");
    let ended = End::of(&house.path(environment).join(file));
    let paths =
        ["statefulsets", "serviceaccounts", "services", "disruption", "/jobs", "persistentvolume"];
    let steps = paths.map(Step::Expect).to_vec();
    let everything = Scenario { name: "default".to_owned(), steps };
    form::of(&ended, &everything.name, &form::more(&everything))
}

/// The state at the end of a history, to be asked as a cluster is.
struct End(Vec<Arc<Value>>);

impl End {
    fn of(history: &Path) -> End {
        let file = File::open(history).expect("a history");
        let history = trace::file::read(file).expect("a history").history;
        End(history.settles().last().expect("an end").state.clone())
    }
}

impl Arm for End {
    /// Answers GETs of a namespace and of lists; label selectors of the suite are its own, so none is looked at.
    fn send(&self, method: &str, path: &str, _: Option<Value>) -> (u16, Value) {
        assert_eq!(method, "GET", "{path}");
        let path = path.split('?').next().unwrap_or(path);
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (api, rest) = match &parts[..] {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => panic!("{path}"),
        };
        let (namespace, plural) = match rest {
            ["namespaces", name] => {
                let is = |object: &&Arc<Value>| {
                    object["kind"] == "Namespace" && object["metadata"]["name"] == **name
                };
                return (200, Value::clone(self.0.iter().find(is).expect("a namespace")));
            }
            ["namespaces", namespace, plural] => (Some(*namespace), *plural),
            [plural] => (None, *plural),
            _ => panic!("{path}"),
        };
        let is = |object: &&Arc<Value>| {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            object["apiVersion"] == *api
                && (plural == kind || plural == format!("{kind}s"))
                && namespace.is_none_or(|namespace| object["metadata"]["namespace"] == *namespace)
        };
        let items: Vec<&Arc<Value>> = self.0.iter().filter(is).collect();
        (200, json!({"kind": "List", "items": items}))
    }

    fn wait_for(&self, holds: &dyn Fn() -> bool) {
        assert!(holds(), "it has ended");
    }
}
