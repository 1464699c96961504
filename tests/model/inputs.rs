//! What can be wrong with files and flags: exit code 64, with the place and what to do.

use super::{SPECS, house, model};

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let house = house("inputs");
    let write = |name: &str, text: &str| house.write(&format!("{SPECS}/{name}"), text);
    write(
        "broken.tla",
        "---- MODULE broken ----\nVARIABLE x\nInit == x = 0\nNext == x' = )\n====\n",
    );
    write("broken.cfg", "INIT Init\nNEXT Next\n");
    let module = |name: &str, step: &str| {
        let text = format!(
            "VARIABLE x\nInit == x = <<>>\nNext == x' = {step}\nSpec == Init /\\ [][Next]_x\n"
        );
        write(
            &format!("{name}.tla"),
            &format!("---- MODULE {name} ----\nEXTENDS Integers, Sequences\n{text}====\n"),
        );
        write(&format!("{name}.cfg"), "SPECIFICATION Spec\n");
    };
    module("unknown", "Apend(x, 1)");
    module("bracket", "[a |-> x");
    write("names.ndjson", "{\"action\":{\"name\":\"CreateObjct\"},\"state\":{}}\n");
    write("alone.tla", "---- MODULE alone ----\n====\n");
    write("asks.cfg", "SPECIFICATION Spec\nINVARIANT Nothing\n");
    write("log.ndjson", "{\"state\":{\"pc\":\"Start\"}}\n{\"state\":{\"foos\":[]}}\n");
    write("half.ndjson", "{\"state\":{\"pc\":\"Start\"}}\n{\"state\":\n");
    write("text.itf.json", "{\"vars\": [],\n \"states\" 1}");
    write("forked.dot", FORKED);
    let check = |arguments: &str, says: &[&str]| {
        let ended = model(&house, arguments);
        assert_eq!(ended.code, Some(64), "{arguments}: {ended}");
        for part in says {
            assert!(ended.stderr.contains(part), "{arguments}: no {part:?} in {ended}");
        }
    };
    check("check alone.tla", &["cannot read alone.cfg: No such file", "--config FILE"]);
    check("check gone.tla", &["cannot read gone.tla: No such file"]);
    check("check ns.tla --config gone.cfg", &["cannot read gone.cfg: No such file"]);
    check("check ns.tla --config asks.cfg", &["asks.cfg:2:11: ", "Nothing"]);
    check("check broken.tla", &["broken.tla:4:"]);
    check(
        "check unknown.tla",
        &["unknown.tla:5:14: nothing defines `Apend`; did you mean `Append`?"],
    );
    check("check bracket.tla", &["bracket.tla:6:1: in the definition of Next"]);
    check(
        "accepts ns.tla names.ndjson",
        &["names.ndjson:1: the model has no action `CreateObjct`: did you mean \"CreateObject\"?"],
    );
    check("check forked.dot", &["forked.dot", "trommel model show"]);
    check("check ns.tla --trace run.json", &["run.json", ".itf.json, .dot or .ndjson"]);
    check("check ns.tla --graph graph.ndjson", &["graph.ndjson", "end the name in .dot"]);
    check("check ns.tla --memory 512", &["512", "KiB, MiB or GiB"]);
    check("show ns.cfg", &["ns.cfg", "expected a trace"]);
    check("show ns.tla", &["trommel model check ns.tla"]);
    check("show text.itf.json", &["text.itf.json:2:"]);
    check("convert forked.dot run.itf.json", &["run.itf.json", "end the name in .dot"]);
    check("convert forked.dot run.xml", &["run.xml", "unknown format"]);
    check(
        "accepts ns.tla log.ndjson",
        &["log.ndjson:2: no variable `foos`", "barObj, fooObjs, pc"],
    );
    check("accepts ns.tla half.ndjson", &["half.ndjson:2:"]);
    check("accepts gone.dot log.ndjson", &["cannot read gone.dot: No such file"]);
}

