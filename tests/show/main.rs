//! What `trommel show` makes of what a run left behind.

use serde_json::Value;
use trommel_tests::{
    house::House,
    product::{Ended, run},
};

const FOLDER: &str = "examples/bar-foo";

/// A repository with a run of bar-foo in it.
fn house(test: &str) -> House {
    let house = House::new(&format!("show/{test}"), &[FOLDER]);
    let campaign = format!("{FOLDER}/campaign.yaml");
    run(&house.root, ["run", &campaign, "--quiet", "--out", "run"]).expect(100);
    house
}

fn show(house: &House, arguments: &[&str]) -> Ended {
    run(&house.root, ["show"].into_iter().chain(arguments.iter().copied()))
}

fn model(house: &House, path: &str) -> Value {
    let ended = show(house, &["--model", path, "-o", "json"]);
    serde_json::from_str(&ended.expect(0).stdout).expect("the model is JSON")
}

/// The bar is seen, a foo is made, and the bar's status says so: two writes, of which the second follows from the first.
#[test]
fn the_model_says_what_the_controller_reads_and_writes() {
    let house = house("model");
    let ended = show(&house, &["--model", "run"]);
    for part in [
        "bars.example.trommel.dev  first list is the present state, watched: all",
        "w0 create of foos.example.trommel.dev/default/foo-*, making c1",
        "delivered: ADDED bars.example.trommel.dev/default/bar (c0)",
        "w1 update of bars.example.trommel.dev/default/bar (status), making c2",
        "after ADDED bars.example.trommel.dev/default/bar (c0): w0, w1",
    ] {
        assert!(ended.expect(0).stdout.contains(part), "no {part:?} in {ended}");
    }

    let all = model(&house, "run");
    assert_eq!(all["types"]["bars.example.trommel.dev"]["first"], "consistent");
    assert_eq!(all["writes"][1]["concurrent"], Value::Array(vec![]));
    // One run alone: the same, because the model's order is that of the first.
    assert_eq!(model(&house, "run/references/0")["writes"], all["writes"]);
    assert_eq!(model(&house, "run/references/0/history.jsonl.zst")["changes"], all["changes"]);
    assert!(house.path("run/references/before.json").is_file());
}

#[test]
fn what_can_not_be_shown_is_told() {
    let house = house("wrong");
    house.write("empty/file", "");
    let history = "run/references/0/history.jsonl.zst";
    let check = |arguments: &[&str], exit: i32, says: &[&str]| {
        let ended = show(&house, arguments);
        assert_eq!(ended.code, Some(exit), "{arguments:?}: {ended}");
        for part in says {
            assert!(ended.stderr.contains(part), "{arguments:?}: no {part:?} in {ended}");
        }
    };
    check(&["run"], 64, &["run is a folder", "--model", history.trim_start_matches("run/")]);
    check(&["missing"], 64, &["missing: ", "No such file", "trommel run"]);
    check(&["run/summary.json"], 106, &["not a history file", "history.jsonl.zst"]);
    check(&["--model"], 64, &["<RUN>", "Usage"]);
    check(&["--model", "missing"], 64, &["missing: ", "no run folder", "trommel run"]);
    check(&["--model", "empty"], 64, &["empty", "references/0/history.jsonl.zst", "trommel run"]);
    check(&["--model", "run/summary.json"], 106, &["run/summary.json", "not a history file"]);
    check(&["-o", "json", history], 64, &["--model", "Usage"]);
    check(&["--model", history, "-o", "xml"], 64, &["xml", "json"]);

    // A file that was cut is shown as far as it goes; what stands beside the runs must be what it says.
    let whole = std::fs::read(house.path(history)).expect("a history");
    std::fs::write(house.path(history), &whole[..whole.len() - 9]).expect("it can be cut");
    check(&["--model", "run"], 106, &[history, "ends after"]);
    house.write("run/references/before.json", "{}");
    check(&["--model", "run"], 106, &["before.json", "remove it"]);
}
