//! Too few descriptors for the connections that a controller opens: nothing is proved, and that is told.

use std::process::Command;

use trommel_tests::{
    house::House,
    product::{Ended, binary},
};

use crate::{campaigns, controllers};

const LIMIT: &str = "160";

/// Opens more connections than that.
const MANY: &str =
    "for _ in {1..100}; do exec {held}<>/dev/tcp/127.0.0.1/$KUBERNETES_SERVICE_PORT; done
exec sleep infinity\n";

/// Makes two objects; one that was killed in between is connected more than often enough when it is started again.
const RESTARTED: &str = r#"
configmaps=/api/v1/namespaces/default/configmaps
make() {
  connect; ask POST $configmaps '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'"$1"'"}}'
  read -r line <&3
}
has() { connect; ask GET "$configmaps/$1" ''; read -r line <&3; [[ $line != *404* ]]; }
if ! has one; then make one; make two; fi
if has two; then exec sleep infinity; fi
"#;

fn check(test: &str, script: &str, code: i32) -> (House, Ended) {
    let house = crate::house(&format!("descriptors-{test}"));
    house.write("campaign.yaml", campaigns::SOUND);
    house.write("idle.sh", &format!("{}{script}", controllers::CONNECT));
    let mut command = Command::new("sh");
    let run = r#"ulimit -n "$1" && exec "$2" run campaign.yaml --workers 1 --out out"#;
    command.args(["-c", run, "sh", LIMIT]).arg(binary()).current_dir(&house.root);
    let ended = Ended::of(command);
    for part in ["descriptors ran out", LIMIT, "ulimit -Hn"] {
        assert!(ended.expect(code).stderr.contains(part), "no {part:?} in {ended}");
    }
    (house, ended)
}

#[test]
fn none_left_undisturbed() {
    check("undisturbed", &format!("version\n{MANY}"), 75);
}

#[test]
fn none_left_in_trials() {
    let (house, ended) = check("trials", &format!("{RESTARTED}{MANY}"), 2);
    let report = std::fs::read_to_string(house.path("out/report/index.html")).expect("a report");
    assert!(report.contains("unknown: descriptors ran out"), "{ended}");
    assert!(!ended.stdout.contains("1 violated"), "{ended}");
}