/// Two ways from one state.
const FORKED: &str = "\
digraph G {
0 [label=\"/\\\\ x = 0\",style = filled];
1 [label=\"/\\\\ x = 1\"];
2 [label=\"/\\\\ x = 2\"];
0 -> 1 [label=\"One\"];
0 -> 2 [label=\"Two\"];
}
";

/// DOT has no names of parameters: ITF has them.
#[test]
fn what_a_format_does_not_carry_is_told() {
    let house = house("lost");
    let step = r#"{"action":{"name":"Take","params":[{"name":"p","value":1}]},"state":{"x":1}}"#;
    let log = format!("{{\"state\":{{\"x\":0}}}}\n{step}\n");
    house.write(&format!("{SPECS}/run.ndjson"), &log);
    let ended = model(&house, "convert run.ndjson run.dot");
    assert!(
        ended.expect(0).stderr.contains("DOT has no names of parameters, 1 are left out"),
        "{ended}"
    );
    assert_eq!(model(&house, "convert run.ndjson run.itf.json").expect(0).stderr, "");
    assert!(model(&house, "show run.dot").expect(0).stdout.ends_with("2: Take(1)\n   x = 1\n"));
}

/// Texts of models may hold what steers a terminal.
#[test]
fn control_characters_are_shown_as_pictures() {
    let house = house("control");
    house.write(&format!("{SPECS}/run.ndjson"), "{\"state\":{\"x\":\"\\u001b[2J\"}}\n");
    let ended = model(&house, "show run.ndjson");
    assert!(!ended.expect(0).stdout.contains('\u{1b}'), "{ended}");
    assert!(ended.stdout.contains("␛[2J"), "{ended}");
}

/// Counterexamples are read before any program is looked for.
#[test]
fn what_is_wrong_with_a_counterexample_is_told_with_its_place() {
    let house = house("counterexamples");
    let check = |spec: &str, says: &str| {
        let head = "apiVersion: trommel.dev/v1alpha1\nkind: Counterexample\nspec:\n";
        house.write(&format!("{SPECS}/wrong.yaml"), &format!("{head}{spec}"));
        let ended = model(&house, "confirm wrong.yaml");
        assert_eq!(ended.code, Some(64), "{spec}: {ended}");
        assert!(ended.stderr.contains(says), "{spec}: no {says:?} in {ended}");
    };
    let spec = |more: &str| {
        let programs = "  programs: {kube-controller-manager: {}}\n  objects: []\n";
        format!("{programs}  {more}\n")
    };
    check(
        "  programs: {kubelet: {}}\n  objects: []\n  expect: []\n",
        ":4:13: no program \"kubelet\"",
    );
    let expect = |one: &str| spec(&format!("expect:\n    - {one}"));
    check(&expect("{intent: no_rest}"), ":7:16: unknown value \"no_rest\"");
    check(
        &expect("{intent: no_oscillation_eviction}"),
        ":7:7: deployment: this intent is about one",
    );
    check(&expect("{always: foos}"), ":7:7: always: \"foos\" is not known here");
    check(
        &expect("{intent: no_kernel_panic, replicas: 1}"),
        ":7:7: replicas: this intent has none",
    );
    let step = |one: &str| spec(&format!("expect: []\n  steps:\n    - {one}"));
    check(&step("{after: stable}"), ":8:7: a step does one of apply, create");
    check(&step("{scale: {kind: Deployment}}"), ":8:7: scale: replicas must be a whole number");
    check(
        &step("{delete: {apiVersion: v1, kind: Pod}}"),
        ":8:7: it names no object: metadata.name",
    );
    check(&step("{at: soon, use: []}"), "\"soon\" is not a duration");
    let write = |one: &str| spec(&format!("expect: []\n  writes:\n    - {one}"));
    check(
        &write("{verb: create, kind: Pod, name: web-*}"),
        ":8:7: several objects can have such a name",
    );
    check(
        &spec("expect: []"),
        "kube-controller-manager is not in PATH: get it from https://dl.k8s.io",
    );
}

/// What fails in some state only is no violation, and nothing to lead a controller along.
#[test]
fn a_state_that_can_not_be_evaluated_is_no_verdict() {
    let house = house("failed");
    let module = "---- MODULE failed ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 3\n\
                  Next == x' = x - 1 + 0 * (6 \\div x)\nInv == x < 9\n====\n";
    house.write(&format!("{SPECS}/failed.tla"), module);
    house.write(&format!("{SPECS}/failed.cfg"), "INIT Init\nNEXT Next\nINVARIANT Inv\n");
    let ended = model(&house, "check failed.tla --trace run.itf.json");
    let says = "unknown: state 4 can't be evaluated: failed.tla";
    assert!(ended.expect(2).stdout.starts_with(says), "{ended}");
    assert!(!ended.stdout.contains("next:"), "{ended}");
    assert!(ended.stderr.contains("run.itf.json is not written"), "{ended}");
}
