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

/// Number of Foos after each action, as a trace.
fn trace(house: &House, name: &str, steps: &[(&str, usize)]) {
    let step = |(action, foos): &(&str, usize)| match *action {
        "" => format!("{{\"state\":{{\"foos\":{foos}}}}}\n"),
        action => {
            format!("{{\"action\":{{\"name\":\"{action}\"}},\"state\":{{\"foos\":{foos}}}}}\n")
        }
    };
    house.write(name, &steps.iter().map(step).collect::<String>());
}

const COUNTED: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Binding
spec:
  actions:
    Create: {request: {verb: create, resource: foos.example.trommel.dev}}
    Mark: {request: {verb: [update, patch], resource: bars.example.trommel.dev, subresource: status}}
    Think: internal
";

const FOOS: &str = "  variables: {foos: \"size(objects.filter(o, o.kind == 'Foo'))\"}\n";

/// The state behind a last step that nobody sees counts. A finding without a crash has an empty plan, and replays.
#[test]
fn the_last_state_is_looked_at_and_replays_without_a_crash() {
    let house = example("last");
    trace(&house, "last.ndjson", &[("", 0), ("Create", 1), ("Mark", 1), ("Think", 9)]);
    house.write("counted.yaml", &format!("{COUNTED}{FOOS}"));
    let campaign = format!("{EXAMPLE}/campaign.yaml");
    let summary = led_by(&house, &campaign, "last.ndjson", "counted.yaml", 100);
    assert_eq!(findings(&summary), [("model", true)]);
    let finding = &summary["findings"][0];
    let title = finding["title"].as_str().unwrap_or_default();
    let parted =
        "inconsistent state after step 3 (Think): foos is 9 in the model, and 1 in the cluster";
    assert!(title.contains(parted), "{title}");
    let file = format!("out/{}", finding["replay"].as_str().expect("a replay file"));
    let text = std::fs::read_to_string(house.path(&file)).expect("a replay file");
    assert!(text.contains("plan: []"), "{text}");
    let explained = file.replace("replay.yaml", "explain.md");
    let explained = std::fs::read_to_string(house.path(&explained)).expect("an explanation");
    assert!(explained.contains("*Reason:* which no run of the model shows\n"), "{explained}");
    let replay = |out: &str, exit: i32| {
        let again = ["replay", &file, "--quiet", "-k", "1", "--out", out];
        run(&house.root, again).expect(exit).stdout.clone()
    };
    assert!(replay("again", 100).contains("reproduced 1 of 1"));
    // The model is mended, and the file guards it.
    let mended = text.replace("expect: finding", "expect: clean").replace("\"9\"", "\"1\"");
    assert_ne!(mended, text);
    house.write(&file, &mended);
    replay("mended", 0);
}

/// Where nothing of a run can be seen, nothing is known. Each of two models has to be kept to, whichever fits.
#[test]
fn what_proves_nothing_is_not_held() {
    let house = example("nothing");
    let campaign = format!("{EXAMPLE}/fixed.yaml");
    trace(&house, "unseen.ndjson", &[("", 0), ("Think", 0)]);
    trace(&house, "right.ndjson", &[("", 0), ("Create", 1), ("Mark", 1)]);
    trace(&house, "wrong.ndjson", &[("", 0), ("Mark", 0)]);
    house.write("counted.yaml", COUNTED);
    let summary = led_by(&house, &campaign, "unseen.ndjson", "counted.yaml", 2);
    assert_eq!(summary["families"]["model-runs"]["unknown"], 1, "{summary}");
    let both = ["right.ndjson", "wrong.ndjson"].map(|name| ["--schedule", name]).concat();
    let flags = ["--binding", "counted.yaml", "--out", "both", "--quiet"];
    let ended = run(&house.root, ["run", &campaign].into_iter().chain(both).chain(flags));
    ended.expect(100);
    let title = &json(&house.path("both/summary.json"))["findings"][0]["title"];
    let parted = "where the model goes on with step 1 (Mark)";
    assert!(title.as_str().is_some_and(|title| title.contains(parted)), "{title}");
}

/// A module that is wrong leads nothing, whatever could be evaluated of it. A counterexample that stands still is led to
/// where it stands.
#[test]
fn modules_that_fail_lead_nothing_and_those_that_stand_still_do() {
    let house = example("modules");
    let module = std::fs::read_to_string(house.path(&format!("{MODEL}/bar_foo.tla")));
    let module = module.expect("it is there").replace("MODULE bar_foo", "MODULE changed");
    let write = |from: &str, to: &str| {
        assert!(module.contains(from), "{module}");
        house.write(&format!("{MODEL}/changed.tla"), &module.replace(from, to));
        let cfg = "SPECIFICATION Spec\nCONSTANTS\n  Fixed = TRUE\n  Reboots = 2\nPROPERTY ESR\n";
        house.write(&format!("{MODEL}/changed.cfg"), cfg);
    };
    let wrong = |from: &str, to: &str, told: &str| {
        write(from, to);
        let (schedule, binding) = (format!("{MODEL}/changed.tla"), format!("{MODEL}/binding.yaml"));
        let campaign = format!("{EXAMPLE}/fixed.yaml");
        let flags = ["--schedule", &schedule, "--binding", &binding, "--out", "wrong"];
        let ended = run(&house.root, ["run", &campaign].into_iter().chain(flags));
        assert!(ended.expect(64).stderr.contains(told), "no {told:?}: {ended}");
    };
    wrong("Append(", "Apend(", "nothing defines `Apend`; did you mean `Append`?");
    wrong("[created |-> TRUE]", "[created |-> TRUE", "in the definition of MarkCreated");
    wrong(
        "UNCHANGED << barObj, reboots >>",
        "UNCHANGED barObj",
        "not assigned in action CreateObject: reboots",
    );
    write(" /\\ WF_vars(Next)", "");
    let summary = led(&house, &format!("{EXAMPLE}/fixed.yaml"), "changed", 0);
    assert_eq!(summary["families"]["model-runs"]["held"], 1, "{summary}");
}
