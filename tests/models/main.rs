//! Runs of models lead real controllers: the counterexample, all runs, and the places where model and controller part.

use serde_json::Value;
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{json, run},
};

const EXAMPLE: &str = "examples/bar-foo";
const MODEL: &str = "examples/bar-foo/model";

/// Runs a campaign along a module's runs. The summary.
fn led(house: &House, campaign: &str, module: &str, exit: i32) -> Value {
    let (schedule, binding) = (format!("{MODEL}/{module}.tla"), format!("{MODEL}/binding.yaml"));
    led_by(house, campaign, &schedule, &binding, exit)
}

fn led_by(house: &House, campaign: &str, schedule: &str, binding: &str, exit: i32) -> Value {
    let flags = ["--schedule", schedule, "--binding", binding, "--out", "out", "--quiet"];
    run(&house.root, ["run", campaign].into_iter().chain(flags)).expect(exit);
    json(&house.path("out/summary.json"))
}

fn example(name: &str) -> House {
    House::new(&format!("models/{name}"), &[EXAMPLE])
}

/// All of the findings: oracle and whether confirmed.
fn findings(summary: &Value) -> Vec<(&str, bool)> {
    let all = summary["findings"].as_array().expect("findings").iter();
    let confirmed = serde_json::json!({"k": 5, "n": 5});
    all.map(|one| (one["oracle"].as_str().unwrap_or_default(), one["confirmed"] == confirmed))
        .collect()
}

#[test]
fn the_counterexample_makes_two_foos() {
    let house = example("counterexample");
    let summary = led(&house, &format!("{EXAMPLE}/campaign.yaml"), "bar_foo", 100);
    assert_eq!(findings(&summary), [("end-state", true)]);
    assert_eq!(summary["findings"][0]["id"], "d8dc8d6caf56", "as without a model: {summary}");
}

/// With at most two deaths there are seven runs, of which four make more than one Foo.
#[test]
fn all_runs_are_those_of_the_model() {
    let house = example("all");
    let summary = led(&house, &format!("{EXAMPLE}/campaign.yaml"), "all", 100);
    assert_eq!(findings(&summary), [("end-state", true)], "the model never disagrees");
    let runs = &summary["families"]["model-runs"];
    let of = |name: &str| runs[name].as_u64();
    assert_eq!((of("run"), of("held"), of("violated")), (Some(7), Some(3), Some(4)), "{runs}");
}

#[test]
fn the_repaired_controller_survives_all_runs_of_its_model() {
    let house = example("fixed");
    let summary = led(&house, &format!("{EXAMPLE}/fixed.yaml"), "fixed", 0);
    let runs = &summary["families"]["model-runs"];
    assert_eq!((runs["run"].as_u64(), runs["held"].as_u64()), (Some(7), Some(7)), "{runs}");
}

/// The repaired controller is none of which the model is wrong.
#[test]
fn where_controller_and_model_part_is_a_finding_that_replays() {
    let house = example("parted");
    let summary = led(&house, &format!("{EXAMPLE}/fixed.yaml"), "all", 100);
    assert_eq!(findings(&summary), [("model", true)]);
    let finding = &summary["findings"][0];
    let title = finding["title"].as_str().unwrap_or_default();
    let parted = "inconsistent state after step 5 (CreateObject): fooObjs is <<\"Foo\", \"Foo\">>";
    assert!(title.contains(parted), "{title}");
    let file = format!("out/{}", finding["replay"].as_str().expect("a replay file"));
    let again = ["replay", &file, "--quiet", "-k", "2", "--out", "again"];
    let ended = run(&house.root, again);
    assert!(ended.expect(100).stdout.contains("reproduced 2 of 2"), "{ended}");
    // The model of the repaired controller agrees: what was found is gone with it.
    let campaign = format!("{EXAMPLE}/campaign.yaml");
    let ended = run(
        &house.root,
        ["replay", &file, "--campaign", &campaign, "--quiet", "-k", "1", "--out", "other"],
    );
    ended.expect(100);
    assert!(
        !ended.stdout.contains("reproduced"),
        "the other controller does as its model: {ended}"
    );
}

#[test]
fn controllers_in_go_and_python_follow_the_counterexample() {
    for (name, need) in [("go-bar-foo", Need::Go), ("python-bar-foo", Need::Python)] {
        if !needs(&[need]) {
            continue;
        }
        let (campaign, subject) =
            (format!("tests/campaigns/{name}"), format!("tests/subjects/{name}"));
        let house = House::new(&format!("models/{name}"), &[EXAMPLE, &campaign, &subject]);
        let summary = led(&house, &format!("{campaign}/campaign.yaml"), "bar_foo", 100);
        assert_eq!(summary["findings"][0]["id"], "d8dc8d6caf56", "{name}: {summary}");
        // The twin, along all runs of its model. kopf keeps what it has seen in an annotation, of which that says nothing.
        let binding = std::fs::read_to_string(house.path(&format!("{MODEL}/binding.yaml")));
        let free = match name {
            "python-bar-foo" => {
                "  free:\n    - {verb: patch, resource: bars.example.trommel.dev}\n"
            }
            _ => "",
        };
        house.write("twin.yaml", &format!("{}{free}", binding.expect("it is there")));
        std::fs::remove_dir_all(house.path("out")).expect("a run");
        let (campaign, schedule) = (format!("{campaign}/fixed.yaml"), format!("{MODEL}/fixed.tla"));
        let summary = led_by(&house, &campaign, &schedule, "twin.yaml", 0);
        let runs = &summary["families"]["model-runs"];
        assert_eq!((runs["run"].as_u64(), runs["held"].as_u64()), (Some(7), Some(7)), "{runs}");
    }
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let house = example("wrong");
    let binding = std::fs::read_to_string(house.path(&format!("{MODEL}/binding.yaml")));
    let binding = binding.expect("it is there");
    let check = |from: &str, to: &str, told: &str| {
        assert!(binding.contains(from), "{binding}");
        house.write("wrong.yaml", &binding.replace(from, to));
        let schedule = format!("{MODEL}/bar_foo.tla");
        let campaign = format!("{EXAMPLE}/campaign.yaml");
        let flags = ["--schedule", &schedule, "--binding", "wrong.yaml", "--out", "wrong"];
        let ended = run(&house.root, ["run", &campaign].into_iter().chain(flags));
        assert!(ended.expect(64).stderr.contains(told), "no {told:?}: {ended}");
    };
    check("    CreateObject:", "    CreateObjects:", "did you mean \"CreateObjects\"?");
    check(
        "    Start: internal",
        "    Start: nothing",
        "wrong.yaml:6:12: unknown value \"nothing\"",
    );
    check("fooObjs: objects", "fooObjs: object", "spec.variables.fooObjs: \"object\" is not known");
    check("    fooObjs:", "    foos:", "the variable \"foos\", which the trace does not have");
    check("objects.exists(o", "objects.exists((o", "spec.variables.barObj.created: ");
}
